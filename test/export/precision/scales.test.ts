// Arithmetic of 8-bit scales by hand: where 0 lies, what a channel's scale is, when a bias overflows.
import { describe, expect, it } from 'vitest';
import {
  leastWeightScales,
  quantiseBias,
  quantiseWeight,
  roundHalfToEven,
  roundingShift,
  signedScale,
  unsignedScale,
} from '../../../export/precision/scales.ts';

describe('scales of activations', () => {
  it('spread 256 levels over the range and put 0 on one of them', () => {
    expect(unsignedScale(-1, 1.55)).toEqual({ scale: Math.fround(0.01), zeroPoint: 100 });
    expect(unsignedScale(0, 255)).toEqual({ scale: 1, zeroPoint: 0 });
  });

  it('stretch a range that lies on one side, so that 0 stays exact', () => {
    expect(unsignedScale(10, 51)).toEqual({ scale: Math.fround(0.2), zeroPoint: 0 });
    expect(unsignedScale(-51, -10)).toEqual({ scale: Math.fround(0.2), zeroPoint: 255 });
  });

  it('take 1 where a tensor is always 0', () => {
    expect(unsignedScale(0, 0)).toEqual({ scale: 1, zeroPoint: 0 });
    expect(signedScale(0, 0)).toEqual({ scale: 1, zeroPoint: 0 });
  });

  it('are symmetric over the larger side for int8', () => {
    expect(signedScale(-1, 12.7)).toEqual({ scale: Math.fround(0.1), zeroPoint: 0 });
    expect(signedScale(-25.4, 3)).toEqual({ scale: Math.fround(0.2), zeroPoint: 0 });
  });

  it('round halves to even, as QuantizeLinear does', () => {
    expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, -2.6].map(roundHalfToEven)).toEqual([0, 2, 2, 0, -2, 2, -3]);
  });
});

describe('weights', () => {
  const values = Float32Array.of(1, -2, 0.5, 0.25, 127, 63.5); // [3, 2]

  it('have a scale for every output channel of a convolution', () => {
    const { values: stored, scales } = quantiseWeight(values, { dims: [3, 2], axis: 0 }, 8);
    expect([...scales]).toEqual([2 / 127, 0.5 / 127, 1].map(Math.fround));
    expect([...stored]).toEqual([64, -127, 127, 64, 127, 64]);
  });

  it('have a scale for every second axis of a transposed one', () => {
    const { scales } = quantiseWeight(values, { dims: [3, 2, 1], axis: 1 }, 8);
    expect([...scales]).toEqual([1, 63.5 / 127].map(Math.fround));
  });

  it('stay within 63 with 7 bits', () => {
    const { values: stored, scales } = quantiseWeight(values, { dims: [3, 2], axis: 0 }, 7);
    expect(scales[0]).toBe(Math.fround(2 / 63));
    expect(Math.max(...stored.map(Math.abs))).toBe(63);
  });

  it('of a dead channel take scale 1 and level 0', () => {
    const { values: stored, scales } = quantiseWeight(new Float32Array(2), { dims: [1, 2], axis: 0 }, 8);
    expect([[...scales], [...stored]]).toEqual([[1], [0, 0]]);
  });
});

describe('the shift that rounded weights cause', () => {
  it('is their error times the mean of the channel that they read, by groups too', () => {
    const weights = Float32Array.of(0.3, 1.2, -0.4, 2.1); // [2, 2, 1, 1]
    const rounded = { values: Int8Array.of(0, 1, 0, 2), scales: Float32Array.of(1, 1) };
    const dense = roundingShift(weights, rounded, [2, 2, 1, 1], Float64Array.of(10, 100));
    expect(dense[0]).toBeCloseTo(-0.3 * 10 - 0.2 * 100, 4);
    expect(dense[1]).toBeCloseTo(0.4 * 10 - 0.1 * 100, 4);
    const depthwise = roundingShift(
      weights,
      { ...rounded, scales: Float32Array.of(1, 1, 1, 1) },
      [4, 1, 1, 1],
      Float64Array.of(1, 2, 3, 4),
    );
    expect([...depthwise].map((value) => Math.round(value * 100) / 100)).toEqual([-0.3, -0.4, 1.2, -0.4]);
  });
});

describe('biases', () => {
  it('are counted in steps of input scale · weight scale', () => {
    const { values, scales } = quantiseBias(Float32Array.of(1, -0.3), 0.5, Float32Array.of(0.25, 0.125));
    expect([...scales]).toEqual([0.125, 0.0625]);
    expect([...values]).toEqual([8, -5]);
  });

  it('stay inside 32 bits: a channel of almost no weight takes a coarser scale', () => {
    const bias = Float32Array.of(100, 1);
    const least = leastWeightScales(bias, 0.01);
    const weight = Float32Array.of(1e-9, 1);
    const { scales } = quantiseWeight(weight, { dims: [2, 1], axis: 0 }, 8, least);
    const { values } = quantiseBias(bias, 0.01, scales);
    expect(Math.abs(values[0]! * 0.01 * scales[0]! - 100)).toBeLessThan(1e-3);
    expect(Math.abs(values[0]!)).toBeLessThan(2 ** 31 - 1);
    expect(scales[1]).toBe(Math.fround(1 / 127));
  });
});
