// Suppression against golden vectors, against a naive version, and against faults that other tools are known for.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Candidates, SuppressionPolicy, SuppressorOptions } from '#core';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  boxUncertainty,
  createSuppressor,
  HARD_SUPPRESSION,
  iou,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import { allPlaces, type CandidateRow, candidatesOf } from '../support/candidates.ts';
import { type GoldenCase, goldenCase, goldenRows } from '../support/golden.ts';

const DEFAULTS: SuppressorOptions = {
  policy: HARD_SUPPRESSION,
  iou: 0.5,
  agnostic: false,
  maxDet: 300,
  maxCandidates: 30_000,
};

function suppress(candidates: Candidates, options: Partial<SuppressorOptions> = {}) {
  const suppressor = createSuppressor({ ...DEFAULTS, ...options });
  const kept = suppressor.suppress(candidates, allPlaces(candidates), candidates.count);
  return {
    ...kept,
    places: [...kept.places.subarray(0, kept.count)],
    scores: [...kept.scores.subarray(0, kept.count)],
  };
}

function fromGolden({ boxes, scores, variances }: GoldenCase): Candidates {
  return candidatesOf(
    boxes.map((box: number[], index: number) => ({
      box,
      score: scores[index],
      ...(variances && { scoreVariance: variances[index] }),
    })),
  );
}

describe('hard', () => {
  it.each(['hard_nms_0.5', 'hard_nms_0.7', 'hard_nms_equality_boundary'])('%s', (id) => {
    const entry = goldenCase('nms.json', id);
    expect(suppress(fromGolden(entry), { iou: entry.iou_thr }).places).toEqual(entry.expect.keep);
  });

  const overlapping = (second: number, x2: number): CandidateRow[] => [
    { box: [0, 0, 100, 100], score: 0.9, classId: 0 },
    { box: [0, 0, 100, x2], score: 0.8, classId: second },
  ];

  it('leaves another class alone, unless told to be agnostic', () => {
    expect(suppress(candidatesOf(overlapping(1, 90))).places).toEqual([0, 1]);
    expect(suppress(candidatesOf(overlapping(1, 90)), { agnostic: true }).places).toEqual([0]);
  });

  it('keeps IoU .44 and drops .46 at threshold .45', () => {
    expect(suppress(candidatesOf(overlapping(0, 44)), { iou: 0.45 }).places).toEqual([0, 1]);
    expect(suppress(candidatesOf(overlapping(0, 46)), { iou: 0.45 }).places).toEqual([0]);
  });

  it('does not let classes meet 8000 px apart', () => {
    // With offsets of 4096 or 7680 px per class, these two would lie on one another.
    for (const offset of [4096, 7680, 8000]) {
      const rows = [
        { box: [offset, offset, offset + 50, offset + 50], score: 0.9, classId: 0 },
        { box: [0, 0, 50, 50], score: 0.8, classId: 1 },
      ];
      expect(suppress(candidatesOf(rows)).places).toEqual([0, 1]);
    }
  });

  it('breaks ties by place, every time', () => {
    const rows = Array.from({ length: 50 }, (_, index) => ({
      box: [index * 20, 0, index * 20 + 10, 10],
      score: 0.5,
    }));
    expect(suppress(candidatesOf(rows)).places).toEqual(rows.map((_, index) => index));
  });

  const disjoint = candidatesOf(
    Array.from({ length: 1000 }, (_, index) => ({
      box: [index * 20, 0, index * 20 + 10, 10],
      score: 1 - index / 2000,
    })),
  );

  it('stops at the limit and says so', () => {
    const limited = suppress(disjoint);
    expect([limited.count, limited.detectionLimitReached]).toEqual([300, true]);
    const all = suppress(disjoint, { maxDet: 1000 });
    expect([all.count, all.detectionLimitReached]).toEqual([1000, false]);
  });

  it('reads the best candidates only, and says so', () => {
    const limited = suppress(disjoint, { maxDet: 1000, maxCandidates: 10 });
    expect(limited.places).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(limited.candidateLimitReached).toBe(true);
    expect(suppress(disjoint, { maxCandidates: 1000 }).candidateLimitReached).toBe(false);
  });

  it('takes part only who is asked to', () => {
    const candidates = candidatesOf(overlapping(0, 90));
    const kept = createSuppressor(DEFAULTS).suppress(candidates, Int32Array.from([1, 0]), 1);
    expect([...kept.places.subarray(0, kept.count)]).toEqual([1]);
  });

  it('agrees with a naive version on any boxes, in one suppressor used again and again', () => {
    const row = fc.record({
      box: fc
        .tuple(fc.nat(60), fc.nat(60), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }))
        .map(([x, y, w, h]) => [x, y, x + w, y + h]),
      score: fc.integer({ min: 0, max: 20 }).map((step) => Math.fround(step / 20)),
      classId: fc.nat(2),
    });
    const suppressor = createSuppressor(DEFAULTS);
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
        const candidates = candidatesOf(rows);
        const kept = suppressor.suppress(candidates, allPlaces(candidates), rows.length);
        expect([...kept.places.subarray(0, kept.count)]).toEqual(naive(rows, 0.5));
      }),
    );
  });
});

function corners([x1, y1, x2, y2]: readonly number[]) {
  return { x1: x1!, y1: y1!, x2: x2!, y2: y2! };
}

