// Threshold rules against golden vectors; floors must never drop what a rule would accept.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Capabilities, ThresholdPolicy } from '#core';
import {
  accepts,
  equivalentFixedThreshold,
  PUBLISHED_THRESHOLD,
  scoreFloor,
  scoreTailMass,
  thresholdReach,
  thresholdRequirement,
  whyUnavailable,
} from '#core';
import { goldenCase, goldenRows } from '../support/golden.ts';

function candidate(score: number, variance = 0, classId = 0, tail = 0) {
  return { classId, score, variance, tailMass: () => tail };
}

describe('the published rule', () => {
  it.each(goldenRows('threshold_dynamic.json', 'seed_rule_base0.5_k0.3'))('%s', (_, row) => {
    expect(accepts(PUBLISHED_THRESHOLD, candidate(row.expectation, row.variance))).toBe(row.keep);
    const std: ThresholdPolicy = { kind: 'std', base: 0.5, k: 0.1 };
    expect(accepts(std, candidate(row.expectation, row.variance))).toBe(row.keep_std_rule);
  });

  it.each(goldenRows('threshold_dynamic.json', 'with_two_point_labels_the_rule_is_a_fixed_threshold'))(
    'with hard labels is a fixed threshold: %s',
    (_, { base, k, equivalent_fixed_threshold }) => {
      expect(equivalentFixedThreshold(base, k)).toBeCloseTo(equivalent_fixed_threshold, 14);
    },
  );

  it('says how far it reaches', () => {
    const { max_reduction } = goldenCase('threshold_dynamic.json', 'scale_of_the_rule');
    const reach = thresholdReach(PUBLISHED_THRESHOLD);
    expect(reach.maximum).toBeCloseTo(max_reduction['var<=0.25'], 15);
    expect(reach.text).toContain('0.075');
    expect(thresholdReach({ kind: 'std', base: 0.5, k: 0.1 }).maximum).toBeCloseTo(0.05, 15);
    expect(thresholdReach({ kind: 'fixed', base: 0.5 }).maximum).toBe(0);
  });
});

describe('fixed and per class', () => {
  it('drops a score that equals the threshold, also where float32 cannot hold it', () => {
    expect(accepts({ kind: 'fixed', base: 0.25 }, candidate(0.25))).toBe(false);
    expect(accepts({ kind: 'fixed', base: 0.25 }, candidate(0.25000003))).toBe(true);
    expect(accepts({ kind: 'fixed', base: 0.3 }, candidate(Math.fround(0.3)))).toBe(false);
    expect(accepts({ kind: 'fixed', base: 0.7 }, candidate(Math.fround(0.7)))).toBe(false);
  });

  it('takes the threshold of the class, else the base', () => {
    const policy: ThresholdPolicy = { kind: 'per-class', base: 0.5, perClass: new Map([[2, 0.1]]) };
    expect(accepts(policy, candidate(0.2, 0, 2))).toBe(true);
    expect(accepts(policy, candidate(0.2, 0, 1))).toBe(false);
  });
});

describe('tail mass', () => {
  const policy: ThresholdPolicy = { kind: 'tail-mass', base: 0.5, probability: 0.7 };

  it('keeps where enough mass lies at or above the base, equality included', () => {
    expect(accepts(policy, candidate(0, 0, 0, 0.7))).toBe(true);
    expect(accepts(policy, candidate(0.9, 0, 0, 0.69))).toBe(false);
  });

  it('judges a spread law where a sharp one of the same mean passes', () => {
    const rows = goldenCase('threshold_dynamic.json', 'alternatives_tail_mass_and_std_bounds').rows;
    const kept = rows.map((row: { probs: number[]; mean: number }) => {
      const law = { probabilities: Float64Array.from(row.probs) };
      const tailMass = (base: number) => scoreTailMass(law, base);
      return accepts(policy, { classId: 0, score: row.mean, variance: 0, tailMass });
    });
    expect(kept).toEqual([true, true, false]);
  });
});

