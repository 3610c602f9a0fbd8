// Splits of variance and entropy over stochastic passes, against golden vectors.
import { describe, expect, it } from 'vitest';
import { qualityBiasInit, scoreMean, softmaxInto, splitEntropy, splitVariance } from '#core';
import { golden, goldenCase } from '../support/golden.ts';

describe('variance', () => {
  it('of score distributions splits into aleatoric and epistemic', () => {
    const { expect: expected } = goldenCase('mc_dropout.json', 'score_distribution_total_variance');
    const split = splitVariance(expected.means, expected.variances);
    expect(split.mean).toBeCloseTo(expected.mean, 12);
    expect(split.aleatoric).toBeCloseTo(expected.aleatoric_mean_variance, 12);
    expect(split.epistemic).toBeCloseTo(expected['epistemic_variance_of_means_1/T'], 12);
    expect(split.total).toBeCloseTo(expected.total_variance, 12);
  });

  it('of box sides adds up to that of the mixture, with 1 / T and not 1 / (T − 1)', () => {
    const {
      boxes,
      variances,
      expect: expected,
    } = goldenCase('mc_dropout.json', 'box_mixture_versus_bayesian_fusion');
    for (let side = 0; side < 4; side++) {
      const split = splitVariance(
        boxes.map((box: number[]) => box[side]),
        variances.map((variance: number[]) => variance[side]),
      );
      expect(split.mean).toBeCloseTo(expected.mean[side], 11);
      expect(split.aleatoric).toBeCloseTo(expected.aleatoric[side], 11);
      expect(split.epistemic).toBeCloseTo(expected['epistemic_1/M'][side], 11);
      expect(split.total).toBeCloseTo(expected.mixture_variance_exact[side], 11);
      expect(split.total).not.toBeCloseTo(expected.mixture_variance_reference[side], 3);
    }
  });

  const scores = [...golden('mc_dropout.json').values()].filter(({ id }) => id.startsWith('sigmoid_score'));
  it.each(scores.map((entry) => [entry.id, entry]))('%s', (_, { passes, expect: expected }) => {
    const bernoulli = passes.map((p: number) => p * (1 - p));
    const split = splitVariance(passes, bernoulli);
    expect(split.epistemic).toBeCloseTo(expected['variance_between_passes_1/T'], 12);
    expect(split.aleatoric).toBeCloseTo(expected.mean_bernoulli_variance, 12);
    expect(split.total).toBeCloseTo(expected.bernoulli_variance_of_mean, 12);
    const nats = splitEntropy(passes.map((p: number) => [p, 1 - p]));
    expect(nats.total).toBeCloseTo(expected.total_entropy_nats, 12);
    expect(nats.aleatoric).toBeCloseTo(expected.aleatoric_mean_entropy, 12);
    expect(nats.epistemic).toBeCloseTo(expected.mutual_information, 12);
  });
});

it('splits the entropy of classes', () => {
  const { passes, expect: expected } = goldenCase('mc_dropout.json', 'softmax_3class');
  const nats = splitEntropy(passes);
  expect(nats.total).toBeCloseTo(expected.total, 11);
  expect(nats.aleatoric).toBeCloseTo(expected.aleatoric, 11);
  expect(nats.epistemic).toBeCloseTo(expected.mutual_information, 11);
});

it.each([2, 5, 10, 50])('a fresh law over %i bins starts at E = 0.01', (bins) => {
  const probabilities = new Float64Array(bins);
  softmaxInto(probabilities, qualityBiasInit(bins), 0, 1, bins);
  expect(scoreMean({ probabilities })).toBeCloseTo(0.01, 6);
  expect(probabilities[0]).toBeGreaterThan(0.97);
});
