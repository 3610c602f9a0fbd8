// Gradient of maximum pooling in plain loops: the backend's own loses it in every window without a positive value.
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';
import type { KernelCall } from './index.ts';

/** Each gradient goes to the first maximum of its window, row by row. @returns [N, H, W, C] */
export function maxPoolGradient(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const x = inputs['input'] as Tensor4;
  const dy = inputs['dy'] as Tensor4;
  const { filterSize, strides, pad, dimRoundingMode } = attrs as {
    filterSize: [number, number] | number;
    strides: [number, number] | number;
    pad: 'valid' | 'same' | number;
    dimRoundingMode?: 'floor' | 'round' | 'ceil';
  };
  const windows = tf.backend_util.computePool2DInfo(x.shape, filterSize, strides, 1, pad, dimRoundingMode);
  const { inHeight, inWidth, inChannels, outHeight, outWidth, padInfo } = windows;
  const values = x.dataSync<'float32'>();
  const gradients = dy.dataSync<'float32'>();
  const result = new Float32Array(values.length);
  let from = 0;
  for (let cell = 0; cell < windows.batchSize * outHeight * outWidth; cell++) {
    const picture = Math.floor(cell / (outHeight * outWidth));
    const top = (Math.floor(cell / outWidth) % outHeight) * windows.strideHeight - padInfo.top;
    const left = (cell % outWidth) * windows.strideWidth - padInfo.left;
    const [bottom, right] = [top + windows.filterHeight, left + windows.filterWidth];
    const rows: readonly [number, number] = [Math.max(top, 0), Math.min(bottom, inHeight)];
    const columns: readonly [number, number] = [Math.max(left, 0), Math.min(right, inWidth)];
    const start = picture * inHeight * inWidth;
    for (let channel = 0; channel < inChannels; channel++) {
      const at = firstMaximum(values, {
        start,
        rows,
        columns,
        width: inWidth,
        channels: inChannels,
        channel,
      });
      result[at]! += gradients[from++]!;
    }
  }
  return tf.tensor(result, x.shape, 'float32');
}

interface Window {
  /** First cell of the picture. */
  readonly start: number;
  readonly rows: readonly [number, number];
  readonly columns: readonly [number, number];
  readonly width: number;
  readonly channels: number;
  readonly channel: number;
}

function firstMaximum(values: Float32Array, window: Window): number {
  const { start, rows, columns, width, channels, channel } = window;
  let at = (start + rows[0] * width + columns[0]) * channels + channel;
  let most = values[at]!;
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let column = columns[0]; column < columns[1]; column++) {
      const index = (start + row * width + column) * channels + channel;
      const value = values[index]!;
      if (value > most) {
        most = value;
        at = index;
      }
    }
  }
  return at;
}
