// Gradients of a convolution, as convolutions.
import type { Shape } from '#onnx';
import { attributeInt } from '#onnx';
import type { WindowGeometry } from '../attributes.ts';
import { windowGeometry } from '../attributes.ts';
import type { Emitter } from '../emitter.ts';
import type { Rule } from '../reverse.ts';
import { cannotDifferentiate } from '../reverse.ts';

interface Convolution extends WindowGeometry {
  readonly x: string;
  readonly weight: string;
  readonly groups: number;
  /** [N, C, H, W] */
  readonly input: Shape;
  /** [N, K, Ho, Wo] */
  readonly output: Shape;
}

export const convolution: Rule = (node, dy, reverse) => {
  const [x = '', weight = '', bias = ''] = node.input;
  const { write } = reverse;
  const input = write.shape(x);
  if (input.length !== 4) throw cannotDifferentiate(node, `its input has ${input.length} axes, expected 4`);
  const geometry = windowGeometry(node, input.slice(2), write.shape(weight).slice(2));
  const groups = attributeInt(node, 'group') ?? 1;
  const described = { ...geometry, x, weight, groups, input, output: write.shape(dy) };
  if (geometry.dilations.some((dilation) => dilation !== 1)) {
    throw cannotDifferentiate(node, `dilations [${geometry.dilations.join(', ')}], expected 1`);
  }
  if (reverse.wants(weight)) reverse.accumulate(weight, weightGradient(write, dy, described));
  if (bias !== '' && reverse.wants(bias)) {
    const channels = described.output[1] ?? 0;
    reverse.accumulate(
      bias,
      write.emit('ReduceSum', [dy, write.ints([0, 2, 3])], [channels], { keepdims: 0n }),
    );
  }
  if (reverse.wants(x)) reverse.accumulate(x, inputGradient(write, dy, described));
};

/**
 * dW[k, i, j, c] = Σ_nhw dy[n, k, h, w] · x[n, s·h + i − p, s·w + j − p, c] is itself a convolution: the pictures are
 * its channels, dy its kernel, and with the channels c innermost a step of one column is a dilation of C. The runtime
 * then copies runs of k·C values instead of single ones: about as fast as the forward convolution.
 */
function weightGradient(write: Emitter, dy: string, convolution: Convolution): string {
  const { groups, input, output, kernel, strides, begin } = convolution;
  const [batch = 1, channels = 1, height = 1, width = 1] = input;
  const [, filters = 1, outHeight = 1, outWidth = 1] = output;
  const [rows = 1, columns = 1] = kernel;
  const [rowStride = 1, columnStride = 1] = strides;
  const [top = 0, left = 0] = begin;
  const depth = channels / groups;
  // What lies behind the last window takes no part: a negative padding, which is a cut.
  const bottom = rows - 1 + rowStride * (outHeight - 1) + 1 - height - top;
  const right = columns - 1 + columnStride * (outWidth - 1) + 1 - width - left;
  const cut = cutEnd(write, convolution.x, Math.min(bottom, 0), Math.min(right, 0));
  const [, , cutHeight = 1, cutWidth = 1] = write.shape(cut);
  const last = channelsLast(write, cut, groups);
  const flat = write.reshape(last, [1, groups * batch, cutHeight, cutWidth * depth]);
  const kernels = write.transpose(dy, [1, 0, 2, 3]); // [K, N, Ho, Wo]
  const taps = write.emit('Conv', [flat, kernels], [1, filters, rows, columns * depth], {
    dilations: [BigInt(rowStride), BigInt(columnStride * depth)],
    group: BigInt(groups),
    pads: [top, left * depth, Math.max(bottom, 0), Math.max(right, 0) * depth].map(BigInt),
  });
  return write.transpose(write.reshape(taps, [filters, rows, columns, depth]), [0, 3, 1, 2]);
}

/** [N, C, H, W] → [G, N, H, W, C/G]. */
function channelsLast(write: Emitter, x: string, groups: number): string {
  const [batch = 1, channels = 1, height = 1, width = 1] = write.shape(x);
  if (groups === 1) return write.transpose(x, [0, 2, 3, 1]);
  if (groups === channels) return write.transpose(x, [1, 0, 2, 3]);
  return write.transpose(
    write.reshape(x, [batch, groups, channels / groups, height, width]),
    [1, 0, 3, 4, 2],
  );
}

function cutEnd(write: Emitter, x: string, rows: number, columns: number): string {
  if (rows === 0 && columns === 0) return x;
  const [batch = 1, channels = 1, height = 1, width = 1] = write.shape(x);
  const to = [height + rows, width + columns];
  const inputs = [x, write.ints([0, 0]), write.ints(to), write.ints([2, 3])];
  return write.emit('Slice', inputs, [batch, channels, ...to]);
}

/** Stride 1: a convolution with the kernel turned round. Otherwise the transposed convolution. */
function inputGradient(write: Emitter, dy: string, convolution: Convolution): string {
  const { input, output, kernel, strides, begin, groups, weight } = convolution;
  const before = kernel.map((size, axis) => size - 1 - (begin[axis] ?? 0));
  const after = kernel.map(
    (_, axis) => (input[axis + 2] ?? 0) - (output[axis + 2] ?? 0) + (begin[axis] ?? 0),
  );
  const plain = strides.every((stride) => stride === 1) && [...before, ...after].every((pad) => pad >= 0);
  if (plain) {
    return write.emit('Conv', [dy, turned(write, weight, groups)], input, {
      group: BigInt(groups),
      pads: [...before, ...after].map(BigInt),
    });
  }
  return transposedConvolution(write, dy, convolution);
}

/** [K, C/G, kh, kw] → [C, K/G, kh, kw], both spatial axes reversed. */
function turned(write: Emitter, weight: string, groups: number): string {
  const [filters = 1, depth = 1, rows = 1, columns = 1] = write.shape(weight);
  const swapped =
    groups === 1
      ? write.transpose(weight, [1, 0, 2, 3])
      : write.reshape(
          write.transpose(
            write.reshape(weight, [groups, filters / groups, depth, rows, columns]),
            [0, 2, 1, 3, 4],
          ),
          [groups * depth, filters / groups, rows, columns],
        );
  if (rows === 1 && columns === 1) return swapped;
  const far = -1 - Math.max(rows, columns);
  const inputs = [
    swapped,
    write.ints([-1, -1]),
    write.ints([far, far]),
    write.ints([2, 3]),
    write.ints([-1, -1]),
  ];
  return write.emit('Slice', inputs, write.shape(swapped));
}

function transposedConvolution(write: Emitter, dy: string, convolution: Convolution): string {
  const { input, output, kernel, strides, begin, groups, weight } = convolution;
  // The output size of ConvTranspose is s·(Ho − 1) + k − begin − end (+ output padding), and must be H.
  const end = kernel.map(
    (size, axis) =>
      (strides[axis] ?? 1) * ((output[axis + 2] ?? 1) - 1) +
      size -
      (begin[axis] ?? 0) -
      (input[axis + 2] ?? 1),
  );
  return write.emit('ConvTranspose', [dy, weight], input, {
    group: BigInt(groups),
    strides: strides.map(BigInt),
    pads: [...begin, ...end.map((pad) => Math.max(pad, 0))].map(BigInt),
    output_padding: end.map((pad) => BigInt(Math.max(-pad, 0))),
  });
}
