// Constants in half precision: round to nearest even, clamped to the largest half, gradual below the smallest normal.
import { fromHalfBits, toHalfBits } from '#core';
import type { TensorProto } from '#onnx';
import { ElementType, tensor, tensorValues } from '#onnx';

export const LARGEST_HALF = 65504;
const LARGEST_HALF_BITS = 0x7bff;

/** Half bits; what lies beyond ±65504, infinities included, becomes ±65504, NaN stays NaN. */
export function clampedHalfBits(value: number): number {
  const bits = toHalfBits(value);
  return (bits & 0x7fff) === 0x7c00 ? (bits & 0x8000) | LARGEST_HALF_BITS : bits;
}

/** A float32 constant as a float16 one of that name. */
export function halfTensor(name: string, stored: TensorProto): TensorProto {
  const bits = Uint16Array.from(tensorValues(stored) as Float32Array, clampedHalfBits);
  return tensor(name, stored.dims.map(Number), bits, ElementType.FLOAT16);
}

/** Whether a value, infinities included, lies beyond the halves. */
export function exceedsHalf(stored: TensorProto): boolean {
  return (tensorValues(stored) as Float32Array).some((value) => Math.abs(value) > LARGEST_HALF);
}

/**
 * Whether a single number loses more than half precision does by itself: one near 0 is often there to keep a divisor
 * from being 0, and must not become 0.
 */
export function vanishesInHalf(stored: TensorProto): boolean {
  const values = tensorValues(stored) as Float32Array;
  const [value = 0] = values;
  if (values.length !== 1 || value === 0) return false;
  return Math.abs(fromHalfBits(clampedHalfBits(value)) - value) > Math.abs(value) * 2 ** -10;
}
