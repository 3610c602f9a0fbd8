import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHalfBits, toHalfBits } from '#core';
import { createHalfWriter } from '../../../training/features/half-bits.ts';

function narrowed(values: Float32Array) {
  const halves = new Uint16Array(values.length);
  const fits = createHalfWriter().writeInto(halves, values);
  return { halves, fits };
}

describe('whole tensors of halves', () => {
  it('agree with one rounding per number on every half, and on all that lies between two', () => {
    const halves = Array.from({ length: 0x7bff }, (_, bits) => fromHalfBits(bits));
    const between = halves.slice(0, -1).flatMap((low, index) => {
      const middle = (low + halves[index + 1]!) / 2;
      return [low, middle, middle * (1 + 2 ** -20), middle * (1 - 2 ** -20)];
    });
    const values = Float32Array.from([...between, ...between.map((value) => -value)]);
    const { halves: found, fits } = narrowed(values);
    expect(fits).toBe(true);
    const wrong = [...values].findIndex((value, index) => found[index] !== toHalfBits(value));
    expect(wrong === -1 ? 'none' : `${values[wrong]} became ${found[wrong]}`).toBe('none');
  });

  it('agree on any float', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), (value) => {
        expect(narrowed(Float32Array.of(value)).halves[0]).toBe(toHalfBits(value));
      }),
    );
  });

  it('say when something does not fit', () => {
    expect(narrowed(Float32Array.of(65_504, -65_519)).fits).toBe(true);
    for (const value of [65_520, -1e9, Infinity, Number.NaN]) {
      expect(narrowed(Float32Array.of(1, value, 1)).fits).toBe(false);
    }
  });
});
