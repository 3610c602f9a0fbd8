// Voting and fusion against golden vectors, and what they must never do: let a spike decide, depend on the order of
// equals, or claim more than the boxes say.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Candidates, SuppressionPolicy, SuppressorOptions } from '#core';
import {
  createSuppressor,
  FUSION_SUPPRESSION,
  HARD_SUPPRESSION,
  suppressionRequirement,
  VOTE_SUPPRESSION,
} from '#core';
import { allPlaces, type CandidateRow, candidatesOf } from '../support/candidates.ts';
import { goldenCase } from '../support/golden.ts';

const DEFAULTS = { iou: 0.5, agnostic: false, maxDet: 300, maxCandidates: 30_000 };

function suppress(
  candidates: Candidates,
  policy: SuppressionPolicy,
  options: Partial<SuppressorOptions> = {},
) {
  const suppressor = createSuppressor({ ...DEFAULTS, policy, ...options });
  const kept = suppressor.suppress(candidates, allPlaces(candidates), candidates.count);
  const rows = (values: Float32Array | undefined) =>
    Array.from({ length: kept.count }, (_, slot) => [...(values?.subarray(4 * slot, 4 * slot + 4) ?? [])]);
  return {
    ...kept,
    places: [...kept.places.subarray(0, kept.count)],
    scores: [...kept.scores.subarray(0, kept.count)],
    rows: rows(kept.boxes),
    variances: rows(kept.boxVariances),
  };
}

function expectNear(found: readonly number[], wanted: readonly number[], digits: number): void {
  expect(found).toHaveLength(wanted.length);
  for (const [index, value] of wanted.entries()) expect(found[index]).toBeCloseTo(value, digits);
}

const MIXED: readonly CandidateRow[] = [
  { box: [0, 0, 20, 20], score: 0.9, boxVariance: [4, 4, 4, 4] },
  { box: [2, 0, 20, 20], score: 0.6, boxVariance: [1, 4, 4, 4] },
  { box: [0, 0, 20, 20], score: 0.8, classId: 1, boxVariance: [1, 1, 1, 1] },
];

describe('vote', () => {
  it('moves boxes as the golden vectors say, and no scores', () => {
    const entry = goldenCase('nms.json', 'variance_voting_no_plus_one_sigma_t0.02_hard');
    const candidates = candidatesOf(
      entry.boxes.map((box: number[], index: number) => ({
        box,
        score: entry.scores[index],
        boxVariance: entry.std[index].map((std: number) => std * std),
      })),
    );
    const policy = { kind: 'vote', sigma: entry.sigma_t, minIou: entry.iou_min } as const;
    const kept = suppress(candidates, policy, { iou: entry.nms_thr });
    expect(kept.places).toEqual(entry.expect.map(({ index }: { index: number }) => index));
    expect(kept.scores).toEqual(kept.places.map((place) => candidates.scores[place]));
    for (const [slot, { box }] of entry.expect.entries()) expectNear(kept.rows[slot] ?? [], box, 4);
  });

  it('gives the mean the variance of its mixture', () => {
    const { rows, variances } = suppress(candidatesOf(MIXED), VOTE_SUPPRESSION);
    const near = Math.exp(-(0.1 ** 2) / 0.02); // IoU .9
    const weight = near / 1 / (1 / 4 + near / 1);
    expect(rows[0]?.[0]).toBeCloseTo(2 * weight, 5);
    const mixture = (1 - weight) * 4 + weight * 1 + weight * (1 - weight) * 2 ** 2;
    expect(variances[0]?.[0]).toBeCloseTo(mixture, 5);
    expect(variances[0]?.[1]).toBeCloseTo(4, 5);
  });

  it('leaves a lone box and its variance alone, and keeps classes apart unless agnostic', () => {
    const { rows, variances, places } = suppress(candidatesOf(MIXED), VOTE_SUPPRESSION);
    expect(places).toEqual([0, 2]);
    expect([rows[1], variances[1]]).toEqual([
      [0, 0, 20, 20],
      [1, 1, 1, 1],
    ]);
    expect(suppress(candidatesOf(MIXED), VOTE_SUPPRESSION, { agnostic: true }).places).toEqual([0]);
  });

  it('does not let a law in one bin outvote all others', () => {
    const spike = candidatesOf([
      { box: [0, 0, 20, 20], score: 0.9, boxVariance: [0.25, 1, 1, 1] },
      { box: [2, 0, 20, 20], score: 0.6, boxVariance: [0, 1, 1, 1] },
    ]);
    const moved = suppress(spike, VOTE_SUPPRESSION).rows[0]?.[0];
    expect(moved).toBeGreaterThan(0.5);
    expect(moved).toBeLessThan(1.5);
  });

  it('keeps what hard suppression keeps', () => {
    fc.assert(
      fc.property(fc.array(anyRow(), { maxLength: 40 }), (rows) => {
        const candidates = candidatesOf(rows.length > 0 ? rows : [MIXED[0]!]);
        const { places } = suppress(candidates, VOTE_SUPPRESSION);
        expect(places).toEqual(suppress(candidates, HARD_SUPPRESSION).places);
      }),
    );
  });

  it('needs the variance of the boxes', () => {
    const bare = candidatesOf([{ box: [0, 0, 1, 1], score: 0.5 }]);
    expect(() => suppress(bare, VOTE_SUPPRESSION)).toThrow(/variance of the box/);
    expect(suppressionRequirement(VOTE_SUPPRESSION)).toBe('box-variance');
  });
});

