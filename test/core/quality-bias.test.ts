// The first bias of the quality layer puts the expectation at 0.01 whatever the number of bins.
import { expect, it } from 'vitest';
import { qualityBiasInit } from '#core';

it.each([2, 3, 10, 16, 33])('a law over %i bins starts at an expectation of 0.01', (bins) => {
  const weights = Array.from(qualityBiasInit(bins), Math.exp);
  const total = weights.reduce((a, b) => a + b, 0);
  const expectation = weights.reduce((sum, weight, bin) => sum + (weight / total) * (bin / (bins - 1)), 0);
  expect(expectation).toBeCloseTo(0.01, 6);
  expect(weights).toHaveLength(bins);
  expect(weights[0]! / total).toBeGreaterThan(0.97);
});
