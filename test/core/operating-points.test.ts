// Thresholds that are chosen per class: what they promise must be what the policy does with them.
import { describe, expect, it } from 'vitest';
import type { DetectionTable, OperatingGoal, OperatingPoints, TruthTable } from '#core';
import {
  accepts,
  buildThresholdsFile,
  ConfigError,
  formatThresholdsFile,
  HARD_SUPPRESSION,
  lrpErrors,
  matchDetections,
  operatingPoints,
  parseThresholdsFile,
  type ThresholdPolicy,
  toSuppression,
  toThresholdPolicy,
  VOTE_SUPPRESSION,
} from '#core';
import { cocoSizedSet } from '../bench/coco-sized.ts';

const set = cocoSizedSet({ pictures: 80, objects: 600, detections: 4000, classCount: 5 }, 3);
const options = { classCount: set.classCount };
const choose = (goal: OperatingGoal, more: object = {}) =>
  operatingPoints(set.truth, set.detections, goal, { ...options, ...more });

const { objects, leftOut, positives } = matchDetections(set.truth, set.detections, {
  ...options,
  maxDets: 100,
  iou: 0.5,
});

/** Hits and kept boxes of a class when the policy of the runtime decides. */
function runPolicy(policy: ThresholdPolicy, classId: number) {
  let [kept, hits] = [0, 0];
  for (const [row, score] of set.detections.scores.entries()) {
    if (set.detections.classIds[row] !== classId || leftOut[row] === 1) continue;
    if (!accepts(policy, { classId, score, variance: 0, tailMass: () => 0 })) continue;
    kept++;
    if (objects[row]! >= 0) hits++;
  }
  return { kept, hits, recall: hits / positives[classId]!, precision: hits / kept };
}

const GOALS: OperatingGoal[] = [
  { kind: 'best-f1' },
  { kind: 'lrp' },
  { kind: 'precision', target: 0.7 },
  { kind: 'recall', target: 0.5 },
];

describe.each(GOALS.map((goal) => [goal.kind, goal] as const))('%s', (_, goal) => {
  const { perClass, pooled } = choose(goal);

  it('is what the policy then does', () => {
    for (const { classId, chosen } of perClass) {
      const { kept, hits, recall, precision, threshold } = chosen!;
      const policy = { kind: 'per-class', base: 0.999, perClass: new Map([[classId!, threshold]]) } as const;
      expect(runPolicy(policy, classId!)).toEqual({ kept, hits, recall, precision });
    }
  });

  it('is the best of all thresholds', () => {
    for (const { classId, chosen } of perClass) {
      const scores = set.detections.scores.filter((__, row) => set.detections.classIds[row] === classId);
      for (const base of new Set([0, ...scores])) {
        const { kept, hits, recall, precision } = runPolicy({ kind: 'fixed', base }, classId!);
        if (kept < 10 || hits === 0) continue;
        const f1 = (2 * precision * recall) / (precision + recall);
        if (goal.kind === 'best-f1') expect(f1).toBeLessThanOrEqual(chosen!.f1 + 1e-12);
        if (goal.kind === 'precision' && precision >= 0.7) expect(hits).toBeLessThanOrEqual(chosen!.hits);
        if (goal.kind === 'recall' && recall >= 0.5) {
          expect(precision).toBeLessThanOrEqual(chosen!.precision);
        }
      }
      if (goal.kind === 'precision') expect(chosen!.precision).toBeGreaterThanOrEqual(0.7);
      if (goal.kind === 'recall') expect(chosen!.recall).toBeGreaterThanOrEqual(0.5);
    }
  });

  it('adds all classes up for the rest', () => {
    expect(pooled).toMatchObject({ classId: null, chosen: expect.objectContaining({}) });
    expect(pooled.objects).toBe(perClass.reduce((sum, { objects }) => sum + objects, 0));
  });
});

it('lrp agrees with oLRP', () => {
  const { perClass } = lrpErrors(set.truth, set.detections, options);
  for (const { classId, chosen } of choose({ kind: 'lrp' }).perClass) {
    const { optimal } = perClass[classId!]!;
    expect(chosen!.lrp).toBeCloseTo(optimal!.lrp, 12);
    expect(chosen!.threshold).toBeLessThan(optimal!.threshold!);
  }
});

describe('no verdict', () => {
  it('on too few objects', () => {
    const { perClass } = choose({ kind: 'best-f1' }, { minObjects: 100_000 });
    expect(perClass[0]).toEqual({ classId: 0, objects: perClass[0]!.objects, why: 'too-few-objects' });
  });

  it('where the goal is not reached', () => {
    const { truth, detections } = row(3, [0.9, 0.8]);
    const half = (target: number) =>
      operatingPoints(
        truth,
        detections,
        { kind: 'recall', target },
        { classCount: 1, minObjects: 1, minKept: 1 },
      );
    expect(half(0.9).perClass[0]).toEqual({ classId: 0, objects: 3, why: 'out-of-reach' });
    expect(half(0.6).perClass[0]!.chosen).toMatchObject({ kept: 2, recall: 2 / 3 });
    expect(choose({ kind: 'precision', target: 1 }, { minKept: 200 }).perClass[0]!.chosen).toBeUndefined();
  });

  it('on the word of a few boxes', () => {
    const few = choose({ kind: 'precision', target: 0.99 }, { minKept: 1 }).perClass[4]!.chosen;
    const enough = choose({ kind: 'precision', target: 0.99 }, { minKept: (few?.kept ?? 0) + 1 });
    expect(few!.precision).toBe(1);
    expect(enough.perClass[4]!.chosen).toBeUndefined();
  });
});

