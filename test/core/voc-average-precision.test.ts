// VOC's averages against the published figures of a real case, and what its matching does otherwise than COCO's.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { TRUTH_KIND, vocAveragePrecision } from '#core';
import { elevenPointAp, everyPointAp } from '../../src/core/voc-average-precision.ts';
import { type CocoSet, cocoTables } from '../support/coco-tables.ts';
import { testData } from '../support/test-data.ts';

const case1 = testData('eval/padilla_voc_case1');

/** Lines of `class [score] x y w h`, one file per picture. */
function readCase(folder: string): CocoSet {
  const rows = (part: string) =>
    readdirSync(`${folder}/${part}`).flatMap((file) =>
      readFileSync(`${folder}/${part}/${file}`, 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => {
          const numbers = line.trim().split(/\s+/).slice(1).map(Number);
          return { image_id: Number.parseInt(file, 10), category_id: 1, numbers };
        }),
    );
  return {
    images: [1, 2, 3, 4, 5, 6, 7],
    categories: [1],
    annotations: rows('gts').map(({ numbers, ...row }) => ({
      ...row,
      bbox: numbers,
      area: numbers[2]! * numbers[3]!,
    })),
    detections: rows('dets').map(({ numbers: [score, ...bbox], ...row }) => ({
      ...row,
      bbox,
      score: score!,
    })),
  };
}

describe.skipIf(case1 === undefined)(
  `padilla_voc_case1${case1 === undefined ? ' (skipped: test data absent)' : ''}`,
  () => {
    // Figures of the repository that the case comes from (rafaelpadilla/review_object_detection_metrics, test_case_1);
    // plain pixels: an independent evaluator.
    it.each([
      [0.1, 0.3371980676, 0.3333333333, 0.280133],
      [0.3, 0.2456866804, 0.2683982683, 0.225397],
      [0.5, 0.0222222222, 0.0303030303, 0.022222],
      [0.75, 0, 0, 0],
    ])('IoU %d', (iou, everyPoint, elevenPoint, plain) => {
      const { truth, detections } = cocoTables(readCase(case1!));
      expect([truth.classIds.length, detections.classIds.length]).toEqual([15, 24]);
      const options = { classCount: 1, iou };
      const inclusive = vocAveragePrecision(truth, detections, { ...options, extent: 'inclusive' });
      expect(inclusive.everyPoint).toBeCloseTo(everyPoint, 9);
      expect(inclusive.elevenPoint).toBeCloseTo(elevenPoint, 9);
      expect(vocAveragePrecision(truth, detections, options).everyPoint).toBeCloseTo(plain, 6);
    });
  },
);

describe('the eleven recalls', () => {
  it('lie where numpy.linspace puts them: a recall of exactly .6 does not reach the seventh', () => {
    const outcomes = Uint8Array.from([1, 1, 1]);
    const byScore = { outcomes, order: Int32Array.of(0, 1, 2), positives: 5 };
    expect(elevenPointAp(byScore)).toBeCloseTo(6 / 11, 12);
    expect(everyPointAp(byScore)).toBeCloseTo(0.6, 12);
  });
});

describe('matching', () => {
  const object = (bbox: number[]) => ({ image_id: 1, category_id: 1, bbox, area: bbox[2]! * bbox[3]! });
  const found = (bbox: number[], score: number) => ({ image_id: 1, category_id: 1, bbox, score });
  const set = (annotations: CocoSet['annotations'], detections: CocoSet['detections']) =>
    cocoTables({ images: [1], categories: [1], annotations, detections });

  it('gives a box to the object that it overlaps most, also where that is taken', () => {
    const { truth, detections } = set(
      [object([0, 0, 100, 100]), object([30, 0, 100, 100])],
      // The second fits the first object better, which is taken; COCO would give it the other one.
      [found([0, 0, 100, 100], 0.9), found([10, 0, 100, 100], 0.8)],
    );
    expect(vocAveragePrecision(truth, detections, { classCount: 1 }).everyPoint).toBeCloseTo(0.5, 12);
  });

  it('leaves out difficult objects and every box on them', () => {
    const { truth, detections } = set(
      [object([0, 0, 50, 50]), object([200, 0, 50, 50])],
      [found([200, 0, 50, 50], 0.9), found([200, 0, 50, 48], 0.8), found([0, 0, 50, 50], 0.7)],
    );
    const kinds = Uint8Array.of(TRUTH_KIND.object, TRUTH_KIND.difficult);
    const result = vocAveragePrecision({ ...truth, kinds }, detections, { classCount: 1 });
    expect(result).toMatchObject({ everyPoint: 1, elevenPoint: 1, perClass: [{ objects: 1 }] });
    expect(vocAveragePrecision(truth, detections, { classCount: 1 }).everyPoint).toBeLessThan(1);
  });

  it('counts boxes of one pixel row only with inclusive pixels', () => {
    const { truth, detections } = set([object([5, 5, 10, 0])], [found([5, 5, 10, 0], 0.9)]);
    const everyPoint = (extent: 'edges' | 'inclusive') =>
      vocAveragePrecision(truth, detections, { classCount: 1, extent }).everyPoint;
    expect([everyPoint('edges'), everyPoint('inclusive')]).toEqual([0, 1]);
  });

  it('gives no number for a class without objects, and leaves it out of the mean', () => {
    const { truth, detections } = cocoTables({
      images: [1],
      categories: [1, 2],
      annotations: [object([0, 0, 50, 50])],
      detections: [found([0, 0, 50, 50], 0.9), { ...found([0, 0, 50, 50], 0.9), category_id: 2 }],
    });
    const result = vocAveragePrecision(truth, detections, { classCount: 2 });
    expect(result).toMatchObject({ everyPoint: 1, perClass: [{ everyPoint: 1 }, { everyPoint: null }] });
  });
});
