// Pooling, and enlarging by repetition.
import { ModelError } from '#core';
import type { NodeProto } from '#onnx';
import { attributeInt, attributeInts } from '#onnx';
import { windowGeometry } from '../../../autodiff/attributes.ts';
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';
import { channelsLastValue } from '../value.ts';
import type { Lowering, Scope } from './types.ts';
import { padded } from './windows.ts';

const LOWEST = -3.4028234663852886e38;

function describe(node: NodeProto, { shape }: Scope) {
  const sizes = shape(node.input[0] ?? '').slice(2);
  const geometry = windowGeometry(node, sizes, attributeInts(node, 'kernel_shape') ?? []);
  const outSizes = shape(node.output[0] ?? '').slice(2);
  if (sizes.length !== 2 || geometry.dilations.some((dilation) => dilation !== 1)) {
    throw new ModelError(`node ${node.name} (${node.opType}) is dilated or has not two spatial axes`, {
      hint: 'the tfjs engine has no such pooling; use engine=onnx',
    });
  }
  const [kernel, strides] = [geometry.kernel, geometry.strides].map(([rows = 1, columns = 1]) => [
    rows,
    columns,
  ]);
  return {
    sizes,
    geometry,
    outSizes,
    kernel: kernel as [number, number],
    strides: strides as [number, number],
  };
}

export const maxPool: Lowering = (node, scope) => {
  const { tf, channelsLast } = scope;
  const { geometry, outSizes, kernel, strides } = describe(node, scope);
  const { tensor, pad } = padded(tf, channelsLast(node.input[0] ?? ''), geometry, outSizes, LOWEST);
  return [channelsLastValue(tf.maxPool(tensor, kernel, strides, pad))];
};

/** The mean over whole windows of a picture padded with zeros, times window size over the cells that count. */
export const averagePool: Lowering = (node, scope) => {
  const { tf, channelsLast } = scope;
  const { sizes, geometry, outSizes, kernel, strides } = describe(node, scope);
  const { begin } = geometry;
  const [rows = [], columns = []] = outSizes.map((outSize, axis) => {
    const last = (outSize - 1) * (strides[axis] ?? 1) + (kernel[axis] ?? 1);
    return [begin[axis] ?? 0, Math.max(last - (sizes[axis] ?? 0) - (begin[axis] ?? 0), 0)];
  });
  const wide = tf.pad(channelsLast(node.input[0] ?? ''), [
    [0, 0],
    rows as [number, number],
    columns as [number, number],
    [0, 0],
  ]);
  const mean = tf.avgPool(wide as Tensor4, kernel, strides, 'valid');
  if (attributeInt(node, 'count_include_pad') === 1) return [channelsLastValue(mean)];
  const [down = [], across = []] = outSizes.map((outSize, axis) =>
    Array.from({ length: outSize }, (_, position) => {
      const first = position * (strides[axis] ?? 1) - (begin[axis] ?? 0);
      const size = kernel[axis] ?? 1;
      return size / (Math.min(first + size, sizes[axis] ?? 0) - Math.max(first, 0));
    }),
  );
  const factors = down.flatMap((row) => across.map((column) => row * column));
  return [channelsLastValue(tf.mul(mean, tf.tensor(factors, [1, down.length, across.length, 1])))];
};

/** Each value becomes a block. Not the library's resize: its gradient is wrong on one backend. */
export const resize: Lowering = (node, { tf, channelsLast, shape }) => {
  const [x = ''] = node.input;
  const to = shape(node.output[0] ?? '');
  const [, , rows = 1, columns = 1] = shape(x).map((size, axis) => (to[axis] ?? size) / size);
  const enlarge = tf.customGrad((...inputs) => {
    const [given] = inputs as [Tensor4];
    return {
      value: repeated(tf, given, [rows, columns]),
      gradFunc: (dy: Tensor) => blockSums(tf, dy as Tensor4, [rows, columns]),
    };
  });
  return [channelsLastValue(enlarge(channelsLast(x)))];
};

type Factors = readonly [number, number];

/** [N, H, W, C] → [N, H·rows, W·columns, C] */
function repeated(tf: Tensorflow, x: Tensor4, [rows, columns]: Factors): Tensor {
  const [batch, height, width, channels] = x.shape;
  const copies = (cells: Tensor, count: number) =>
    count === 1 ? cells : tf.concat(new Array<Tensor>(count).fill(cells), 1);
  const wide = copies(tf.reshape(x, [batch * height * width, 1, channels]), columns);
  const tall = copies(tf.reshape(wide, [batch * height, 1, width * columns * channels]), rows);
  return tf.reshape(tall, [batch, height * rows, width * columns, channels]);
}

function blockSums(tf: Tensorflow, dy: Tensor4, [rows, columns]: Factors): Tensor {
  const [batch, height, width, channels] = dy.shape;
  const sum = (cells: Tensor, count: number) => tf.split(cells, count, 1).reduce((a, b) => tf.add(a, b));
  const flat = sum(tf.reshape(dy, [(batch * height) / rows, rows, width * channels]), rows);
  const small = sum(
    tf.reshape(flat, [(batch * height * width) / rows / columns, columns, channels]),
    columns,
  );
  return tf.reshape(small, [batch, height / rows, width / columns, channels]);
}
