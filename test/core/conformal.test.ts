// Thresholds with a promise: golden ranks and bounds, and whether new pictures keep what was promised.
import { describe, expect, it } from 'vitest';
import type { DetectionTable, TruthTable } from '#core';
import {
  binomialInterval,
  binomialUpper,
  conformalThresholds,
  createRandom,
  missRateThreshold,
  objectRecallThreshold,
  precisionThreshold,
  TRUTH_KIND,
} from '#core';
import { type GoldenCase, golden, goldenRows } from '../support/golden.ts';

const FILE = 'threshold_conformal.json';
const cases = (prefix: string): [string, GoldenCase][] =>
  [...golden(FILE)].filter(([id]) => id.startsWith(prefix));

describe('binomial bounds', () => {
  it.each(goldenRows(FILE, 'clopper_pearson_upper'))('upper %s', (_, { errors, n, delta, upper }) => {
    expect(binomialUpper(errors, n, delta)).toBeCloseTo(upper, 11);
  });

  it('have their closed forms at the ends, and mirror each other', () => {
    expect(binomialUpper(0, 30, 0.1)).toBeCloseTo(1 - 0.1 ** (1 / 30), 13);
    const [low, high] = binomialInterval(30, 30, 0.9);
    expect([low, high]).toEqual([expect.closeTo(0.05 ** (1 / 30), 12), 1]);
    const [a, b] = binomialInterval(7, 40, 0.95);
    expect(binomialInterval(33, 40, 0.95)).toEqual([expect.closeTo(1 - b, 12), expect.closeTo(1 - a, 12)]);
    expect(binomialInterval(0, 0, 0.95)).toEqual([0, 1]);
    // Many rows: near the normal law's 1.96 standard errors.
    const [under, over] = binomialInterval(200_000, 400_000, 0.95);
    expect(over - under).toBeCloseTo((2 * 1.959964) / (2 * Math.sqrt(400_000)), 5);
  });

  it('stand at the edge of what is likely', () => {
    for (const [errors, count, delta] of [
      [3, 12, 0.05],
      [0, 5, 0.2],
      [40, 90, 0.01],
    ] as const) {
      expect(atMost(errors, count, binomialUpper(errors, count, delta))).toBeCloseTo(delta, 10);
    }
  });
});

/** P(Bin(count, rate) <= most) by the recursion of its terms. */
function atMost(most: number, count: number, rate: number): number {
  let term = (1 - rate) ** count;
  let sum = term;
  for (let hits = 1; hits <= most; hits++) {
    term *= ((count - hits + 1) / hits) * (rate / (1 - rate));
    sum += term;
  }
  return sum;
}

describe('object recall', () => {
  it.each(cases('recall_threshold'))('%s', (_, { scores, alpha, expect: want }) => {
    const found = objectRecallThreshold(scores, alpha);
    expect(found.rank).toBe(want.k);
    expect(found.threshold).toBe(want.threshold === '-Infinity' ? null : want.threshold);
    expect(found.recallHere).toBeCloseTo(want.empirical_recall_on_calibration, 12);
  });

  it.each(goldenRows(FILE, 'rank_rounding_trap'))('rank %s', (_, { n, alpha, guarded_floor: rank }) => {
    expect(objectRecallThreshold(new Float64Array(n), alpha).rank).toBe(rank);
  });

  it('says how many objects it needs', () => {
    const { objectsNeeded } = objectRecallThreshold([0.5], 0.05);
    expect(objectsNeeded).toBe(19);
    expect(objectRecallThreshold(new Float64Array(18).fill(0.5), 0.05).threshold).toBeNull();
    expect(objectRecallThreshold(new Float64Array(19).fill(0.5), 0.05).threshold).toBe(0.5);
    expect(objectRecallThreshold([], 0.1)).toMatchObject({ threshold: null, objects: 0, recallHere: null });
  });

  it('keeps its promise on new objects, and promises no more than it must', () => {
    const random = createRandom(1);
    const [alpha, count, rounds] = [0.2, 24, 4000];
    let kept = 0;
    for (let round = 0; round < rounds; round++) {
      const scores = Float64Array.from({ length: count }, () => random.next() ** 2);
      if (random.next() ** 2 >= objectRecallThreshold(scores, alpha).threshold!) kept++;
    }
    // Exactly 1 − 5/25 for scores without ties; four standard errors.
    expect(Math.abs(kept / rounds - 0.8)).toBeLessThan(4 * Math.sqrt(0.16 / rounds));
  });
});

describe('miss rate per picture', () => {
  it.each(cases('crc_miss_rate'))('%s', (_, { images_matched_scores: pictures, alpha, expect: want }) => {
    const found = missRateThreshold(pictures, { alpha });
    expect(found.threshold).toBe(want.threshold);
    if (want.risk_at_threshold === null) expect(found.riskHere).toBeNull();
    else expect(found.riskHere).toBeCloseTo(want.risk_at_threshold, 12);
  });

  it('leaves pictures without objects out, and says how many it needs', () => {
    const pictures = [[0.9], [], [0.8], []];
    const found = missRateThreshold(pictures, { alpha: 0.34 });
    expect(found).toEqual({ threshold: 0.8, riskHere: 0, pictures: 2, picturesNeeded: 2, alpha: 0.34 });
    expect(missRateThreshold(pictures, { alpha: 0.33 }).threshold).toBeNull();
    expect(missRateThreshold([], { alpha: 0.5 })).toMatchObject({ threshold: null, pictures: 0 });
  });
});

