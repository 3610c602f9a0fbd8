// Block lengths of series whose best one is known, or which have none.
import { describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { blockLength } from '../../../src/evaluate/compare/block-length.ts';

/** x(t) = φ x(t-1) + noise. */
function autoregressive(n: number, phi: number, seed: number): Float64Array {
  const random = createRandom(seed);
  const series = new Float64Array(n);
  let value = random.normal() / Math.sqrt(1 - phi * phi);
  for (let place = 0; place < n; place++) {
    series[place] = value;
    value = phi * value + random.normal();
  }
  return series;
}

describe('blockLength', () => {
  it.each([
    [0.5, 20_000],
    [0.8, 20_000],
    [0.8, 5_000],
    [0.9, 20_000],
  ])('finds the best length of an autoregressive series of φ = %d, n = %d', (phi, n) => {
    // G / g(0) of AR(1): Σ|k|φ^|k| / Σφ^|k| = 2φ / (1 - φ²).
    const best = Math.cbrt(1.5 * ((2 * phi) / (1 - phi * phi)) ** 2 * n);
    const found = [1, 2, 3, 4, 5].map((seed) => blockLength(autoregressive(n, phi, seed)) ?? Number.NaN);
    const middle = found.sort((a, b) => a - b)[2] ?? Number.NaN;
    expect(middle / best).toBeGreaterThan(0.75);
    expect(middle / best).toBeLessThan(1.3);
  });

  it('is short for independent values, and at least a frame', () => {
    const length = blockLength(autoregressive(2000, 0, 7)) ?? Number.NaN;
    expect(length).toBeGreaterThanOrEqual(1);
    expect(length).toBeLessThan(6);
  });

  it('does not depend on the unit or the level', () => {
    const series = autoregressive(500, 0.7, 3);
    const length = blockLength(series) ?? Number.NaN;
    expect(blockLength(series.map((value) => 5 * value + 100))).toBeCloseTo(length, 6);
    expect(blockLength(series.toReversed())).toBeCloseTo(length, 6);
  });

  it('leaves a series that drifts from end to end a handful of blocks', () => {
    for (const n of [200, 2000]) {
      const length = blockLength(Float64Array.from({ length: n }, (_, place) => place)) ?? Number.NaN;
      expect(n / length).toBeLessThan(6);
    }
  });

  it('says nothing of a series that never varies, whose correlation does not die out, or of one frame', () => {
    expect(blockLength(new Float64Array(200).fill(0.1 + 0.2))).toBeUndefined();
    expect(blockLength(Float64Array.from({ length: 200 }, (_, place) => place % 2))).toBeUndefined();
    expect(blockLength(Float64Array.of(1))).toBeUndefined();
    expect(blockLength(new Float64Array(0))).toBeUndefined();
  });
});