function naive(rows: readonly CandidateRow[], threshold: number): number[] {
  const order = rows.map((_, index) => index).sort((a, b) => rows[b]!.score - rows[a]!.score || a - b);
  const kept: number[] = [];
  for (const place of order) {
    const covered = kept.some(
      (other) =>
        rows[other]!.classId === rows[place]!.classId &&
        iou(corners(rows[other]!.box), corners(rows[place]!.box)) > threshold,
    );
    if (!covered) kept.push(place);
  }
  return kept;
}

describe('soft', () => {
  it.each([
    ['soft_nms_linear', { shape: 'linear', iou: 0.3 }],
    ['soft_nms_gaussian', { shape: 'gaussian', sigma: 0.5 }],
  ] as const)('%s', (id, decay) => {
    const entry = goldenCase('nms.json', id);
    const policy: SuppressionPolicy = { kind: 'soft', decay, minScore: entry.min_score };
    const kept = suppress(fromGolden(entry), { policy });
    expect(kept.places).toEqual(entry.expect.order);
    for (const [index, score] of kept.scores.entries())
      expect(score).toBeCloseTo(entry.expect.scores[index], 6);
  });

  it('lowers nothing across classes, and nothing in the candidates themselves', () => {
    const candidates = candidatesOf([
      { box: [0, 0, 10, 10], score: 0.9, classId: 0 },
      { box: [0, 0, 10, 10], score: 0.8, classId: 1 },
      { box: [0, 0, 10, 9], score: 0.7, classId: 0 },
    ]);
    const policy: SuppressionPolicy = {
      kind: 'soft',
      decay: { shape: 'gaussian', sigma: 0.5 },
      minScore: 0.001,
    };
    const kept = suppress(candidates, { policy });
    expect(kept.places).toEqual([0, 1, 2]);
    expect(kept.scores[1]).toBeCloseTo(0.8, 6);
    expect(kept.scores[2]).toBeLessThan(0.2);
    expect(candidates.scores[2]).toBeCloseTo(0.7, 6);
  });

  it('asks again whether a lowered score is good enough', () => {
    const candidates = candidatesOf([
      { box: [0, 0, 10, 10], score: 0.9 },
      { box: [0, 0, 10, 9], score: 0.7 },
    ]);
    const policy: SuppressionPolicy = {
      kind: 'soft',
      decay: { shape: 'gaussian', sigma: 0.5 },
      minScore: 0.001,
    };
    const suppressor = createSuppressor({ ...DEFAULTS, policy });
    const kept = suppressor.suppress(candidates, allPlaces(candidates), 2, (_, score) => score > 0.5);
    expect(kept.count).toBe(1);
  });
});

describe('uncertainty', () => {
  const entry = goldenCase('nms.json', 'uncertainty_nms_exp_minus_2var');

  it('orders by the weighted score and reports the plain one', () => {
    const candidates = fromGolden(entry);
    const kept = suppress(candidates, { policy: UNCERTAINTY_SUPPRESSION });
    expect(kept.places).toEqual(entry.expect.keep_by_weighted);
    expect(kept.scores).toEqual(kept.places.map((place) => candidates.scores[place]));
    expect(suppress(candidates).places).toEqual(entry.expect.keep_by_plain);
  });

  it.each(goldenRows('nms.json', 'weight_range'))('weighs as stated: %s', (_, row) => {
    // Two boxes on one place: the sure one wins iff its plain score is above the other's weighted score.
    const weight = row['exp(-2var)'];
    for (const [sure, winner] of [
      [weight * 0.8 - 1e-4, 0],
      [weight * 0.8 + 1e-4, 1],
    ] as const) {
      const rows = [
        { box: [0, 0, 9, 9], score: 0.8, scoreVariance: row.var },
        { box: [0, 0, 9, 9], score: sure, scoreVariance: 0 },
      ];
      expect(suppress(candidatesOf(rows), { policy: UNCERTAINTY_SUPPRESSION }).places).toEqual([winner]);
    }
  });

  it('is refused where there is no variance', () => {
    const candidates = candidatesOf([{ box: [0, 0, 1, 1], score: 0.5 }]);
    expect(() => suppress(candidates, { policy: UNCERTAINTY_SUPPRESSION })).toThrow(/variance of the score/);
    expect(() => suppress(candidates, { policy: BOX_UNCERTAINTY_SUPPRESSION })).toThrow(
      /variance of the box/,
    );
  });
});

describe('box uncertainty', () => {
  it('is the mean over sides of std over size along the axis, without a unit', () => {
    const boxes = Float32Array.from([0, 0, 20, 40]);
    const variances = Float32Array.from([4, 16, 36, 64]); // std 2 4 6 8
    expect(boxUncertainty(boxes, variances, 0)).toBeCloseTo((2 / 20 + 6 / 20 + 4 / 40 + 8 / 40) / 4, 12);
    const tenfold = boxUncertainty(
      boxes.map((value) => 10 * value),
      variances.map((value) => 100 * value),
      0,
    );
    expect(tenfold).toBeCloseTo(boxUncertainty(boxes, variances, 0), 6);
  });

  it('lets the surer box win', () => {
    const rows = [
      { box: [0, 0, 20, 20], score: 0.8, boxVariance: [100, 100, 100, 100] },
      { box: [0, 0, 20, 19], score: 0.7, boxVariance: [0, 0, 0, 0] },
    ];
    expect(suppress(candidatesOf(rows), { policy: BOX_UNCERTAINTY_SUPPRESSION }).places).toEqual([1]);
    expect(suppress(candidatesOf(rows)).places).toEqual([0]);
  });
});
