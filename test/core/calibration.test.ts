// Calibration errors and calibrators against golden vectors, and against the faults of published code that they record.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CalibrationMap, DetectionTable } from '#core';
import {
  ANY_OVERLAP,
  calibrateDetections,
  calibrateScore,
  calibrationError,
  calibrationSlope,
  createRandom,
  detectionEce,
  evaluateDetections,
  fitCalibrator,
  fitIsotonic,
  fitPlatt,
  localisationEce,
  matchDetections,
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
    expect(found.error).toBeCloseTo(want.ece, TOLERANCE);
    expect(found.largest).toBeCloseTo(want.mce, TOLERANCE);
    expect(found.signed).toBeCloseTo(want.signed_conf_minus_acc, TOLERANCE);
    expect(found.count).toBe(want.covered);
    expect(found.bins.map(({ index, count }) => [index, count])).toEqual(
      want.bins.map(({ bin, count }: GoldenCase) => [bin, count]),
    );
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
      expect(found.error).toBeCloseTo(want.ece, TOLERANCE);
      expect(found.largest).toBeCloseTo(want.mce, TOLERANCE);
      expect(found.signed).toBeCloseTo(want.signed_conf_minus_acc, TOLERANCE);
      expect(found.count).toBe(want.covered);
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

  it('says null, not 0, where nothing is left', () => {
    const none = { classCount: base.classCount, minScore: 1.1 };
    expect(detectionEce(base.truth, base.detections, none)).toMatchObject({ measured: null, recall: 0 });
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

describe('maps', () => {
  it.each(['posthoc_iou_targets', 'posthoc_tp_targets'])('%s', (id) => {
    const { scores, targets, expect: want } = goldenCase('calib_basic.json', id);
    const platt = fitPlatt(scores, targets)!;
    expect(platt.slope).toBeCloseTo(want.platt.a, 9);
    expect(platt.intercept).toBeCloseTo(want.platt.b, 9);
    for (const [place, score] of scores.entries()) {
      expect(calibrateScore(platt, score)).toBeCloseTo(want.platt.outputs[place], 9);
    }
    const isotonic = fitIsotonic(scores, targets)!;
    for (const [place, x] of want.isotonic.x.entries()) {
      expect(calibrateScore(isotonic, x)).toBeCloseTo(want.isotonic.fit[place], TOLERANCE);
    }
    for (const [place, query] of want.isotonic.query.entries()) {
      expect(calibrateScore(isotonic, query)).toBeCloseTo(
        want.isotonic.linear_interpolation[place],
        TOLERANCE,
      );
    }
  });

  it('isotonic averages equal scores first', () => {
    const { x, y, expect: want } = goldenCase('calib_basic.json', 'isotonic_ties');
    const map = fitIsotonic(x, y)!;
    for (const [place, score] of want.x.entries()) {
      expect(calibrateScore(map, score)).toBeCloseTo(want.fit[place], TOLERANCE);
    }
  });

  it('has no Platt map for targets that are all 0 or all 1, nor an endless one for parted targets', () => {
    expect(fitPlatt([0.1, 0.5, 0.9], [0, 0, 0])).toBeUndefined();
    expect(fitPlatt([0.1, 0.5, 0.9], [1, 1, 1])).toBeUndefined();
    expect(fitPlatt([], [])).toBeUndefined();
    const parted = fitPlatt([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])!;
    expect(Number.isFinite(parted.slope) && Number.isFinite(parted.intercept)).toBe(true);
    expect(calibrateScore(parted, 0.9)).toBeGreaterThan(0.99);
    expect(calibrateScore(parted, 0.1)).toBeLessThan(0.01);
  });

  it('never turns the ranking around, and fits equal scores by their mean', () => {
    expect(fitPlatt([0.1, 0.3, 0.7, 0.9], [1, 0.8, 0.2, 0])).toEqual({
      kind: 'platt',
      slope: 0,
      intercept: expect.closeTo(0, 12),
    });
    const equal = fitPlatt([0.4, 0.4, 0.4, 0.4], [0, 0, 0, 1])!;
    expect(calibrateScore(equal, 0.4)).toBeCloseTo(0.25, 9);
  });

  it('is monotone, stays in [0, 1], and has the slope that differences show', () => {
    const sample = fc.array(fc.tuple(fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.boolean()), {
      minLength: 5,
      maxLength: 40,
    });
    fc.assert(
      fc.property(sample, (pairs) => {
        const [scores, targets] = [pairs.map(([score]) => score), pairs.map(([, hit]) => Number(hit))];
        const maps = [fitPlatt(scores, targets), fitIsotonic(scores, targets)].filter(
          (map) => map !== undefined,
        );
        for (const map of maps as CalibrationMap[]) {
          const grid = Array.from({ length: 101 }, (_, index) => calibrateScore(map, index / 100));
          expect(grid.every((value, index) => index === 0 || value >= grid[index - 1]! - 1e-12)).toBe(true);
          expect(grid[0]).toBeGreaterThanOrEqual(0);
          expect(grid[100]).toBeLessThanOrEqual(1);
        }
      }),
      { seed: 3, numRuns: 100 },
    );
    for (const map of [
      fitPlatt([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])!,
      fitIsotonic([0.2, 0.5, 0.9], [0.1, 0.3, 0.8])!,
    ]) {
      for (const score of [0.25, 0.4, 0.61]) {
        const step = 1e-6;
        const numeric = (calibrateScore(map, score + step) - calibrateScore(map, score - step)) / (2 * step);
        expect(calibrationSlope(map, score)).toBeCloseTo(numeric, 6);
      }
    }
  });
});

describe('calibrators of detectors', () => {
  const { truth, detections } = overConfident(400, 7);
  const classes = { classCount: 1 };

  it.each(['platt', 'isotonic'] as const)('%s, target quality: LaECE0 sinks, AP stays', (kind) => {
    const calibrator = fitCalibrator(truth, detections, { ...classes, kind, target: 'quality' });
    const after = calibrateDetections(detections, calibrator);
    const [raw, fitted] = [detections, after].map(
      (table) => localisationEce(truth, table, classes).laEce.mean!,
    );
    expect(raw).toBeGreaterThan(0.1);
    expect(fitted).toBeLessThan(0.3 * raw!);
    const [apRaw, apFitted] = [detections, after].map(
      (table) => evaluateDetections(truth, table, classes).ap!,
    );
    expect(apFitted).toBeCloseTo(apRaw!, kind === 'platt' ? 12 : 2);
  });

  it('target correct: D-ECE sinks', () => {
    const calibrator = fitCalibrator(truth, detections, { ...classes, kind: 'platt', target: 'correct' });
    const dece = (table: DetectionTable) =>
      detectionEce(truth, table, { ...classes, minScore: 0.01 }).measured!.error;
    expect(dece(calibrateDetections(detections, calibrator))).toBeLessThan(0.3 * dece(detections));
  });

  it('leaves a class alone that has too few detections, and says so', () => {
    const calibrator = fitCalibrator(truth, detections, {
      ...classes,
      kind: 'platt',
      target: 'quality',
      minSamples: 1e6,
    });
    expect(calibrator.maps).toEqual([null]);
    expect(calibrator.samples[0]).toBeGreaterThan(400);
    expect(calibrateDetections(detections, calibrator).scores).toEqual(detections.scores);
  });

  it('lets the variance follow the map, within E (1 − E)', () => {
    const calibrator = fitCalibrator(truth, detections, { ...classes, kind: 'platt', target: 'quality' });
    const scoreVariances = detections.scores.map((score) => 0.1 * score * (1 - score));
    const after = calibrateDetections({ ...detections, scoreVariances }, calibrator);
    const map = calibrator.maps[0]!;
    expect(after.scoreVariances![5]).toBeCloseTo(
      calibrationSlope(map, detections.scores[5]!) ** 2 * scoreVariances[5]!,
      12,
    );
    const wild = { ...detections, scoreVariances: detections.scores.map(() => 0.25) };
    const bounded = calibrateDetections(wild, calibrator);
    for (const [row, variance] of bounded.scoreVariances!.entries()) {
      const score = bounded.scores[row]!;
      expect(variance).toBeLessThanOrEqual(score * (1 - score) + 1e-15);
    }
  });
});

/** One object a picture, two detections: one on it in a share of the pictures, one false; scores far too high. */
function overConfident(pictures: number, seed: number) {
  const random = createRandom(seed);
  const truthBoxes: number[] = [];
  const found: { box: number[]; score: number }[] = [];
  for (let picture = 0; picture < pictures; picture++) {
    const [x, y] = [random.between(0, 300), random.between(0, 300)];
    truthBoxes.push(x, y, x + 60, y + 60);
    const honest = random.between(0.05, 0.9);
    const shift = random.next() < honest ? random.between(0, 15) : 500;
    found.push({ box: [x + shift, y, x + shift + 60, y + 60], score: honest ** 0.3 });
    const low = random.between(0.01, 0.1);
    found.push({ box: [900, 900, 950, 950], score: low ** 0.3 });
  }
  return {
    truth: {
      starts: Int32Array.from({ length: pictures + 1 }, (_, picture) => picture),
      boxes: Float64Array.from(truthBoxes),
      classIds: new Int32Array(pictures),
      areas: new Float64Array(pictures).fill(3600),
      kinds: new Uint8Array(pictures),
    },
    detections: {
      starts: Int32Array.from({ length: pictures + 1 }, (_, picture) => 2 * picture),
      boxes: Float64Array.from(found.flatMap(({ box }) => box)),
      classIds: new Int32Array(2 * pictures),
      scores: Float64Array.from(found, ({ score }) => score),
    },
  };
}
