// Whether two Gaussians hesitate as the bins do that they were split from.
import { describe, expect, it } from 'vitest';
import { bimodality, createRandom, mixtureBimodality, splitFit } from '#core';
import { golden } from '../support/golden.ts';

const laws = [...golden('mixture.json').values()].filter((entry) => entry.probs);

describe('the flag of a mixture', () => {
  it.each(laws.map((entry) => [entry.id, entry]))(
    'is that of its bins: %s',
    (_, { probs, expect: expected }) => {
      const { mixture } = splitFit({ probabilities: Float64Array.from(probs) });
      const found = mixtureBimodality(mixture, probs.length);
      expect(found.bimodal).toBe(expected.bimodal);
      expect(found.betweenFraction).toBeCloseTo(expected.split_stats.between_fraction, 9);
    },
  );

  it('agrees with the bins on 95 of 100 laws of two humps', () => {
    const random = createRandom(3);
    let agreed = 0;
    let bimodal = 0;
    for (let trial = 0; trial < 2000; trial++) {
      const [low, high] = [random.between(0, 0.4), random.between(0.3, 1)];
      const [narrow, wide] = [random.between(0.03, 0.12), random.between(0.03, 0.2)];
      const share = random.next();
      const hump = (place: number, middle: number, width: number) =>
        Math.exp(-((place - middle) ** 2) / (2 * width ** 2)) / width;
      const heights = Float64Array.from(
        { length: 10 },
        (_, bin) => share * hump(bin / 9, low, narrow) + (1 - share) * hump(bin / 9, high, wide),
      );
      const total = heights.reduce((a, b) => a + b);
      const law = { probabilities: heights.map((height) => height / total) };
      const wanted = bimodality(law).bimodal;
      if (wanted) bimodal++;
      if (mixtureBimodality(splitFit(law).mixture).bimodal === wanted) agreed++;
    }
    expect(bimodal).toBeGreaterThan(400);
    expect(bimodal).toBeLessThan(1600);
    expect(agreed / 2000).toBeGreaterThan(0.95);
  });

  it('is down where there is one part, or none to tell apart', () => {
    const one = { weight: 1, means: [0.4, 0.4], variances: [0.01, 0.01] } as const;
    const close = { weight: 0.5, means: [0.4, 0.5], variances: [1e-6, 1e-6] } as const;
    expect(mixtureBimodality(one).bimodal).toBe(false);
    // Apart by all their variance, but within a bin of each other.
    expect(mixtureBimodality(close).betweenFraction).toBeGreaterThan(0.99);
    expect(mixtureBimodality(close).bimodal).toBe(false);
  });
});
