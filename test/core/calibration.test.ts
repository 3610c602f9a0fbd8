// Calibration errors against golden vectors, and against the faults of published code that they record.
import { describe, expect, it } from 'vitest';
import type { CalibrationError } from '#core';
import {
  ANY_OVERLAP,
  adaptiveCalibrationError,
  brierScore,
  calibrationError,
  cellCalibrationError,
  classificationCalibration,
  detectionCells,
  detectionEce,
  localisationEce,
  logLoss,
  matchDetections,
  objectCalibration,
  softmaxTemperature,
} from '#core';
import { cocoTables } from '../support/coco-tables.ts';
import { type GoldenCase, golden, goldenCase } from '../support/golden.ts';

const TOLERANCE = 10;

describe('expected calibration error', () => {
  const cases = [...golden('calib_basic.json').values()]
    .filter(({ id }) => id.startsWith('ece_'))
    // Two rules of published code that lose values on the outer edges: we do not have them.
    .filter(({ id }) => !id.endsWith('last_open') && !id.endsWith('drops_zero'));

  it.each(cases.map((entry) => [entry.id, entry]))('%s', (_, { conf, correct, bins, rule, expect: want }) => {
    const edges = rule === 'left_closed' ? 'left-closed' : 'right-closed';
    const found = calibrationError(conf, correct, { bins, edges })!;
    expectError(found, want);
    expect(found.convention).toEqual({ widths: 'equal', bins, edges });
  });

  it('over bins of equal counts, the least confidence in the first', () => {
    const { conf, correct, bins, expect: want } = goldenCase('calib_basic.json', 'adaptive_ece_5_fixed');
    const found = adaptiveCalibrationError(conf, correct, { bins })!;
    expectError(found, want);
    const { convention } = found;
    if (convention.widths !== 'equal-count') throw new Error('another convention');
    for (const [place, edge] of convention.bounds.entries())
      expect(edge).toBeCloseTo(want.edges[place], TOLERANCE);
    const { expect: faulty } = goldenCase('calib_basic.json', 'adaptive_ece_5_reference');
    expect(found.error).not.toBeCloseTo(faulty.ece, 3);
    expect(adaptiveCalibrationError([], [], { bins })).toBeUndefined();
    // All equal: one bin holds all.
    expect(adaptiveCalibrationError([0.5, 0.5, 0.5], [0, 1, 1], { bins: 4 })!.bins).toHaveLength(1);
  });

  it('proper scores', () => {
    expect(brierScore([0.8, 0.3], [1, 0])).toBeCloseTo((0.04 + 0.09) / 2, 12);
    expect(logLoss([0.8, 0.3], [1, 0])).toBeCloseTo(-(Math.log(0.8) + Math.log(0.7)) / 2, 12);
    expect(logLoss([0.8], [0.5])).toBeCloseTo(-(Math.log(0.8) + Math.log(0.2)) / 2, 12);
    // A wrong certainty costs much, not everything; a right one costs nothing.
    expect(logLoss([0], [1])).toBeCloseTo(52 * Math.LN2, 6);
    expect(logLoss([1, 0], [1, 0])).toBeCloseTo(0, 12);
  });

  it.each(['ece_edge_samples_left_closed_last_open', 'ece_edge_samples_torch_style_drops_zero'])(
    'keeps the outer values that %s loses',
    (id) => {
      const { conf, correct, bins, expect: faulty } = goldenCase('calib_basic.json', id);
      expect(faulty.covered).toBeLessThan(conf.length);
      for (const edges of ['left-closed', 'right-closed'] as const) {
        expect(calibrationError(conf, correct, { bins, edges })!.count).toBe(conf.length);
      }
    },
  );

  it('puts every edge i / n on its side', () => {
    for (const bins of [3, 7, 10, 15, 25, 49]) {
      const edges = Array.from({ length: bins + 1 }, (_, index) => index / bins);
      const indices = (rule: 'right-closed' | 'left-closed') =>
        edges.map((edge) => calibrationError([edge], [0], { bins, edges: rule })!.bins[0]!.index);
      expect(indices('right-closed')).toEqual(edges.map((_, index) => Math.max(0, index - 1)));
      expect(indices('left-closed')).toEqual(edges.map((_, index) => Math.min(bins - 1, index)));
    }
  });

  it('has nothing to say of nothing', () => {
    expect(calibrationError([], [], { bins: 10 })).toBeUndefined();
  });
});

