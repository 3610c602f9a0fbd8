// Convolutions: ordinary, depthwise, and in groups.
import { attributeInt } from '#onnx';
import { windowGeometry } from '../../../autodiff/attributes.ts';
import { shiftChannels } from '../channels.ts';
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';
import { channelsLastValue } from '../value.ts';
import type { Lowering } from './types.ts';
import type { Padded } from './windows.ts';
import { padded } from './windows.ts';

export const convolution: Lowering = (node, { tf, plain, channelsLast, shape }) => {
  const [x = '', weight = '', bias = ''] = node.input;
  const [, channels = 1, ...sizes] = shape(x);
  const [, depth = 1, ...kernelSizes] = shape(weight);
  const geometry = windowGeometry(node, sizes, kernelSizes);
  const from = padded(tf, channelsLast(x), geometry, shape(node.output[0] ?? '').slice(2), 0);
  const [rows = 1, columns = 1] = geometry.strides;
  const strides: [number, number] = [rows, columns];
  const groups = attributeInt(node, 'group') ?? 1;
  const kernel = plain(weight) as Tensor4;
  // TensorFlow's depthwise convolution takes one stride for both axes.
  const compute =
    groups === 1 ? ordinary : groups === channels && depth === 1 && rows === columns ? depthwise : grouped;
  const y = compute(tf, { from, kernel, strides, groups });
  return [channelsLastValue(bias === '' ? y : shiftChannels(tf, y, plain(bias)))];
};

interface Convolution {
  readonly from: Padded;
  /** [K, C/G, kh, kw] */
  readonly kernel: Tensor4;
  readonly strides: [number, number];
  readonly groups: number;
}

function ordinary(tf: Tensorflow, { from, kernel, strides }: Convolution): Tensor {
  const filter = tf.transpose(kernel, [2, 3, 1, 0]) as Tensor4;
  return tf.conv2d(from.tensor, filter, strides, from.pad);
}

/** Output channel c·M + m of the file is output m of channel c here. */
function depthwise(tf: Tensorflow, { from, kernel, strides, groups }: Convolution): Tensor {
  const [filters, , height, width] = kernel.shape;
  const split = tf.reshape(kernel, [groups, filters / groups, height, width]);
  const filter = tf.transpose(split, [2, 3, 0, 1]) as Tensor4;
  return tf.depthwiseConv2d(from.tensor, filter, strides, from.pad);
}

function grouped(tf: Tensorflow, { from, kernel, strides, groups }: Convolution): Tensor {
  const pictures = tf.split<Tensor4>(from.tensor, groups, 3);
  const kernels = tf.split<Tensor4>(kernel, groups, 0);
  const parts = pictures.map((tensor, group) => {
    const part = kernels[group];
    if (part === undefined) throw new Error(`group ${group} has no kernel`);
    return ordinary(tf, { from: { ...from, tensor }, kernel: part, strides, groups: 1 });
  });
  return tf.concat(parts, 3);
}
