// Outputs of a head written out by hand, and one decode of them.
import { expect } from 'vitest';
import type { Candidates, DecoderOptions, HeadLayout, HeadOutputs, HeadTensor, ScoreFloor } from '#core';
import { createDecoder, levelsFor } from '#core';

export const OPTIONS: DecoderOptions = { input: { width: 64, height: 32 }, boxVariance: true };
export const LEVELS = levelsFor(OPTIONS.input, [16]); // 4 columns, 2 rows
export const FLOOR: ScoreFloor = { default: 0.25 };

export function tensor(shape: readonly number[], fill = 0): HeadTensor & { data: Float32Array } {
  return { shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(fill) };
}

export function outputsOf(entries: Record<string, HeadTensor>): HeadOutputs {
  return new Map(Object.entries(entries));
}

export function rowsOf(candidates: Candidates) {
  return Array.from({ length: candidates.count }, (_, place) => ({
    anchor: candidates.anchors[place]!,
    classId: candidates.classIds[place]!,
    score: candidates.scores[place]!,
    box: [...candidates.boxes.subarray(4 * place, 4 * place + 4)],
  }));
}

export function decodeOnce(layout: HeadLayout, outputs: HeadOutputs, floor = FLOOR) {
  const decoder = createDecoder(layout, OPTIONS);
  return { rows: rowsOf(decoder.decode(outputs, floor)), decoder };
}

export function closeTo(values: readonly number[], expected: readonly number[], digits = 4): void {
  expect(values.length).toBe(expected.length);
  for (const [index, value] of values.entries()) expect(value).toBeCloseTo(expected[index]!, digits);
}