function expectError(found: CalibrationError, want: GoldenCase) {
  expect(found.error).toBeCloseTo(want.ece, TOLERANCE);
  expect(found.largest).toBeCloseTo(want.mce, TOLERANCE);
  expect(found.average).toBeCloseTo(want.ace_mean_over_nonempty_bins, TOLERANCE);
  expect(found.signed).toBeCloseTo(want.signed_conf_minus_acc, TOLERANCE);
  expect(found.count).toBe(want.covered);
  expect(found.bins.map(({ index, count }) => [index, count])).toEqual(
    want.bins.map(({ bin, count }: GoldenCase) => [bin, count]),
  );
}

describe('a classifier over classes', () => {
  it('proper scores and calibration errors of whole probability vectors', () => {
    const {
      logits,
      labels,
      bins,
      expect: want,
    } = goldenCase('calib_basic.json', 'multiclass_nll_brier_ece_cece');
    const found = classificationCalibration(logits.flatMap(softmax), labels, { classCount: 3, bins })!;
    expect(found.nll).toBeCloseTo(want.nll, TOLERANCE);
    expect(found.brier).toBeCloseTo(want.brier_sum_over_classes_mean_over_samples, TOLERANCE);
    expect(found.topClass.error).toBeCloseTo(want.ece, TOLERANCE);
    expect(found.classWise).toBeCloseTo(want.classwise_ece, TOLERANCE);
    for (const [classId, { error }] of found.perClass.entries()) {
      expect(error).toBeCloseTo(want.per_class[classId], TOLERANCE);
    }
    expect(classificationCalibration([], [], { classCount: 3 })).toBeUndefined();
  });

  it('the temperature is the optimum of the likelihood, not the best of a grid', () => {
    const { logits, labels, expect: want } = goldenCase('calib_basic.json', 'temperature_scaling_softmax');
    const temperature = softmaxTemperature(logits.flat(), labels, 3)!;
    expect(temperature).toBeCloseTo(want.nll_optimal_T, 9);
    const scaled = logits.flatMap((row: number[]) => softmax(row.map((value) => value / temperature)));
    const { nll } = classificationCalibration(scaled, labels, { classCount: 3 })!;
    expect(nll).toBeCloseTo(want.nll_at_optimum, TOLERANCE);
    // Labels that follow the logits without exception, and labels that run against them.
    expect(softmaxTemperature([2, 0, 0, 1], [0, 1], 2)).toBeUndefined();
    expect(softmaxTemperature([2, 0, 0, 1], [1, 0], 2)).toBeUndefined();
  });
});

