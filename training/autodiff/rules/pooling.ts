// Gradients of pooling and of enlarging.
import type { NodeProto, Shape } from '#onnx';
import { attributeInt, attributeInts } from '#onnx';
import { attributeText, windowGeometry } from '../attributes.ts';
import { elementsOf } from '../emitter.ts';
import type { Rule } from '../reverse.ts';
import { cannotDifferentiate } from '../reverse.ts';

/** Each gradient goes to where the maximum was found. */
export const maxPool: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const pooled = write.shape(dy);
  const { kernel, strides, dilations, begin, end } = geometryOf(node, shape);
  const [, indices = ''] = write.emitAll('MaxPool', [x], [pooled, pooled], {
    kernel_shape: kernel.map(BigInt),
    strides: strides.map(BigInt),
    dilations: dilations.map(BigInt),
    pads: [...begin, ...end].map(BigInt),
    ceil_mode: BigInt(attributeInt(node, 'ceil_mode') ?? 0),
  });
  const zeros = write.emit('Expand', [write.scalar(0), write.ints([elementsOf(shape)])], [elementsOf(shape)]);
  const flat = [elementsOf(pooled)];
  const inputs = [zeros, write.reshape(indices, flat), write.reshape(dy, flat)];
  const scattered = write.emit('ScatterElements', inputs, [elementsOf(shape)], {
    axis: 0n,
    reduction: 'add',
  });
  reverse.accumulate(x, write.reshape(scattered, shape));
};

function geometryOf(node: NodeProto, shape: Shape) {
  return windowGeometry(node, shape.slice(2), attributeInts(node, 'kernel_shape') ?? []);
}

/** dy / count, spread over each window: a transposed convolution with ones, channel by channel. */
export const averagePool: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const [, channels = 1] = shape;
  const { kernel, strides, begin } = geometryOf(node, shape);
  if (shape.length !== 4 || (attributeInt(node, 'ceil_mode') ?? 0) !== 0) {
    throw cannotDifferentiate(node, 'expected two spatial axes and ceil_mode 0');
  }
  const [, , ...pooled] = write.shape(dy);
  const includePads = attributeInt(node, 'count_include_pad') === 1;
  const counts = pooled.map((size, axis) =>
    Array.from({ length: size }, (_, position) => {
      const first = position * (strides[axis] ?? 1) - (begin[axis] ?? 0);
      const last = first + (kernel[axis] ?? 1);
      return includePads ? last - first : Math.min(last, shape[axis + 2] ?? 0) - Math.max(first, 0);
    }),
  );
  const shares = Float32Array.from(
    (counts[0] ?? []).flatMap((rows) => (counts[1] ?? []).map((c) => 1 / (rows * c))),
  );
  const shared = write.emit('Mul', [dy, write.floats([1, 1, ...pooled], shares)], write.shape(dy));
  const end = kernel.map(
    (size, axis) =>
      (strides[axis] ?? 1) * ((pooled[axis] ?? 1) - 1) + size - (begin[axis] ?? 0) - (shape[axis + 2] ?? 1),
  );
  const ones = write.floats(
    [channels, 1, ...kernel],
    new Float32Array(channels * elementsOf(kernel)).fill(1),
  );
  const spread = write.emit('ConvTranspose', [shared, ones], shape, {
    group: BigInt(channels),
    strides: strides.map(BigInt),
    pads: [...begin, ...end.map((pad) => Math.max(pad, 0))].map(BigInt),
    output_padding: end.map((pad) => BigInt(Math.max(-pad, 0))),
  });
  reverse.accumulate(x, spread);
};

/** Enlarging by whole factors, each value becoming a block: the gradient is the sum over the block. */
export const resize: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const from = write.shape(x);
  const to = write.shape(dy);
  const factors = from.map((size, axis) => (to[axis] ?? 0) / size);
  if (
    attributeText(node, 'mode') !== 'nearest' ||
    !from.every((size, axis) => isBlock(node, size, factors[axis] ?? 0))
  ) {
    throw cannotDifferentiate(
      node,
      `${attributeText(node, 'mode')} from [${from.join(', ')}] to [${to.join(', ')}], expected nearest by whole factors`,
    );
  }
  const kernel = factors.slice(2).map(BigInt);
  const mean = write.emit('AveragePool', [dy], from, { kernel_shape: kernel, strides: kernel });
  reverse.accumulate(x, write.emit('Mul', [mean, write.scalar(elementsOf(factors))], from));
};

/** Whether output i reads input ⌊i / factor⌋ throughout (ONNX Resize, nearest). */
function isBlock(node: NodeProto, size: number, factor: number): boolean {
  if (!Number.isInteger(factor)) return false;
  const mode = attributeText(node, 'coordinate_transformation_mode');
  const rounding = attributeText(node, 'nearest_mode');
  return Array.from({ length: size * factor }, (_, index) => {
    const position = mode === 'asymmetric' ? index / factor : (index + 0.5) / factor - 0.5;
    const known = mode === 'asymmetric' || mode === 'half_pixel' || mode === 'pytorch_half_pixel';
    const source = Math.min(Math.max(round(position, rounding), 0), size - 1);
    return (known || factor === 1) && source === Math.floor(index / factor);
  }).every((same) => same);
}

function round(position: number, mode: string | undefined): number {
  if (mode === 'floor') return Math.floor(position);
  if (mode === 'ceil') return Math.ceil(position);
  return mode === 'round_prefer_ceil' ? Math.floor(position + 0.5) : Math.ceil(position - 0.5);
}
