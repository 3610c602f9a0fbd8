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
  const taps = tapsOf(tf, filter);
  const { strides, begin, sizes, batch, channels } = windows;
  const [rowStride, columnStride] = strides;
  /** Positions of a phase: the padded picture is as long as its last row that counts. */
  const rows = Math.ceil((begin[0] + sizes[0]) / rowStride);
  const columns = Math.ceil((begin[1] + sizes[1]) / columnStride);
  const lines = Array.from({ length: rowStride }, (_, row) => {
    const phases = Array.from({ length: columnStride }, (_, column) =>
      phaseOf(tf, { dy, taps, windows, phase: [row, column], counts: [rows, columns] }),
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
  /** The kernel by tap, row by row, each [1, K · C]. */
  readonly taps: readonly Tensor[];
  readonly windows: Windows;
  readonly phase: readonly [number, number];
  readonly counts: readonly [number, number];
}

/** dx[q] = Σ_a dy[q − a] · W[r + s·a] along both axes. @returns [N, counts…, C] */
function phaseOf(tf: Tensorflow, { dy, taps, windows, phase, counts }: Phase): Tensor {
  const { kernel, strides, outSizes, batch, channels, outChannels } = windows;
  const [rows, columns] = [0, 1].map((axis) =>
    positionsOf(kernel[axis] ?? 1, strides[axis] ?? 1, phase[axis] ?? 0),
  );
  if (!rows?.length || !columns?.length) return tf.zeros([batch, ...counts, channels]);
  const wide = fit(tf, dy, {
    rows: [rows.length - 1, counts[0] - outSizes[0]],
    columns: [columns.length - 1, counts[1] - outSizes[1]],
  }) as Tensor4;
  const seen = rows.flatMap((row) => columns.flatMap((column) => taps[row * kernel[1] + column] ?? []));
  const part = tf.reshape(concatenated(tf, seen, 0), [rows.length, columns.length, outChannels, channels]);
  return tf.conv2d(wide, part as Tensor4, 1, 'valid');
}

/** Positions r, r + s, r + 2s … of a kernel axis, the last first: the kernel turned round. */
function positionsOf(size: number, stride: number, phase: number): readonly number[] {
  const count = Math.max(Math.ceil((size - phase) / stride), 0);
  return Array.from({ length: count }, (_, tap) => phase + (count - 1 - tap) * stride);
}

/** As pieces, which are put together by copying whole runs; the backend's reversal moves value by value. */
function tapsOf(tf: Tensorflow, filter: Tensor4): readonly Tensor[] {
  const [rows, columns, channels, outChannels] = filter.shape;
  const swapped = tf.transpose(tf.reshape(filter, [rows * columns, channels, outChannels]), [0, 2, 1]);
  return tf.split(tf.reshape(swapped, [rows * columns, outChannels * channels]), rows * columns, 0);
}

function concatenated(tf: Tensorflow, parts: readonly Tensor[], axis: number): Tensor {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : tf.concat([...parts], axis);
}
