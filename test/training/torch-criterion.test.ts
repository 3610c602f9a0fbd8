// The criterion that the benchmark runs in PyTorch is ours: equal losses and gradients on equal outputs and objects.
import { describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { createDetectionCriterion } from '../../training/detection-criterion.ts';
import type { Tensor } from '../../training/engines/engine.ts';
import { benchObjects, benchSpec, targetsOf } from '../bench/train-criterion.ts';
import { BINS, type NetKind, SCORE_BINS } from '../bench/train-nets.ts';
import { findTorch, torchCriterion } from '../bench/train-torch.ts';

const python = findTorch();
const PICTURES = 3;

function bothCriteria(kind: NetKind, spread: number, seed: number) {
  const spec = benchSpec(kind);
  const objects = benchObjects(PICTURES, seed);
  const random = createRandom(seed + 1);
  const outputs = new Map<string, Tensor>();
  const levels = spec.levels.map(({ stride, rows, columns, box, quality }) => {
    const draw = (name: string, channels: number) => {
      const shape = [PICTURES, channels, rows, columns];
      const length = shape.reduce((product, size) => product * size, 1);
      outputs.set(name, { shape, data: Float32Array.from({ length }, () => spread * random.normal()) });
      return [...outputs.get(name)!.data];
    };
    return { stride, box: draw(box, 4 * BINS), quality: draw(quality, SCORE_BINS) };
  });
  const { terms, gradients } = createDetectionCriterion(spec).evaluate(outputs, targetsOf(objects));
  const ours = spec.levels.flatMap(({ box, quality }) =>
    [box, quality].map((name) => gradients.get(name)!.data),
  );
  return { terms, ours, torch: torchCriterion(python!, objects, levels) };
}

const norm = (values: readonly number[]) => Math.sqrt(values.reduce((sum, v) => sum + v * v, 0));

describe.skipIf(python === undefined)('the criterion in PyTorch (skipped: there is no PyTorch)', () => {
  it.each<[NetKind, number]>([
    ['whole', 1],
    ['head', 1],
    ['head', 3],
  ])('gives the loss and the gradients of ours: %s, logits of spread %d', (kind, spread) => {
    const { terms, ours, torch } = bothCriteria(kind, spread, 11);
    expect(terms.positives).toBeGreaterThan(PICTURES * 20);
    expect(torch.positives).toBe(terms.positives);
    expect(Math.abs(terms.total / torch.total - 1)).toBeLessThan(1e-4);
    const [own, theirs] = [ours.flatMap((gradient) => [...gradient]), torch.gradients.flat()];
    expect(theirs).toHaveLength(own.length);
    expect(Math.abs(norm(own) / norm(theirs) - 1)).toBeLessThan(1e-4);
    expect(norm(own.map((value, at) => value - theirs[at]!))).toBeLessThan(1e-4 * norm(theirs));
  });
});