describe('precision', () => {
  it.each(cases('precision_control'))('%s', (_, entry) => {
    const [scores, correct] = [0, 1].map((column) =>
      entry.detections_score_correct.map((row: number[]) => row[column]),
    );
    const { alpha, delta, n_min: leastCount, expect: want } = entry;
    const found = precisionThreshold(scores, correct, { alpha, delta, leastCount });
    expect(found.threshold).toBe(want.threshold);
    expect(found.tests).toEqual(
      want.trace.map((test: GoldenCase) => ({
        threshold: test.t,
        count: test.n,
        errors: test.errors,
        upper: expect.closeTo(test.upper, 10),
        passed: test.pass,
      })),
    );
  });

  it('says nothing of too few detections', () => {
    expect(precisionThreshold([0.9], [1], { alpha: 0.5 })).toMatchObject({ threshold: null, tests: [] });
  });
});

describe('slices', () => {
  // By day scores are high, at dusk low; a crowd region and what lies on it count for nothing.
  const { truth, detections, slices } = dayAndDusk();
  const found = conformalThresholds(truth, detections, { classCount: 2, slices, lost: 0.1 });

  it('each gets thresholds of its own', () => {
    expect(found.map(({ slice, pictures }) => [slice, pictures])).toEqual([
      ['day', 40],
      ['dusk', 40],
    ]);
    const [day, dusk] = found;
    expect(day!.pooled.objectRecall.threshold!).toBeGreaterThan(dusk!.pooled.objectRecall.threshold! + 0.2);
    expect(day!.pooled.missRate.threshold!).toBeGreaterThan(dusk!.pooled.missRate.threshold! + 0.2);
    const all = { classCount: 2, slices: slices.map(() => 'all'), lost: 0.2 };
    const pooled = conformalThresholds(truth, detections, all)[0]!.pooled.objectRecall.threshold!;
    // Four fifths were promised: the pooled threshold gives more by day and keeps less at dusk.
    expect(shareAtLeast(objectScores('day'), pooled)).toBeGreaterThan(0.9);
    expect(shareAtLeast(objectScores('dusk'), pooled)).toBeLessThan(0.72);
  });

  it('is what the plain functions give on the rows of the class in the slice', () => {
    const [, dusk] = found;
    const own = objectScores('dusk');
    expect(dusk!.perClass[0]!.objectRecall).toEqual(objectRecallThreshold(own, 0.1));
    expect(dusk!.perClass[0]!.missRate).toEqual(
      missRateThreshold(
        own.map((score) => [score]),
        { alpha: 0.1 },
      ),
    );
    const rows = [...detections.scores.keys()].filter((row) => row >= 120 && detections.classIds[row] === 0);
    const scores = rows.map((row) => detections.scores[row]!);
    const hits = rows.map((row) => Number(detections.boxes[4 * row] === 12));
    expect(dusk!.perClass[0]!.precision).toEqual(precisionThreshold(scores, hits, { alpha: 0.1 }));
    expect(dusk!.perClass[0]!.precision.tests.length).toBeGreaterThan(0);
    expect(dusk!.perClass[1]!.objectRecall).toMatchObject({ objects: 0, threshold: null });
    expect(dusk!.perClass[1]!.precision.tests).toEqual([]);
  });

  function objectScores(slice: string): number[] {
    const scores: number[] = [];
    for (let picture = 0; picture < 80; picture++) {
      if (slices[picture] !== slice) continue;
      scores.push(picture % 20 === 7 ? 0 : detections.scores[3 * picture]!);
    }
    return scores;
  }
});

function shareAtLeast(scores: readonly number[], threshold: number): number {
  return scores.filter((score) => score >= threshold).length / scores.length;
}

/** Per picture: an object of class 0, found but for every twentieth; a false alarm; a crowd of class 1 with a box in it. */
function dayAndDusk(): { truth: TruthTable; detections: DetectionTable; slices: string[] } {
  const random = createRandom(4);
  const slices = Array.from({ length: 80 }, (_, picture) => (picture < 40 ? 'day' : 'dusk'));
  const found = slices.flatMap((slice, picture) => {
    const shift = picture % 20 === 7 ? 500 : 2;
    const score = slice === 'day' ? random.between(0.6, 0.95) : random.between(0.25, 0.6);
    return [
      { box: [10 + shift, 10, 60 + shift, 60], score, classId: 0 },
      { box: [300, 300, 330, 330], score: 0.1, classId: 0 },
      { box: [700, 700, 720, 720], score: 0.9, classId: 1 },
    ];
  });
  const pictures = [...slices.keys()];
  return {
    slices,
    truth: {
      starts: Int32Array.from({ length: 81 }, (_, picture) => 2 * picture),
      boxes: Float64Array.from(pictures.flatMap(() => [10, 10, 60, 60, 650, 650, 800, 800])),
      classIds: Int32Array.from(pictures.flatMap(() => [0, 1])),
      areas: Float64Array.from(pictures.flatMap(() => [2500, 22500])),
      kinds: Uint8Array.from(pictures.flatMap(() => [TRUTH_KIND.object, TRUTH_KIND.crowd])),
    },
    detections: {
      starts: Int32Array.from({ length: 81 }, (_, picture) => 3 * picture),
      boxes: Float64Array.from(found.flatMap(({ box }) => box)),
      classIds: Int32Array.from(found, ({ classId }) => classId),
      scores: Float64Array.from(found, ({ score }) => score),
    },
  };
}
