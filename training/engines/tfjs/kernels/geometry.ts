// Where the windows of a convolution lie, and a picture made to fit them.
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import type { KernelCall } from './index.ts';

/** [N, H, W, C] */
type Shape4 = [number, number, number, number];

/** A convolution over `[N, H, W, C]`, along rows and columns in this order. */
export interface Windows {
  readonly batch: number;
  readonly channels: number;
  readonly outChannels: number;
  readonly sizes: readonly [number, number];
  readonly outSizes: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly strides: readonly [number, number];
  /** Rows above, columns to the left. */
  readonly begin: readonly [number, number];
}

/** @param filterShape [kh, kw, C, K], for depthwise [kh, kw, C, multiplier] */
export function windowsOf(
  tf: Tensorflow,
  shapes: { readonly input: Shape4; readonly filter: Shape4 },
  attributes: KernelCall['attrs'],
  depthwise = false,
): Windows {
  const { strides, pad, dimRoundingMode, dataFormat } = attributes as {
    strides: [number, number] | number;
    pad: 'valid' | 'same' | number;
    dimRoundingMode?: 'floor' | 'round' | 'ceil';
    dataFormat?: 'NHWC' | 'NCHW';
  };
  if (dataFormat === 'NCHW') throw new Error('convolutions are differentiated in NHWC only');
  const found = tf.backend_util.computeConv2DInfo(
    shapes.input,
    shapes.filter,
    strides,
    1,
    pad,
    dimRoundingMode,
    depthwise,
  );
  return {
    batch: found.batchSize,
    channels: found.inChannels,
    outChannels: found.outChannels,
    sizes: [found.inHeight, found.inWidth],
    outSizes: [found.outHeight, found.outWidth],
    kernel: [found.filterHeight, found.filterWidth],
    strides: [found.strideHeight, found.strideWidth],
    begin: [found.padInfo.top, found.padInfo.left],
  };
}

/** Rows above and below, columns left and right; a negative number cuts. */
export interface Margins {
  readonly rows: readonly [number, number];
  readonly columns: readonly [number, number];
}

/** Pads [N, H, W, C] with zeros, or cuts it. */
export function fit(tf: Tensorflow, x: Tensor, { rows, columns }: Margins): Tensor {
  const grown = (pair: readonly [number, number]): [number, number] => [
    Math.max(pair[0], 0),
    Math.max(pair[1], 0),
  ];
  const none = [...rows, ...columns].every((margin) => margin === 0);
  if (none) return x;
  const grows = [...rows, ...columns].some((margin) => margin > 0);
  const wide = grows ? tf.pad(x, [[0, 0], grown(rows), grown(columns), [0, 0]]) : x;
  if ([...rows, ...columns].every((margin) => margin >= 0)) return wide;
  const [batch = 0, height = 0, width = 0, channels = 0] = x.shape;
  const start = [0, Math.max(-rows[0], 0), Math.max(-columns[0], 0), 0];
  return tf.slice(wide, start, [
    batch,
    height + rows[0] + rows[1],
    width + columns[0] + columns[1],
    channels,
  ]);
}

/** The picture that all windows together cover, without border beyond the last. */
export function covered(tf: Tensorflow, x: Tensor, windows: Windows): Tensor {
  const after = (axis: 0 | 1) =>
    (windows.outSizes[axis] - 1) * windows.strides[axis] +
    windows.kernel[axis] -
    windows.sizes[axis] -
    windows.begin[axis];
  return fit(tf, x, { rows: [windows.begin[0], after(0)], columns: [windows.begin[1], after(1)] });
}
