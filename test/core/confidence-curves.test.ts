// The curves over the threshold: by hand, and against the other ways to the same numbers.
import { describe, expect, it } from 'vitest';
import { confidenceCurves, evaluateDetections } from '#core';
import { cocoSizedSet } from '../bench/coco-sized.ts';
import { cocoTables } from '../support/coco-tables.ts';
import { goldenCase } from '../support/golden.ts';

const object = (image_id: number, bbox: number[]) => ({ image_id, category_id: 1, bbox, area: 2500 });
const found = (image_id: number, bbox: number[], score: number) => ({
  image_id,
  category_id: 1,
  bbox,
  score,
});
const BOX = [0, 0, 50, 50];

it('has 1000 points, and at each the boxes of this score or more', () => {
  const { truth, detections } = cocoTables({
    images: [1, 2],
    categories: [1],
    annotations: [object(1, BOX), object(2, BOX)],
    detections: [found(1, BOX, 1), found(2, [200, 200, 50, 50], 0.5), found(2, BOX, 0.25)],
  });
  const { thresholds, perClass, mean } = confidenceCurves(truth, detections, { classCount: 1 });
  expect([thresholds.length, thresholds[0], thresholds[999]]).toEqual([1000, 0, 1]);
  const [curve] = perClass;
  const at = (threshold: number) => thresholds.findIndex((value) => value >= threshold);
  const point = (index: number) => [curve!.precision[index], curve!.recall[index], curve!.f1[index]];
  expect(point(999)).toEqual([1, 0.5, 2 / 3]);
  expect(point(at(0.3))).toEqual([1 / 2, 0.5, 0.5]);
  expect(point(0)).toEqual([2 / 3, 1, 0.8]);
  expect(curve!.bestF1).toEqual({ threshold: 0.25, precision: 2 / 3, recall: 1, f1: 0.8 });
  // The last threshold where F1 is highest on the grid is the first that is met from below.
  expect(mean!.bestF1).toMatchObject({ threshold: 0, precision: 2 / 3, recall: 1, f1: 0.8 });
  expect(mean!.precision).toEqual(curve!.precision);
});

describe('a set of random boxes', () => {
  const set = cocoSizedSet({ pictures: 60, objects: 400, detections: 3000, classCount: 4 }, 5);
  const options = { classCount: set.classCount };
  const curves = confidenceCurves(set.truth, set.detections, options);
  const precise = evaluateDetections(set.truth, set.detections, options);

  it('agrees with average precision: AP50, best F1 and recall per class', () => {
    expect(curves.perClass.map(({ classId }) => classId)).toEqual([0, 1, 2, 3]);
    for (const { classId, precisionAtRecall, bestF1, recall, objects } of curves.perClass) {
      const row = precise.perClass[classId]!;
      expect(objects).toBe(row.objects);
      expect(precisionAtRecall.reduce((sum, value) => sum + value, 0) / 101).toBeCloseTo(row.ap50!, 12);
      expect(bestF1).toEqual(row.bestF1);
      expect(recall[0]).toBeCloseTo(row.recall50!, 12);
    }
  });

  it('has a recall that never rises with the threshold', () => {
    for (const { recall } of curves.perClass) {
      expect(recall.every((value, index) => index === 0 || value <= recall[index - 1]!)).toBe(true);
    }
  });

  it('takes the mean over the classes that are asked for', () => {
    const two = confidenceCurves(set.truth, set.detections, { ...options, meanOver: [1, 3] });
    const [, second, , fourth] = curves.perClass;
    expect(two.mean!.f1[300]).toBeCloseTo((second!.f1[300]! + fourth!.f1[300]!) / 2, 12);
  });
});

it('has no curve without objects', () => {
  const { truth, detections, classCount } = cocoTables(goldenCase('coco_eval.json', 'no_ground_truth'));
  expect(confidenceCurves(truth, detections, { classCount })).toMatchObject({ perClass: [], mean: null });
});
