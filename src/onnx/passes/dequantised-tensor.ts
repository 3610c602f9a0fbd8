// Integers of a quantised constant back to real numbers: (q − zero point) · scale.
import { ModelError } from '#core';
import { tensor } from '../builder.ts';
import type { TensorProto } from '../proto/onnx_pb.ts';
import type { ConstantValue } from './constant-value.ts';

export interface Dequantisation {
  readonly quantised: ConstantValue;
  /** One value, or one for each index along `axis`. */
  readonly scale: ArrayLike<number>;
  /** As many as the scales or one; absent is 0. */
  readonly zeroPoint?: ConstantValue | undefined;
  readonly axis: number;
}

/**
 * Float32 initializer; the product is rounded once, from the double.
 * @throws ModelError when scales or zero points are neither one nor one per index of the axis
 */
export function dequantisedTensor(name: string, parts: Dequantisation): TensorProto {
  const { quantised, scale, zeroPoint } = parts;
  const { dims, values } = quantised;
  const axis = parts.axis < 0 ? parts.axis + dims.length : parts.axis;
  const channels = dims[axis] ?? 1;
  const zeros = zeroPoint ? Float64Array.from(zeroPoint.values as ArrayLike<number>, Number) : [0];
  expectOneOrChannels(quantised.root, 'scales', scale.length, channels);
  expectOneOrChannels(quantised.root, 'zero points', zeros.length, channels);
  const inner = dims.slice(axis + 1).reduce((count, dim) => count * dim, 1);
  const real = new Float32Array(values.length);
  for (let index = 0; index < real.length; index++) {
    const channel = Math.floor(index / inner) % channels;
    const zero = zeros[zeros.length === 1 ? 0 : channel]!;
    real[index] = (Number(values[index]) - zero) * scale[scale.length === 1 ? 0 : channel]!;
  }
  return tensor(name, dims, real);
}

function expectOneOrChannels(name: string, what: string, found: number, channels: number): void {
  if (found === 1 || found === channels) return;
  throw new ModelError(`quantised tensor ${name} has ${found} ${what}, expected 1 or ${channels}`, {
    hint: 'block-wise quantisation is not known here; export the model again in float32',
  });
}