function anyRow(): fc.Arbitrary<CandidateRow> {
  const side = fc.integer({ min: 1, max: 40 });
  return fc.record({
    box: fc.tuple(fc.nat(60), fc.nat(60), side, side).map(([x, y, w, h]) => [x, y, x + w, y + h]),
    score: fc.integer({ min: 1, max: 20 }).map((step) => Math.fround(step / 20)),
    classId: fc.nat(2),
    boxVariance: fc.constant([1, 1, 1, 1]),
  });
}

describe('wbf', () => {
  it('fuses as the golden vectors say', () => {
    const entry = goldenCase('nms.json', 'wbf_single_model_lowers_single_boxes');
    const [{ boxes, scores }] = entry.models;
    const candidates = candidatesOf(
      boxes.map((box: number[], index: number) => ({ box, score: scores[index] })),
    );
    const kept = suppress(candidates, { kind: 'wbf', score: 'mean' }, { iou: entry.iou_thr });
    expectNear(kept.rows[0] ?? [], entry.expect[0].box, 6);
    expect(kept.scores[0]).toBeCloseTo(entry.expect[0].score, 6);
    expect(kept.boxVariances).toBeUndefined();
    expect(suppress(candidates, FUSION_SUPPRESSION).scores).toEqual([Math.fround(0.9)]);
  });

  it('gives the mean the variance of its mixture', () => {
    const { rows, variances, places } = suppress(candidatesOf(MIXED), FUSION_SUPPRESSION);
    expect(places).toEqual([0, 2]);
    const weight = 0.6 / 1.5;
    expect(rows[0]?.[0]).toBeCloseTo(2 * weight, 5);
    expect(variances[0]?.[0]).toBeCloseTo((1 - weight) * 4 + weight + weight * (1 - weight) * 4, 5);
    expect(variances[1]).toEqual([1, 1, 1, 1]);
  });

  it('joins the box that fits best, the earlier of two that fit alike', () => {
    const between = candidatesOf([
      { box: [0, 0, 10, 10], score: 0.9 },
      { box: [8, 0, 18, 10], score: 0.8 },
      { box: [4, 0, 14, 10], score: 0.7 },
    ]);
    const { rows } = suppress(between, FUSION_SUPPRESSION, { iou: 0.3 });
    expect(rows[0]?.[0]).toBeCloseTo((4 * 0.7) / 1.6, 5);
    expect(rows[1]).toEqual([8, 0, 18, 10]);
  });

  it('is the same for equal scores every time, and stays inside its members', () => {
    fc.assert(
      fc.property(fc.array(anyRow(), { minLength: 1, maxLength: 40 }), (rows) => {
        const candidates = candidatesOf(rows);
        const first = suppress(candidates, FUSION_SUPPRESSION);
        expect(suppress(candidates, FUSION_SUPPRESSION)).toEqual(first);
        for (const row of first.rows) {
          expect(row[0]).toBeGreaterThanOrEqual(Math.min(...rows.map(({ box }) => box[0]!)) - 1e-4);
          expect(row[2]).toBeLessThanOrEqual(Math.max(...rows.map(({ box }) => box[2]!)) + 1e-4);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('begins no more boxes than may be kept, and says so', () => {
    const apart = candidatesOf(
      [0, 20, 40].map((x, index) => ({ box: [x, 0, x + 10, 10], score: 0.9 - index / 10 })),
    );
    const limited = suppress(apart, FUSION_SUPPRESSION, { maxDet: 2 });
    expect([limited.places, limited.detectionLimitReached]).toEqual([[0, 1], true]);
    expect(suppress(apart, FUSION_SUPPRESSION, { maxDet: 3 }).detectionLimitReached).toBe(false);
  });
});
