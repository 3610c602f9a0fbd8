// Thresholds from counted magnitudes, on distributions whose answers are known.
import { describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { MagnitudeHistogram } from '../../../export/precision/histogram.ts';

function filled(...parts: readonly ArrayLike<number>[]): MagnitudeHistogram {
  const histogram = new MagnitudeHistogram();
  for (const part of parts) histogram.add(Float32Array.from(part));
  return histogram;
}

const evenly = (count: number, most: number) =>
  Array.from({ length: count }, (_, index) => ((index + 1) / count) * most);

describe('percentile', () => {
  it('leaves out the rarest magnitudes, of either sign', () => {
    const values = evenly(10_000, 10).map((value, index) => (index % 2 ? -value : value));
    expect(filled(values).percentile(90)).toBeCloseTo(9, 1);
    expect(filled(values).percentile(100)).toBeCloseTo(10, 1);
  });

  it('is the same whether the largest value comes first or last', () => {
    const [small, large] = [evenly(9_990, 1), evenly(10, 64)];
    const first = filled(large, small).percentile(99.8);
    const last = filled(small, large).percentile(99.8);
    expect(first).toBeCloseTo(1, 1);
    expect(Math.abs(first - last)).toBeLessThan(64 / 1000);
  });

  it('is 0 where everything is', () => {
    expect(filled(new Float32Array(10)).percentile(99)).toBe(0);
  });

  it('refuses what is not finite', () => {
    expect(() => filled([1, Number.NaN])).toThrow(RangeError);
    expect(() => filled([1, Number.POSITIVE_INFINITY])).toThrow(RangeError);
  });
});

describe('least divergence', () => {
  it('keeps all of an even distribution', () => {
    expect(filled(evenly(200_000, 8)).leastDivergence()).toBeCloseTo(8, 1);
  });

  it('clips a single far value off a bell', () => {
    const random = createRandom(7);
    const bell = Array.from({ length: 100_000 }, () => {
      const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
      return radius * Math.cos(2 * Math.PI * random.next());
    });
    const threshold = filled(bell, [400]).leastDivergence();
    expect(threshold).toBeGreaterThan(2);
    expect(threshold).toBeLessThan(100);
  });
});