function softmax(logits: readonly number[]): number[] {
  const weights = logits.map((value) => Math.exp(value));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

const detectionCases = golden('calib_detection.json');
const base = cocoTables(goldenCase('calib_detection.json', 'laece0_25bins'));
const options = { classCount: base.classCount, minScore: 0 };

describe('matching at an IoU', () => {
  it.each([0, 0.1, 0.5])('gives the golden rows at %f', (tau) => {
    const { expect: want } = detectionCases.get(`matching_and_lrp_tau${tau.toFixed(1)}`)!;
    const matches = matchDetections(base.truth, base.detections, { ...options, maxDets: 100, iou: tau });
    for (const [classId, rows] of Object.values<GoldenCase[]>(want.per_class_rows_by_score).entries()) {
      const own = [...base.detections.classIds.keys()]
        .filter((row) => base.detections.classIds[row] === classId)
        .sort((a, b) => base.detections.scores[b]! - base.detections.scores[a]! || a - b);
      expect(own.map((row) => matches.objects[row]! >= 0)).toEqual(rows.map(({ tp }) => tp));
      expect(own.map((row) => matches.leftOut[row] === 1)).toEqual(rows.map(({ ignored }) => ignored));
      for (const [place, row] of own.entries()) {
        expect(matches.ious[row]).toBeCloseTo(rows[place].iou, TOLERANCE);
      }
    }
    expect([...matches.positives]).toEqual(Object.values(want.positives));
  });
});

describe('calibration of detections', () => {
  it('LaECE at .1 keeps a score of exactly 1 in its bin', () => {
    const { expect: want } = goldenCase('calib_detection.json', 'laece_saod_tau0.1_25bins');
    const { laEce } = localisationEce(base.truth, base.detections, {
      ...options,
      iou: 0.1,
      edges: 'left-closed',
    });
    expectPerClass(laEce, want);
    expect(laEce.mean).not.toBeCloseTo(0.2171, 3);
  });

  it.each([
    ['laece0_25bins', 25],
    ['laece0_4bins_several_per_bin', 4],
  ])('LaECE0: %s', (id, bins) => {
    const { laEce } = localisationEce(base.truth, base.detections, { ...options, iou: 0, bins });
    expectPerClass(laEce, goldenCase('calib_detection.json', id).expect);
  });

  it('LaACE0 leaves detections on a crowd out, as published code does not', () => {
    const { expect: want, reference_HEAD_value: reference } = goldenCase('calib_detection.json', 'laace0');
    const { laAce } = localisationEce(base.truth, base.detections, { ...options, iou: 0 });
    expectPerClass(laAce, want);
    expect(laAce.mean).not.toBeCloseTo(reference.mean, 3);
  });

  it('LaECE0 asks for a touch: a disjoint box takes no object', () => {
    const entry = goldenCase('calib_detection.json', 'tau_zero_lets_a_disjoint_box_take_the_object');
    const two = cocoTables({ ...entry, images: [1], categories: [1] });
    const ours = localisationEce(two.truth, two.detections, { classCount: 1 });
    expect(ours.convention.iou).toBe(ANY_OVERLAP);
    expect(ours.laEce.mean).toBeCloseTo(entry.expect_strictly_positive_iou.laece0, TOLERANCE);
    expect(ours.laAce.mean).toBeCloseTo(entry.expect_strictly_positive_iou.laace0, TOLERANCE);
    const literal = localisationEce(two.truth, two.detections, { classCount: 1, iou: 0 });
    expect(literal.laEce.mean).toBeCloseTo(entry.expect_literal_tau0.laece0, TOLERANCE);
  });

  it('errors of opposite sign cancel inside a bin, not in LaACE0', () => {
    const { score_iou_pairs: pairs, expect: want } = goldenCase(
      'calib_detection.json',
      'laece_versus_laace_cancellation',
    );
    const [scores, ious] = [0, 1].map((column) => pairs.map((pair: number[]) => pair[column]));
    for (const bins of [1, 2, 4, 25]) {
      expect(calibrationError(scores, ious, { bins })!.error).toBeCloseTo(
        want[`laece_${bins}_bins`],
        TOLERANCE,
      );
    }
  });

  it('D-ECE over all classes, both edge rules, and above a score', () => {
    const entry = goldenCase('calib_detection.json', 'dece_tau0.5_10bins_class_agnostic');
    const dece = (more: object) =>
      detectionEce(base.truth, base.detections, { ...options, ...more }).measured!;
    for (const [found, want] of [
      [dece({}), entry.expect],
      [dece({ edges: 'left-closed' }), entry.expect_left_closed_bins],
      [dece({ minScore: 0.3 }), entry['score_threshold_0.3']],
    ]) {
      expectError(found, want);
    }
    const usual = detectionEce(base.truth, base.detections, { classCount: base.classCount });
    expect(usual.convention).toEqual({
      iou: 0.5,
      bins: 10,
      edges: 'right-closed',
      minScore: 0.3,
      maxDets: 100,
    });
  });

  it('D-ECE brings the error within classes, over equal counts, and proper scores of the same detections', () => {
    const found = detectionEce(base.truth, base.detections, options);
    const matches = matchDetections(base.truth, base.detections, { ...options, iou: 0.5, maxDets: 100 });
    // On a crowd, and of a class without objects: neither is counted.
    const rows = [...base.detections.classIds.keys()].filter(
      (row) => matches.leftOut[row] === 0 && base.detections.classIds[row] !== 2,
    );
    expect(rows).toHaveLength(13);
    const scores = rows.map((row) => base.detections.scores[row]!);
    const hits = rows.map((row) => Number(matches.objects[row]! >= 0));
    expect(found.brier).toBeCloseTo(brierScore(scores, hits), 12);
    expect(found.nll).toBeCloseTo(logLoss(scores, hits), 12);
    expect(found.adaptive).toEqual(adaptiveCalibrationError(scores, hits, { bins: 10 }));
    const errors = [0, 1].map((classId) => {
      const own = (values: number[]) =>
        values.filter((_, place) => base.detections.classIds[rows[place]!] === classId);
      return calibrationError(own(scores), own(hits), { bins: 10 })!.error;
    });
    expect(found.classWise.perClass.slice(0, 2)).toEqual(errors);
    expect(found.classWise.perClass[2]).toBeNull();
    expect(found.classWise.mean).toBeCloseTo((errors[0]! + errors[1]!) / 2, 12);
  });

  it('the mean keeps a class without any error, which published code drops', () => {
    const { plain_mean: plain, reference_mean: faulty } = goldenCase(
      'calib_detection.json',
      'reference_averaging_drops_perfect_classes',
    );
    // Class 0: found and certain of it. Class 1: found at IoU 1, certain only to .8.
    const set = cocoTables({
      images: [1],
      categories: [1, 2],
      annotations: [1, 2].map((id) => ({
        image_id: 1,
        category_id: id,
        bbox: [id * 50, 0, 20, 20],
        area: 400,
      })),
      detections: [1, 2].map((id) => ({
        image_id: 1,
        category_id: id,
        bbox: [id * 50, 0, 20, 20],
        score: id === 1 ? 1 : 0.8,
      })),
    });
    const { laEce } = localisationEce(set.truth, set.detections, { classCount: 2 });
    expect(laEce.perClass[0]).toBe(0);
    expect(laEce.mean).toBeCloseTo(plain, TOLERANCE);
    expect(laEce.mean).not.toBeCloseTo(faulty, 3);
  });

  it('D-ECE over confidence and position', () => {
    const {
      features,
      matched,
      bins,
      expect: want,
    } = goldenCase('calib_detection.json', 'dece_2d_conf5_x_cx2');
    const found = cellCalibrationError(features.flat(), matched, { bins })!;
    expect(found.error).toBeCloseTo(want.dece, TOLERANCE);
    expect(found.cells).toEqual(
      want.cells.map((cell: GoldenCase) => ({
        place: [cell.conf_bin, cell.cx_bin],
        count: cell.count,
        meanConfidence: expect.closeTo(cell.conf, TOLERANCE),
        meanTarget: expect.closeTo(cell.precision, TOLERANCE),
      })),
    );
    // A cell with too few adds nothing, but its rows stay in N.
    const sparse = cellCalibrationError(features.flat(), matched, { bins, leastCount: 3 })!;
    expect([sparse.count, sparse.covered]).toEqual([15, 10]);
    const gaps = sparse.cells.map(
      ({ count, meanConfidence: a, meanTarget: b }) => (count / 15) * Math.abs(a - b),
    );
    expect(sparse.cells).toHaveLength(3);
    expect(sparse.error).toBeCloseTo(
      gaps.reduce((sum, gap) => sum + gap, 0),
      12,
    );
    expect(cellCalibrationError([], [], { bins })).toBeUndefined();
  });

  it('D-ECE over position counts what D-ECE counts, and takes shares of the picture', () => {
    const found = detectionCells(base.truth, base.detections, {
      ...options,
      pictureSizesPx: [256, 512, 256, 512, 256, 512],
      dimensions: ['centre-x', 'height'],
      bins: [5, 2, 16],
      leastCount: 1,
    });
    expect(found.dimensions).toEqual(['confidence', 'centre-x', 'height']);
    expect(found.measured!.count).toBe(13);
    const confidenceAt = (...wanted: number[]) =>
      found.measured!.cells.find(({ place }) => place.join() === wanted.join())?.meanConfidence;
    // Scores 1 and .8 are 1 and 22 px high; score .64 is 90 x 95 px around (50, 55.5).
    expect(confidenceAt(4, 0, 0)).toBeCloseTo(0.9, 12);
    expect(confidenceAt(3, 0, 2)).toBe(0.64);
    const wide = detectionCells(base.truth, base.detections, {
      ...options,
      minScore: 0.64,
      pictureSizesPx: [100, 100, 100, 100, 100, 100],
      leastCount: 1,
    });
    expect(wide.measured!.count).toBe(6);
    expect(wide.measured!.cells.map(({ place }) => place)).toContainEqual([3, 2, 2, 4, 4]);
    expect(wide.measured!.convention).toEqual({ bins: [5, 5, 5, 5, 5], edges: 'left-closed', leastCount: 1 });
    const none = detectionCells(base.truth, base.detections, {
      ...options,
      minScore: 1.1,
      pictureSizesPx: [1, 1, 1, 1, 1, 1],
    });
    expect(none.measured).toBeNull();
  });

  it('OCE is judged from the objects: what is missed costs 1', () => {
    const entry = goldenCase('calib_detection.json', 'oce_object_level');
    const set = cocoTables(entry);
    // The tables keep the order of ids within a picture; the set lists number 15 last, in picture 2.
    const ids = [1, 2, 3].flatMap((image) =>
      entry.detections.filter((row: GoldenCase) => row.image_id === image).map(({ id }: GoldenCase) => id),
    );
    const scoreVectors = ids.flatMap((id: number) => entry.score_vectors[id]);
    const found = objectCalibration(set.truth, set.detections, { classCount: 3, scoreVectors });
    expect(found.error).toBeCloseTo(entry.expect.oce, TOLERANCE);
    for (const [place, { error }] of found.perIou.entries()) {
      expect(error).toBeCloseTo(entry.expect.per_tau[place], TOLERANCE);
    }
    expect(found.objects).toBe(6);
    expect(found.convention).toMatchObject({ scores: 'vectors', missed: 1 });
    const silent = objectCalibration(set.truth, set.detections, { classCount: 3, minScore: 1.1 });
    expect(silent).toMatchObject({ error: 1, convention: { scores: 'one-class', minScore: 1.1 } });
    const one = objectCalibration(set.truth, set.detections, { classCount: 3, ious: [0.75] });
    expect(one.error).toBeGreaterThan(0);
    expect(one.perIou).toHaveLength(1);
  });

  it('says null, not 0, where nothing is left', () => {
    const none = { classCount: base.classCount, minScore: 1.1 };
    expect(detectionEce(base.truth, base.detections, none)).toMatchObject({
      measured: null,
      adaptive: null,
      brier: null,
      nll: null,
      recall: 0,
    });
    expect(localisationEce(base.truth, base.detections, none)).toMatchObject({
      laEce: { mean: null },
      signed: null,
    });
  });
});

function expectPerClass(
  found: { perClass: readonly (number | null)[]; mean: number | null },
  want: GoldenCase,
) {
  for (const [place, value] of Object.values<number | null>(want.per_class).entries()) {
    if (value === null) expect(found.perClass[place]).toBeNull();
    else expect(found.perClass[place]).toBeCloseTo(value, TOLERANCE);
  }
  expect(found.mean).toBeCloseTo(want.mean, TOLERANCE);
}
