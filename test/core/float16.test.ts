// Half floats by moving bits are those of the plain rules, for every half and for what lies between them.
import { describe, expect, it } from 'vitest';
import { fromHalfArray, fromHalfBits, toHalfArray, toHalfBits } from '#core';

const every = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

/** Place of the first number that is another; -1 where there is none. */
function firstOther<T extends Float32Array | Uint16Array>(found: T, expected: T): number {
  if (found.length !== expected.length) return found.length;
  return found.findIndex((value, at) => !Object.is(value, expected[at]));
}

describe('arrays of half floats', () => {
  it('are read as each half is', () => {
    expect(firstOther(fromHalfArray(every), Float32Array.from(every, fromHalfBits))).toBe(-1);
  });

  it('are written as each number is: on a half, on a tie, beside one, and where there is none', () => {
    const values = fromHalfArray(every);
    const between = values.map((value, at) => (value + (values[at + 1] ?? 0)) / 2);
    const bits = new Uint32Array(between.buffer);
    const beside = [1, -1].map((step) => new Float32Array(bits.map((bit) => bit + step).buffer));
    const edges = [65_504, 65_519.9, 65_520, 65_536, 1e30, -1e30, 1e-30, 2 ** -14, 2 ** -25, -0];
    for (const set of [values, between, ...beside, Float32Array.from(edges)]) {
      expect(firstOther(toHalfArray(set), Uint16Array.from(set, toHalfBits))).toBe(-1);
    }
  });
});
