// LRP and oLRP against golden vectors, by hand, and by what must hold for any set.
import { describe, expect, it } from 'vitest';
import { lrpErrors, TRUTH_KIND } from '#core';
import { cocoTables } from '../support/coco-tables.ts';
import { golden } from '../support/golden.ts';

const cases = [...golden('calib_detection.json').values()].filter(({ id }) =>
  id.startsWith('matching_and_lrp'),
);

describe('golden sets', () => {
  it.each(cases.map((one) => [one.id, one]))('%s', (_, one) => {
    const { truth, detections, classCount } = cocoTables(one);
    const { perClass, optimalLrp } = lrpErrors(truth, detections, { classCount, iou: one.tau });
    const best: number[] = [];
    for (const [place, id] of (one.categories as number[]).entries()) {
      const want = one.expect.lrp[String(id)];
      const { all, optimal, objects } = perClass[place]!;
      expect(objects).toBe(one.expect.positives[String(id)]);
      if (want === null) {
        expect([all, optimal]).toEqual([null, null]);
        continue;
      }
      expect(all!.lrp).toBeCloseTo(want.lrp, 12);
      expect(all!.localisation).toBeCloseTo(want.lrp_loc, 12);
      expect(all!.falseAlarms).toBeCloseTo(want.lrp_fp, 12);
      expect(all!.misses).toBeCloseTo(want.lrp_fn, 12);
      expect([all!.hitCount, all!.falseAlarmCount, all!.missCount]).toEqual([want.tp, want.fp, want.fn]);
      expect(optimal!.lrp).toBeCloseTo(want.olrp, 12);
      expect(optimal!.threshold).toBe(want.olrp_threshold);
      best.push(want.olrp);
    }
    expect(optimalLrp).toBeCloseTo(best.reduce((sum, value) => sum + value, 0) / best.length, 12);
  });
});

const object = (bbox: number[]) => ({ image_id: 1, category_id: 1, bbox, area: bbox[2]! * bbox[3]! });
const found = (bbox: number[], score: number) => ({ image_id: 1, category_id: 1, bbox, score });
const box = (place: number) => [100 * place, 0, 50, 50];

function measure(objects: number[][], detections: ReturnType<typeof found>[]) {
  const tables = cocoTables({
    images: [1],
    categories: [1],
    annotations: objects.map(object),
    detections,
  });
  return lrpErrors(tables.truth, tables.detections, { classCount: 1 }).perClass[0]!;
}

describe('by hand', () => {
  it('adds up from its parts', () => {
    // One hit of IoU .8, one false alarm, one miss: (.2 / .5 + 1 + 1) / 3.
    const { all } = measure([box(0), box(1)], [found([0, 0, 50, 40], 0.9), found(box(3), 0.8)]);
    expect(all).toMatchObject({ falseAlarms: 0.5, misses: 0.5 });
    expect(all!.localisation).toBeCloseTo(0.2, 12);
    expect(all!.lrp).toBeCloseTo(2.4 / 3, 12);
  });

  it('is 0 for a perfect detector, and 1 where nothing is found', () => {
    expect(measure([box(0)], [found(box(0), 0.9)]).optimal).toMatchObject({ lrp: 0, threshold: 0.9 });
    const nothing = measure([box(0)], []);
    expect(nothing.optimal).toMatchObject({ lrp: 1, threshold: null, falseAlarms: null, localisation: null });
    expect(measure([box(0)], [found(box(1), 0.9)]).optimal).toMatchObject({ lrp: 1, threshold: null });
  });

  it('cannot part equal scores', () => {
    // Parted, the first alone would be perfect.
    const { optimal } = measure([box(0)], [found(box(0), 0.5), found(box(1), 0.5), found(box(2), 0.5)]);
    expect(optimal!.lrp).toBeCloseTo(2 / 3, 12);
  });

  it('does not count what lies on a crowd', () => {
    const tables = cocoTables({
      images: [1],
      categories: [1],
      annotations: [object(box(0)), object(box(1))],
      detections: [found(box(0), 0.9), found(box(1), 0.8)],
    });
    const kinds = Uint8Array.of(TRUTH_KIND.object, TRUTH_KIND.crowd);
    const { perClass } = lrpErrors({ ...tables.truth, kinds }, tables.detections, { classCount: 1 });
    expect(perClass[0]!.all).toMatchObject({ lrp: 0, hitCount: 1, falseAlarmCount: 0, missCount: 0 });
  });
});
