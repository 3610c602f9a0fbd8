// Gradients of a convolution as convolutions, which the WebAssembly backend computes fast.
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';
import type { Windows } from './geometry.ts';
import { covered, fit, windowsOf } from './geometry.ts';
import type { KernelCall } from './index.ts';

/**
 * dW[i, j, c, k] = Σ_nhw x[n, s·h + i, s·w + j, c] · dy[n, h, w, k]: a convolution of the pictures, whose channels are
 * the batch, with dy as a kernel that is dilated by the stride.
 * @returns [kh, kw, C, K]
 */
export function filterGradient(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const x = inputs['x'] as Tensor4;
  const dy = inputs['dy'] as Tensor4;
  const filter = attrs?.['filterShape'] as Tensor4['shape'];
  const windows = windowsOf(tf, { input: x.shape, filter }, attrs);
  const { kernel, strides, channels, outChannels } = windows;
  const pictures = covered(tf, x, windows);
  if (kernel[0] === 1 && kernel[1] === 1 && strides[0] === 1 && strides[1] === 1) {
    // Transposed by hand: only a plain product of two matrices takes the fast path.
    const columns = tf.transpose(tf.reshape(pictures, [-1, channels]), [1, 0]);
    return tf.reshape(tf.matMul(columns, tf.reshape(dy, [-1, outChannels])), filter);
  }
  const asBatch = tf.transpose(pictures, [3, 1, 2, 0]) as Tensor4;
  const asKernel = tf.transpose(dy, [1, 2, 0, 3]) as Tensor4;
  const taps = tf.conv2d(asBatch, asKernel, 1, 'valid', 'NHWC', [strides[0], strides[1]]);
  return tf.transpose(taps, [1, 2, 0, 3]);
}

/**
 * Stride 1: a convolution with the kernel turned round. Stride s: rows h ≡ r (mod s) of the padded picture see only
 * the kernel rows ≡ r, so each of the s · s phases is a small convolution, and the phases are interleaved.
 * @returns [N, H, W, C]
 */
export function inputGradient(tf: Tensorflow, { inputs, attrs }: KernelCall): Tensor {
  const dy = inputs['dy'] as Tensor4;
  const filter = inputs['filter'] as Tensor4;
  const windows = windowsOf(
    tf,
    { input: attrs?.['inputShape'] as Tensor4['shape'], filter: filter.shape },
    attrs,
  );
  const turned = tf.transpose(tf.reverse(filter, [0, 1]), [0, 1, 3, 2]) as Tensor4;
  const { strides, begin, sizes, batch, channels } = windows;
  const [rowStride, columnStride] = strides;
  /** Positions of a phase: the padded picture is as long as its last row that counts. */
  const rows = Math.ceil((begin[0] + sizes[0]) / rowStride);
  const columns = Math.ceil((begin[1] + sizes[1]) / columnStride);
  const lines = Array.from({ length: rowStride }, (_, row) => {
    const phases = Array.from({ length: columnStride }, (_, column) =>
      phaseOf(tf, { dy, turned, windows, phase: [row, column], counts: [rows, columns] }),
    );
    // [N, rows, columns, s · C] is the same as [N, rows, columns · s, C].
    return tf.reshape(concatenated(tf, phases, 3), [batch, rows, 1, columns * columnStride * channels]);
  });
  const whole = tf.reshape(concatenated(tf, lines, 2), [
    batch,
    rows * rowStride,
    columns * columnStride,
    channels,
  ]);
  return fit(tf, whole, {
    rows: [-begin[0], sizes[0] + begin[0] - rows * rowStride],
    columns: [-begin[1], sizes[1] + begin[1] - columns * columnStride],
  });
}

interface Phase {
  readonly dy: Tensor4;
  /** The kernel with rows and columns reversed, [kh, kw, K, C]. */
  readonly turned: Tensor4;
  readonly windows: Windows;
  readonly phase: readonly [number, number];
  readonly counts: readonly [number, number];
}

/** dx[q] = Σ_a dy[q − a] · W[r + s·a] along both axes. @returns [N, counts…, C] */
function phaseOf(tf: Tensorflow, { dy, turned, windows, phase, counts }: Phase): Tensor {
  const { kernel, strides, outSizes, batch, channels } = windows;
  const taps = ([0, 1] as const).map((axis) => tapsOf(kernel[axis], strides[axis], phase[axis]));
  const [rows = [], columns = []] = taps;
  if (rows.length === 0 || columns.length === 0) return tf.zeros([batch, ...counts, channels]);
  const wide = fit(tf, dy, {
    rows: [rows.length - 1, counts[0] - outSizes[0]],
    columns: [columns.length - 1, counts[1] - outSizes[1]],
  }) as Tensor4;
  const part = picked(tf, picked(tf, turned, rows, 0), columns, 1) as Tensor4;
  return tf.conv2d(wide, part, 1, 'valid');
}

/** Positions r, r + s, r + 2s … of a kernel axis, as they stand in the reversed kernel, ascending. */
function tapsOf(size: number, stride: number, phase: number): readonly number[] {
  const count = Math.max(Math.ceil((size - phase) / stride), 0);
  return Array.from({ length: count }, (_, tap) => size - 1 - (phase + (count - 1 - tap) * stride));
}

function picked(tf: Tensorflow, x: Tensor, positions: readonly number[], axis: number): Tensor {
  if (positions.length === x.shape[axis]) return x;
  return tf.gather(x, tf.tensor1d([...positions], 'int32'), axis);
}

function concatenated(tf: Tensorflow, parts: readonly Tensor[], axis: number): Tensor {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : tf.concat([...parts], axis);
}
