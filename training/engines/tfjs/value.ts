// A tensor of the graph as it is held: in the order of axes of the file, or with the channels last.
import type { Shape } from '#onnx';
import type { Tensor, Tensorflow } from './tensorflow.ts';

/** A type and not an interface: TensorFlow.js looks for tensors in plain objects. */
export type Value = {
  readonly tensor: Tensor;
  /** Axis 1 of the file stands last: [N, C, H, W] is held as [N, H, W, C]. */
  readonly channelsLast: boolean;
};

/** With fewer axes there is nothing to move. */
const LEAST_RANK = 3;

export function plainTensor(tf: Tensorflow, { tensor, channelsLast }: Value): Tensor {
  if (!channelsLast) return tensor;
  const { rank } = tensor;
  return tf.transpose(tensor, [0, rank - 1, ...axesFrom(1, rank - 1)]);
}

export function channelsLastTensor(tf: Tensorflow, { tensor, channelsLast }: Value): Tensor {
  const { rank } = tensor;
  if (channelsLast || rank < LEAST_RANK) return tensor;
  return tf.transpose(tensor, [0, ...axesFrom(2, rank), 1]);
}

/** @param tensor with the channels in its last axis */
export function channelsLastValue(tensor: Tensor): Value {
  return { tensor, channelsLast: tensor.rank >= LEAST_RANK };
}

export function plainValue(tensor: Tensor): Value {
  return { tensor, channelsLast: false };
}

/** Where an axis of the file stands. */
export function heldAxis({ channelsLast }: Value, axis: number, shape: Shape): number {
  if (!channelsLast || axis === 0) return axis;
  return axis === 1 ? shape.length - 1 : axis - 1;
}

/** Values brought into one order with as many axes as the longest, so that they broadcast as the file means it. */
export function aligned(tf: Tensorflow, values: readonly Value[]) {
  const rank = Math.max(...values.map(({ tensor }) => tensor.rank));
  const channelsLast = values.some((value) => value.channelsLast);
  const tensors = values.map((value) => {
    if (value.channelsLast && value.tensor.rank === rank) return value.tensor;
    const plain = plainTensor(tf, value);
    if (!channelsLast) return plain;
    const ones = new Array<number>(rank - plain.rank).fill(1);
    const long = ones.length === 0 ? plain : tf.reshape(plain, [...ones, ...plain.shape]);
    return channelsLastTensor(tf, plainValue(long));
  });
  return { tensors, channelsLast };
}

function axesFrom(start: number, end: number): number[] {
  return Array.from({ length: Math.max(end - start, 0) }, (_, index) => start + index);
}
