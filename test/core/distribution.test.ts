// Distributions over bins, against golden vectors and against what must hold for any law.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  binMean,
  binTailMass,
  binVariance,
  excessVariance,
  scoreMean,
  scoreQuantile,
  scoreStd,
  scoreTailMass,
  scoreVariance,
  sideVariancePx,
  softmaxInto,
  twoHotVariance,
} from '#core';
import { golden, goldenCase, goldenRows } from '../support/golden.ts';

function softmax(logits: readonly number[]): Float64Array {
  const target = new Float64Array(logits.length);
  softmaxInto(target, Float64Array.from(logits), 0, 1, logits.length);
  return target;
}

const law = fc
  .array(fc.double({ min: -30, max: 30, noNaN: true }), { minLength: 2, maxLength: 24 })
  .map((logits) => ({ probabilities: softmax(logits) }));

describe('box sides', () => {
  const sides = [...golden('dfl_box.json').values()].filter((entry) => entry.expect.expectation_bins);

  it('has golden cases', () => expect(sides.length).toBeGreaterThan(5));

  it.each(sides.map((entry) => [entry.id, entry]))('%s', (_, { logits, expect: expected }) => {
    const probabilities = softmax(logits);
    const mean = binMean(probabilities, 0, 1, probabilities.length);
    expect(mean).toBeCloseTo(expected.expectation_bins, 12);
    const variance = binVariance(probabilities, 0, 1, probabilities.length, mean);
    expect(variance).toBeCloseTo(expected.variance_bins2, 11);
    for (const [bin, probability] of probabilities.entries()) {
      expect(probability).toBeCloseTo(expected.probs[bin], 13);
    }
  });

  it.each([8, 32])('variance in px at stride %i', (stride) => {
    const entry = goldenCase('dfl_box.json', `box_decode_with_variance_stride${stride}`);
    for (const [side, logits] of entry.side_logits_ltrb.entries()) {
      const probabilities = softmax(logits);
      const mean = binMean(probabilities, 0, 1, 8);
      const variance = sideVariancePx(binVariance(probabilities, 0, 1, 8, mean), stride);
      expect(variance).toBeCloseTo(entry.expect.var_xyxy_px2[side], 8);
    }
  });

  it('reads a strided slice as it reads a dense one', () => {
    const logits = [0.3, -1, 2, 0.5];
    const spread = new Float32Array(40).fill(99);
    for (const [bin, logit] of logits.entries()) spread[7 + bin * 9] = logit;
    const target = new Float64Array(4);
    softmaxInto(target, spread, 7, 9, 4);
    const dense = softmax(logits.map(Math.fround));
    expect([...target]).toEqual([...dense]);
  });
});

describe('scores', () => {
  it.each(
    [...golden('dfl_score.json').values()]
      .filter((entry) => entry.expect?.probs)
      .map((entry) => [entry.id, entry]),
  )('%s', (_, { logits, expect: expected }) => {
    const probabilities = softmax(logits);
    expect(scoreMean({ probabilities })).toBeCloseTo(expected.expectation, 13);
    expect(scoreVariance({ probabilities })).toBeCloseTo(expected.variance, 13);
    expect(scoreStd({ probabilities })).toBeCloseTo(expected.std, 13);
  });

  it('knows that the well-known example is 0.5, not 0.7', () => {
    const { probs, expect: expected } = goldenCase('dfl_score.json', 'seed_example_is_not_0.7');
    expect(scoreMean({ probabilities: Float64Array.from(probs) })).toBeCloseTo(expected.expectation, 15);
    expect(scoreVariance({ probabilities: Float64Array.from(probs) })).toBeCloseTo(0.075, 15);
  });

  it('has the stated largest floor per number of bins', () => {
    for (const row of goldenCase('dfl_score.json', 'variance_scale_of_score_distributions').rows) {
      const between = 0.5 / (row.bins - 1);
      expect(twoHotVariance(between, row.bins)).toBeCloseTo(row.max_two_hot_floor, 15);
    }
  });

  it('takes quantiles from the cumulative sum', () => {
    const probabilities = Float64Array.from([0.1, 0.2, 0.4, 0.2, 0.1]);
    expect(scoreQuantile({ probabilities }, 0)).toBe(0);
    expect(scoreQuantile({ probabilities }, 0.1)).toBe(0);
    expect(scoreQuantile({ probabilities }, 0.5)).toBe(0.5);
    expect(scoreQuantile({ probabilities }, 0.95)).toBe(1);
    expect(scoreQuantile({ probabilities }, 1)).toBe(1);
  });

  it('counts an anchor that equals the base', () => {
    const probabilities = Float64Array.from([0.1, 0.2, 0.3, 0.4]);
    expect(scoreTailMass({ probabilities }, 2 / 3)).toBeCloseTo(0.7, 15);
    expect(scoreTailMass({ probabilities }, 2 / 3 + 1e-6)).toBeCloseTo(0.4, 15);
    expect(scoreTailMass({ probabilities }, 0)).toBe(1);
    expect(scoreTailMass({ probabilities }, 1.01)).toBe(0);
    expect(binTailMass(Float32Array.from([9, 0.5, 9, 0.5]), 1, 2, 2, 0.5)).toBe(0.5);
  });

  it.each(goldenRows('threshold_dynamic.json', 'alternatives_tail_mass_and_std_bounds'))(
    'tail mass of %s',
    (_, row) => {
      const probabilities = Float64Array.from(row.probs);
      expect(scoreTailMass({ probabilities }, 0.5)).toBeCloseTo(row['P(S>=0.5)'], 13);
      expect(scoreMean({ probabilities })).toBeCloseTo(row.mean, 13);
    },
  );
});

describe('any law', () => {
  it('sums to 1, is shifted by no constant, and overflows for no logits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -700, max: 700, noNaN: true }), { minLength: 2, maxLength: 20 }),
        fc.double({ min: -1e4, max: 1e4, noNaN: true }),
        (logits, shift) => {
          const plain = softmax(logits);
          const moved = softmax(logits.map((logit) => logit + shift));
          expect(plain.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
          for (const [bin, probability] of plain.entries()) expect(moved[bin]).toBeCloseTo(probability, 8);
        },
      ),
    );
  });

  it('gives NaN for a NaN logit, not a plausible law', () => {
    expect(softmax([0, Number.NaN, 1]).every(Number.isNaN)).toBe(true);
  });

  it('has a variance between the floor of its bins and E (1 - E)', () => {
    fc.assert(
      fc.property(law, (score) => {
        const mean = scoreMean(score);
        const variance = scoreVariance(score);
        expect(variance).toBeLessThanOrEqual(mean * (1 - mean) + 1e-12);
        expect(variance).toBeGreaterThanOrEqual(twoHotVariance(mean, score.probabilities.length) - 1e-12);
        expect(excessVariance(score)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('has a tail that falls, and obeys Markov', () => {
    fc.assert(
      fc.property(law, fc.double({ min: 0.01, max: 1, noNaN: true }), (score, base) => {
        const tail = scoreTailMass(score, base);
        expect(tail).toBeGreaterThanOrEqual(scoreTailMass(score, base + 0.1) - 1e-12);
        expect(tail).toBeLessThanOrEqual(scoreMean(score) / base + 1e-6);
      }),
    );
  });

  it('with all mass on two neighbours has no excess', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 0, max: 8 }),
        (right, bin) => {
          const probabilities = new Float64Array(10);
          probabilities[bin] = 1 - right;
          probabilities[bin + 1] = right;
          expect(excessVariance({ probabilities })).toBeLessThan(1e-12);
        },
      ),
    );
  });
});
