// Half precision, and bytes of a picture on their way into the network's input.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PreprocessContract } from '#core';
import {
  createHalfReader,
  createInputWriter,
  createLetterbox,
  DEFAULT_FIT,
  fromHalfArray,
  fromHalfBits,
  ModelError,
  toHalfArray,
  toHalfBits,
} from '#core';

describe('half precision', () => {
  it.each([
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [0.333251953125, 0x3555],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [-Infinity, 0xfc00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000], // half way between 0 and the least: to even
    [1.5 * 2 ** -24, 0x0002], // half way again: to even, upwards
    [2 ** -14 - 2 ** -26, 0x0400], // rounds from subnormal up to normal
    [1 + 2 ** -11, 0x3c00], // ties to even
    [1 + 3 * 2 ** -11, 0x3c02],
    [1 + 2 ** -11 + 2 ** -30, 0x3c01], // through float32 this would be a tie and round down
    [2 - 2 ** -12, 0x4000], // carries into the exponent
  ])('%f is 0x%s', (value, bits) => {
    expect(toHalfBits(value)).toBe(bits);
  });

  it('keeps NaN', () => {
    expect(fromHalfBits(toHalfBits(Number.NaN))).toBeNaN();
  });

  it('reads back all 65,536 values', () => {
    for (let bits = 0; bits < 65_536; bits++) {
      const value = fromHalfBits(bits);
      if (!Number.isNaN(value)) expect(toHalfBits(value)).toBe(bits);
    }
  });

  it('takes the nearest value', () => {
    fc.assert(
      fc.property(fc.double({ min: -65504, max: 65504, noNaN: true }), (value) => {
        const bits = toHalfBits(value);
        const error = Math.abs(fromHalfBits(bits) - value);
        for (const neighbour of [bits - 1, bits + 1]) {
          const other = fromHalfBits(neighbour & 0xffff);
          if (Number.isFinite(other)) expect(error).toBeLessThanOrEqual(Math.abs(other - value));
        }
      }),
    );
  });

  it('converts arrays', () => {
    const bits = toHalfArray(Float32Array.from([1, 0.5, -2]));
    expect([...fromHalfArray(bits)]).toEqual([1, 0.5, -2]);
    const target = new Float32Array(3);
    createHalfReader().readInto(target, bits);
    expect([...target]).toEqual([1, 0.5, -2]);
  });
});

const CONTRACT: PreprocessContract = {
  fit: DEFAULT_FIT,
  channels: 'rgb',
  mean: [0, 0, 0],
  std: [255, 255, 255],
  pad: 114,
};
const BYTES: PreprocessContract = { ...CONTRACT, std: [1, 1, 1] };
// 2x1 picture in a 2x4 input: 1 row of padding above, 2 below.
const LETTERBOX = createLetterbox({ width: 2, height: 1 }, { width: 2, height: 4 });
const CONTENT = Uint8Array.from([200, 40, 10, 10, 40, 200]);

describe('writer', () => {
  it('writes planes', () => {
    const writer = createInputWriter(BYTES, { type: 'float32', layout: 'nchw' });
    const target = writer.create(LETTERBOX.input);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    const plane = (a: number, b: number) => [114, 114, a, b, 114, 114, 114, 114];
    expect([...target]).toEqual([...plane(200, 10), ...plane(40, 40), ...plane(10, 200)]);
  });

  it('writes px one after the other', () => {
    const writer = createInputWriter({ ...BYTES, channels: 'bgr' }, { type: 'uint8', layout: 'nhwc' });
    const target = writer.create(LETTERBOX.input);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    const padding = Array(6).fill(114);
    expect([...target]).toEqual([...padding, 10, 40, 200, 200, 40, 10, ...padding, ...padding]);
  });

  it('takes mean and std in the order of the network', () => {
    const contract: PreprocessContract = {
      ...CONTRACT,
      channels: 'bgr',
      mean: [103.53, 116.28, 123.675],
      std: [57.375, 57.12, 58.395],
    };
    const writer = createInputWriter(contract, { type: 'float32', layout: 'nchw' });
    const target = writer.create(LETTERBOX.input);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    expect(target[2]).toBeCloseTo((10 - 103.53) / 57.375, 6); // blue first
    expect(target[8 + 2]).toBeCloseTo((40 - 116.28) / 57.12, 6);
    expect(target[16 + 2]).toBeCloseTo((200 - 123.675) / 58.395, 6);
    expect(target[0]).toBeCloseTo((114 - 103.53) / 57.375, 6);
  });

  it('writes halves that are the nearest to the exact quotient', () => {
    const writer = createInputWriter(CONTRACT, { type: 'float16', layout: 'nchw' });
    const target = writer.create(LETTERBOX.input);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    expect(target).toBeInstanceOf(Uint16Array);
    expect(target[2]).toBe(toHalfBits(200 / 255));
    expect(target[0]).toBe(toHalfBits(114 / 255));
  });

  it('leaves padding alone, so that a canvas is filled once', () => {
    const writer = createInputWriter(BYTES, { type: 'float32', layout: 'nchw' });
    const target = writer.create(LETTERBOX.input);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    const first = [...target];
    writer.writeContentInto(target, Uint8Array.from(CONTENT).fill(1), LETTERBOX);
    writer.writeContentInto(target, CONTENT, LETTERBOX);
    expect([...target]).toEqual(first);
    writer.fillPaddingInto(target, LETTERBOX.input);
    expect([...target].every((value) => value === 114)).toBe(true);
  });

  it('refuses bytes with a mean, and arrays of another size', () => {
    expect(() => createInputWriter(CONTRACT, { type: 'uint8', layout: 'nhwc' })).toThrow(ModelError);
    const writer = createInputWriter(BYTES, { type: 'float32', layout: 'nchw' });
    expect(() => writer.writeContentInto(new Float32Array(23), CONTENT, LETTERBOX)).toThrow(
      '23 elements, expected 24',
    );
    const target = writer.create(LETTERBOX.input);
    expect(() => writer.writeContentInto(target, CONTENT.subarray(1), LETTERBOX)).toThrow(
      '5 elements, expected 6',
    );
  });
});
