// Two-component fits keep their moments; bimodality and feasible heads, against golden vectors.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bimodality,
  meanVarianceHead,
  mixtureHead,
  mixtureMean,
  mixtureTailMass,
  mixtureVariance,
  scoreMean,
  scoreVariance,
  splitFit,
} from '#core';
import { golden, goldenRows } from '../support/golden.ts';

const laws = [...golden('mixture.json').values()].filter((entry) => entry.probs);

describe.each(laws.map((entry) => [entry.id, entry]))('%s', (_, { probs, expect: expected }) => {
  const distribution = { probabilities: Float64Array.from(probs) };

  it('splits where the golden fit does', () => {
    const fit = splitFit(distribution);
    expect(fit.cut ?? null).toBe(expected.split_fit.cut);
    expect(fit.between).toBeCloseTo(expected.split_fit.between, 13);
    expect(fit.mixture.weight).toBeCloseTo(expected.split_fit.w[0], 13);
    for (const side of [0, 1] as const) {
      expect(fit.mixture.means[side]).toBeCloseTo(expected.split_fit.mu[side], 13);
      expect(fit.mixture.variances[side]).toBeCloseTo(expected.split_fit.var[side], 13);
    }
  });

  it('keeps expectation and variance', () => {
    const { mixture } = splitFit(distribution);
    expect(mixtureMean(mixture)).toBeCloseTo(expected.mean, 13);
    expect(mixtureVariance(mixture)).toBeCloseTo(expected.variance, 13);
  });

  it('is bimodal or not as the golden case says', () => {
    const found = bimodality(distribution);
    expect(found.bimodal).toBe(expected.bimodal);
    expect(found.peaks).toEqual(expected.peaks);
    expect(found.valleyRatio).toBeCloseTo(expected.valley_ratio, 13);
    expect(found.betweenFraction).toBeCloseTo(expected.split_stats.between_fraction, 12);
  });
});

describe('splitFit', () => {
  it('keeps the moments of any law', () => {
    const weights = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(weights, (raw) => {
        const total = raw.reduce((sum, weight) => sum + weight, 0);
        fc.pre(total > 1e-3);
        const distribution = { probabilities: Float64Array.from(raw, (weight) => weight / total) };
        const { mixture } = splitFit(distribution);
        expect(mixtureMean(mixture)).toBeCloseTo(scoreMean(distribution), 10);
        expect(mixtureVariance(mixture)).toBeCloseTo(scoreVariance(distribution), 10);
      }),
    );
  });
});

describe('heads', () => {
  it.each(goldenRows('mixture.json', 'mean_variance_head'))('%s', (_, row) => {
    const head = meanVarianceHead(row.raw_mean, row.raw_var);
    expect(head.mean).toBeCloseTo(row.mean, 14);
    expect(head.variance).toBeCloseTo(row['bounded_var_sigmoid_times_m(1-m)'], 14);
  });

  it.each(goldenRows('mixture.json', 'two_component_head'))('%s', (_, row) => {
    const head = mixtureHead(row.raw);
    expect([head.weight, 1 - head.weight][0]).toBeCloseTo(row.w[0], 14);
    for (const side of [0, 1] as const) {
      expect(head.means[side]).toBeCloseTo(row.mu[side], 14);
      expect(head.variances[side]).toBeCloseTo(row.var[side], 14);
    }
    expect(mixtureMean(head)).toBeCloseTo(row.mean, 13);
    expect(mixtureVariance(head)).toBeCloseTo(row.variance, 13);
  });

  it('give ordered means and feasible variances for any raw numbers', () => {
    const raw = fc.double({ min: -30, max: 30, noNaN: true });
    fc.assert(
      fc.property(fc.tuple(raw, raw, raw, raw, raw), (channels) => {
        const head = mixtureHead(channels);
        const mean = mixtureMean(head);
        expect(head.means[0]).toBeLessThanOrEqual(head.means[1]);
        expect(mixtureVariance(head)).toBeLessThanOrEqual(mean * (1 - mean) + 1e-12);
      }),
    );
  });
});

describe('mixtureTailMass', () => {
  const standard = { weight: 1, means: [0.5, 0.5], variances: [0.01, 0.01] } as const;

  it.each([
    [0.5, 0.5],
    [0.6, 0.15865525393145707],
    [0.4, 0.8413447460685429],
    [0.75, 0.006209665325776132], // 2.5 sigma: where series and fraction meet
    [0.8, 0.0013498980316300933],
    [1.0, 2.8665157187919333e-7],
  ])('above %f of N(0.5, 0.1²)', (base, expected) => {
    expect(mixtureTailMass(standard, base) / expected).toBeCloseTo(1, 10);
  });

  it('treats a part without variance as an atom that counts at its place', () => {
    const atoms = { weight: 0.3, means: [0.2, 0.8], variances: [0, 0] } as const;
    expect(mixtureTailMass(atoms, 0.8)).toBeCloseTo(0.7, 15);
    expect(mixtureTailMass(atoms, 0.81)).toBe(0);
    expect(mixtureTailMass(atoms, 0)).toBe(1);
  });
});
