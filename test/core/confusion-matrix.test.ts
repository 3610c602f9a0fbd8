// Which class is taken for which: orientation, background, and what is not counted.
import { describe, expect, it } from 'vitest';
import { confusionMatrix, TRUTH_KIND } from '#core';
import { type CocoSet, cocoTables } from '../support/coco-tables.ts';

const object = (bbox: number[], category_id: number) => ({
  image_id: 1,
  category_id,
  bbox,
  area: bbox[2]! * bbox[3]!,
});
const found = (bbox: number[], score: number, category_id: number) => ({
  image_id: 1,
  category_id,
  bbox,
  score,
});
const box = (place: number) => [100 * place, 0, 50, 50];

function tables(annotations: CocoSet['annotations'], detections: CocoSet['detections']) {
  return cocoTables({ images: [1], categories: [1, 2], annotations, detections });
}

describe('rows are predicted, columns are true', () => {
  it('puts a confusion, a miss and a false alarm into their cells', () => {
    const { truth, detections } = tables(
      [object(box(0), 1), object(box(1), 2), object(box(2), 2)],
      [found(box(0), 0.9, 1), found(box(1), 0.8, 1), found(box(5), 0.7, 2)],
    );
    const { counts } = confusionMatrix(truth, detections, { classCount: 2 });
    expect([...counts]).toEqual([
      ...[1, 1, 0], // predicted 1: right once, once it was a 2
      ...[0, 0, 1], // predicted 2: where nothing is
      ...[0, 1, 0], // missed: one 2
    ]);
  });

  it('counts every object once, and every box above the score once', () => {
    const { truth, detections } = tables(
      [object(box(0), 1), object(box(1), 2)],
      [found(box(0), 0.9, 2), found(box(0), 0.8, 1), found(box(1), 0.25, 2), found(box(1), 0.1, 2)],
    );
    const { counts } = confusionMatrix(truth, detections, { classCount: 2 });
    const column = (classId: number) => counts[classId]! + counts[3 + classId]! + counts[6 + classId]!;
    expect([column(0), column(1)]).toEqual([1, 1]);
    // A score of exactly .25 is not above it.
    expect(counts.subarray(0, 6).reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(counts[7]).toBe(1);
  });
});

describe('pairs', () => {
  it('form by overlap, whatever the score', () => {
    const { truth, detections } = tables(
      [object(box(0), 1)],
      [found([0, 0, 50, 40], 0.9, 2), found(box(0), 0.4, 1)],
    );
    const { counts } = confusionMatrix(truth, detections, { classCount: 2 });
    expect(counts[0]).toBe(1);
    expect(counts[5]).toBe(1);
  });

  it('need more than the least overlap', () => {
    const { truth, detections } = tables([object([0, 0, 100, 100], 1)], [found([0, 0, 100, 45], 0.9, 1)]);
    const missed = (iou: number) => confusionMatrix(truth, detections, { classCount: 2, iou }).counts[6]!;
    expect([missed(0.45), missed(0.44)]).toEqual([1, 0]);
  });

  it('leave out boxes on crowds and on difficult objects, and do not miss those', () => {
    const { truth, detections } = tables(
      [object([0, 0, 100, 100], 1), object(box(3), 2)],
      [found([10, 10, 20, 20], 0.9, 1), found([40, 40, 20, 20], 0.8, 2), found(box(3), 0.9, 2)],
    );
    const kinds = Uint8Array.of(TRUTH_KIND.crowd, TRUTH_KIND.difficult);
    const { counts } = confusionMatrix({ ...truth, kinds }, detections, { classCount: 2 });
    expect(counts.every((count) => count === 0)).toBe(true);
  });

  it('refuses a class that there is not', () => {
    const { truth, detections } = tables([object(box(0), 2)], []);
    expect(() => confusionMatrix(truth, detections, { classCount: 1 })).toThrow(/class 1, expected 0 to 0/);
  });
});