describe('scoreFloor', () => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  const rule = fc.record({
    kind: fc.constantFrom('fixed' as const, 'variance' as const, 'std' as const),
    base: unit,
    k: fc.double({ min: 0, max: 2, noNaN: true }),
  });

  it('never drops what the rule accepts', () => {
    fc.assert(
      fc.property(rule, unit, unit, (policy, expectation, share) => {
        const score = Math.fround(expectation);
        const variance = share * score * (1 - score);
        if (!accepts(policy, candidate(score, variance))) return;
        expect(score).toBeGreaterThan(Math.fround(scoreFloor(policy, 1).default));
      }),
      { numRuns: 2000 },
    );
  });

  it('never drops what the tail accepts', () => {
    fc.assert(
      fc.property(unit, unit, unit, (base, probability, mass) => {
        fc.pre(probability > 0);
        // The least expectation with this tail: the mass sits exactly on the base, the rest on 0.
        const policy: ThresholdPolicy = { kind: 'tail-mass', base, probability };
        if (mass < probability || base * mass === 0) return;
        expect(base * mass).toBeGreaterThan(scoreFloor(policy, 1).default);
      }),
    );
  });

  it('is near enough to the reach of the rule to be useful', () => {
    expect(scoreFloor(PUBLISHED_THRESHOLD, 80).default).toBeCloseTo(0.4266, 2);
    expect(scoreFloor({ kind: 'fixed', base: 0.25 }, 80)).toEqual({ default: 0.25 });
  });

  it('lists a floor per class and the wanted classes', () => {
    const policy: ThresholdPolicy = { kind: 'per-class', base: 0.5, perClass: new Map([[1, 0.25]]) };
    expect(scoreFloor(policy, 3, [0, 2])).toEqual({
      default: 0.5,
      perClass: Float32Array.from([0.5, 0.25, 0.5]),
      classes: Uint8Array.from([1, 0, 1]),
    });
  });
});

describe('requirements', () => {
  const nothing: Capabilities = {
    scoreVariance: false,
    epistemic: false,
    boxVariance: false,
    distribution: 'none',
    limits: [],
  };

  it('are named per rule', () => {
    expect(thresholdRequirement({ kind: 'fixed', base: 0.5 })).toBe('none');
    expect(thresholdRequirement(PUBLISHED_THRESHOLD)).toBe('score-variance');
    expect(thresholdRequirement({ kind: 'tail-mass', base: 0.5, probability: 0.5 })).toBe(
      'score-distribution',
    );
  });

  it('are refused in words where a model lacks them', () => {
    expect(whyUnavailable('none', nothing)).toBeUndefined();
    expect(whyUnavailable('score-variance', nothing)).toContain('variance of the score');
    expect(whyUnavailable('box-variance', nothing)).toContain('variance of its boxes');
    const moments: Capabilities = { ...nothing, scoreVariance: true };
    expect(whyUnavailable('score-variance', moments)).toBeUndefined();
    expect(whyUnavailable('score-distribution', moments)).toContain('mean and variance alone');
  });
});

describe('conformal', () => {
  // Golden: 19 objects, alpha .1 gives k = 2 and t = .12, which 18 of them reach.
  const matched = [
    0.91, 0.88, 0.42, 0.77, 0.65, 0.93, 0.12, 0.81, 0.58, 0.7, 0.86, 0.35, 0.79, 0.96, 0.62, 0, 0.74, 0.83,
    0.54,
  ];
  const guarantee = { target: 'object-recall', alpha: 0.1, iou: 0.5 } as const;
  const policy: ThresholdPolicy = { kind: 'conformal', base: 0.12, guarantee };

  it('keeps the score that is the threshold, in float32 and as a double: the promise counts it', () => {
    for (const stored of [matched, matched.map(Math.fround)]) {
      const kept = stored.filter((score) => accepts(policy, candidate(score)));
      expect(kept.length / matched.length).toBeCloseTo(0.9473684210526315, 12);
    }
    expect(accepts(policy, candidate(0.1199999))).toBe(false);
  });

  it('keeps all at 0, where nothing could be promised', () => {
    const all: ThresholdPolicy = { ...policy, perClass: new Map([[3, 0]]) };
    expect(accepts(all, candidate(0, 0, 3))).toBe(true);
    expect(accepts(all, candidate(0.11, 0, 1))).toBe(false);
  });

  it('has a floor below its threshold, because a floor drops what equals it', () => {
    expect(scoreFloor(policy, 1).default).toBeLessThan(0.12);
  });

  it('says what it promises and where', () => {
    expect(thresholdReach(policy).text).toBe(
      'promises: misses at most 10 % of the objects (IoU >= 0.5), on pictures like the calibration pictures and no others',
    );
    const precise = { target: 'precision', alpha: 0.25, delta: 0.1, iou: 0.5, slice: 'dusk' } as const;
    expect(thresholdReach({ ...policy, guarantee: precise }).text).toBe(
      "promises: at most 25 % of the boxes are false alarms (IoU < 0.5), with 90 % certainty, on pictures like the calibration pictures of 'dusk' and no others",
    );
  });
});
