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
