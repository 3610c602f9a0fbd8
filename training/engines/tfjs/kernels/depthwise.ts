// Gradients of a depthwise convolution: a product and a sum per tap, and a depthwise convolution turned round.
import { channelSums } from '../channels.ts';
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';
import { covered, fit, windowsOf } from './geometry.ts';
import type { KernelCall } from './index.ts';

/** dW[i, j, c, m] = Σ_nhw x[n, s·h + i, s·w + j, c] · dy[n, h, w, c·M + m]. @returns [kh, kw, C, M] */
export function depthwiseFilterGradient(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const x = inputs['x'] as Tensor4;
  const dy = inputs['dy'] as Tensor4;
  const filter = attrs?.['filterShape'] as Tensor4['shape'];
  const windows = windowsOf(tf, { input: x.shape, filter }, attrs, true);
  const { kernel, strides, outSizes, batch, channels, outChannels } = windows;
  const pictures = covered(tf, x, windows);
  const gradients = tf.reshape(dy, [-1, channels, outChannels / channels]);
  const spans = ([0, 1] as const).map((axis) => (outSizes[axis] - 1) * strides[axis] + 1);
  const sums = Array.from({ length: kernel[0] * kernel[1] }, (_, tap) => {
    const start = [0, Math.floor(tap / kernel[1]), tap % kernel[1], 0];
    const seen = tf.slice(pictures, start, [batch, spans[0] ?? 1, spans[1] ?? 1, channels]);
    const thinned = strides.every((stride) => stride === 1)
      ? seen
      : tf.stridedSlice(seen, [0, 0, 0, 0], seen.shape, [1, ...strides, 1]);
    return channelSums(
      tf,
      tf.reshape(tf.mul(tf.reshape(thinned, [-1, channels, 1]), gradients), [-1, outChannels]),
    );
  });
  return tf.reshape(tf.stack(sums), filter);
}

/** Zeros between the gradients, then each channel with its own kernel turned round. @returns [N, H, W, C] */
export function depthwiseInputGradient(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const dy = inputs['dy'] as Tensor4;
  const filter = inputs['filter'] as Tensor4;
  const windows = windowsOf(
    tf,
    { input: attrs?.['inputShape'] as Tensor4['shape'], filter: filter.shape },
    attrs,
    true,
  );
  const { kernel, strides, begin, sizes, batch, channels, outChannels } = windows;
  const apart = spread(tf, dy, strides);
  const [, rows = 0, columns = 0] = apart.shape;
  const before = ([0, 1] as const).map((axis) => kernel[axis] - 1 - begin[axis]);
  const [top = 0, left = 0] = before;
  const wide = fit(tf, apart, {
    rows: [top, sizes[0] + kernel[0] - 1 - top - rows],
    columns: [left, sizes[1] + kernel[1] - 1 - left - columns],
  });
  const turned = tf.reshape(tf.reverse(filter, [0, 1]), [kernel[0], kernel[1], outChannels, 1]);
  const each = tf.depthwiseConv2d(wide as Tensor4, turned as Tensor4, 1, 'valid');
  if (outChannels === channels) return each;
  const grouped = tf.reshape(each, [-1, channels, outChannels / channels]);
  return tf.reshape(tf.sum(grouped, 2), [batch, sizes[0], sizes[1], channels]);
}

/** s − 1 zero rows and columns behind each. [N, h, w, K] → [N, h·s, w·s, K] */
function spread(tf: Tensorflow, x: Tensor4, [rowStride, columnStride]: readonly [number, number]): Tensor {
  const [batch, height, width, channels] = x.shape;
  if (rowStride === 1 && columnStride === 1) return x;
  const behind = (cells: Tensor, stride: number) =>
    tf.pad(cells, [
      [0, 0],
      [0, stride - 1],
      [0, 0],
    ]);
  const columns = behind(tf.reshape(x, [batch * height * width, 1, channels]), columnStride);
  const line = width * columnStride * channels;
  const rows = behind(tf.reshape(columns, [batch * height, 1, line]), rowStride);
  return tf.reshape(rows, [batch, height * rowStride, width * columnStride, channels]);
}