/** One picture, one class, objects side by side; the first detections are right. */
function row(hits: number, scores: readonly number[]): { truth: TruthTable; detections: DetectionTable } {
  const boxesOf = (count: number) =>
    Float64Array.from(
      Array.from({ length: count }, (_, place) => [60 * place, 0, 60 * place + 50, 50]).flat(),
    );
  return {
    truth: {
      starts: Int32Array.of(0, hits),
      boxes: boxesOf(hits),
      classIds: new Int32Array(hits),
      areas: new Float64Array(hits).fill(2500),
      kinds: new Uint8Array(hits),
    },
    detections: {
      starts: Int32Array.of(0, scores.length),
      boxes: boxesOf(scores.length),
      classIds: new Int32Array(scores.length),
      scores: Float64Array.from(scores),
    },
  };
}

describe('the threshold', () => {
  const best = (hits: number, scores: readonly number[]) => {
    const { truth, detections } = row(hits, scores);
    const more = { classCount: 1, minObjects: 1, minKept: 1 };
    return operatingPoints(truth, detections, { kind: 'best-f1' }, more).perClass[0]!.chosen!;
  };

  it('lies midway between the boxes that it parts', () => {
    expect(best(2, [0.75, 0.5, 0.25])).toMatchObject({ threshold: 0.375, kept: 2, f1: 1 });
  });

  it('lies just under the lowest score where nothing is to be dropped', () => {
    const { threshold, kept } = best(2, [0.75, 0.5]);
    expect(kept).toBe(2);
    expect(threshold).toBeLessThan(0.5);
    expect(threshold).toBeGreaterThan(0.4999999);
    expect(Math.fround(threshold)).toBe(threshold);
  });

  it('parts neighbours among float32, and not scores that are equal as such', () => {
    const [low, high] = [Math.fround(0.3), Math.fround(0.3) + 2 ** -25];
    expect(best(1, [high, low])).toMatchObject({ threshold: low, kept: 1 });
    // B54: different as float64, equal as float32. No threshold can part them.
    const near = low + 2 ** -40;
    expect(best(1, [near, low + 2 ** -41])).toMatchObject({ kept: 2, precision: 0.5 });
  });

  it('is below 1 also where every score is 1', () => {
    const { threshold } = best(2, [1, 1]);
    expect(
      accepts({ kind: 'fixed', base: threshold }, { classId: 0, score: 1, variance: 0, tailMass: () => 0 }),
    ).toBe(true);
  });
});

describe('the thresholds file', () => {
  const classNames = ['person', 'car', 'bus', 'dog', 'kite'];
  const parts = (points: OperatingPoints) => ({
    modelSha256: 'AB'.repeat(32),
    score: 'calibrated' as const,
    suppression: HARD_SUPPRESSION,
    iou: 0.7,
    classNames,
    points,
  });
  const PATH = 'site/thresholds.json';

  it('comes back as it was written, and is the policy that was chosen', () => {
    const points = choose({ kind: 'best-f1' }, { minObjects: 60 });
    const named = points.perClass.filter(({ chosen }) => chosen !== undefined);
    expect([named.length > 0, named.length < 5]).toEqual([true, true]);
    const dusk = choose({ kind: 'recall', target: 0.5 });
    const hysteresis = { states: ['dusk', 'day'], boundaries: [60], margin: 5, holdSeconds: 10 };
    const file = buildThresholdsFile({ ...parts(points), conditions: { dusk }, hysteresis });
    const read = parseThresholdsFile(formatThresholdsFile(file, PATH), PATH, {
      modelSha256: 'ab'.repeat(32),
    });
    expect(read).toEqual(file);
    expect(toThresholdPolicy(read, { classNames })).toEqual({
      kind: 'per-class',
      base: points.pooled.chosen!.threshold,
      perClass: new Map(named.map(({ classId, chosen }) => [classId!, chosen!.threshold])),
    });
    expect(toThresholdPolicy(read, { classNames, condition: 'dusk' })).toMatchObject({
      perClass: new Map(dusk.perClass.map(({ classId, chosen }) => [classId!, chosen!.threshold])),
    });
    expect(toSuppression(read)).toEqual({ suppression: HARD_SUPPRESSION, iou: 0.7, agnostic: false });
  });

  it('carries what other suppressions need', () => {
    const file = buildThresholdsFile({ ...parts(choose({ kind: 'lrp' })), suppression: VOTE_SUPPRESSION });
    const read = parseThresholdsFile(formatThresholdsFile(file, PATH), PATH);
    expect(toSuppression(read).suppression).toEqual(VOTE_SUPPRESSION);
  });

  it('is refused where nothing stands for the other classes, or could not be read back', () => {
    const none = choose({ kind: 'best-f1' }, { minObjects: 100_000 });
    expect(() => buildThresholdsFile(parts(none))).toThrow(ConfigError);
    expect(buildThresholdsFile({ ...parts(none), otherwise: 0.25 }).classes).toEqual({ '*': 0.25 });
    const broken = buildThresholdsFile({ ...parts(none), otherwise: 1.25 });
    expect(() => formatThresholdsFile(broken, PATH)).toThrow(`${PATH}: 'classes.*' is 1.25`);
    const short = { ...parts(choose({ kind: 'best-f1' })), classNames: ['person'] };
    expect(() => buildThresholdsFile(short)).toThrow('there is no name for class 1');
  });
});
