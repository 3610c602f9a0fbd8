// One shape rule per operator, as the ONNX operator specification states them.
import type { ModelError } from '#core';
import type { NodeProto } from './proto/onnx_pb.ts';
import { selectionRules } from './selection-rules.ts';

export type Shape = readonly number[];

/** What a rule may ask of the node that it is for. */
export interface NodeShapes {
  readonly node: NodeProto;
  readonly opset: number;
  has(index: number): boolean;
  input(index: number): Shape;
  /** Values of a small integer input; undefined where they are not known. */
  integers(index: number): readonly number[] | undefined;
  /** Whether the values of such an input are floating-point numbers by type. */
  isFloat(index: number): boolean;
  int(name: string, fallback: number): number;
  ints(name: string): readonly number[] | undefined;
  text(name: string, fallback: string): string;
  fail(why: string): ModelError;
}

export type ShapeRule = (context: NodeShapes) => readonly Shape[];

const same: ShapeRule = (context) => [context.input(0)];
const broadcast: ShapeRule = (context) => [
  context.node.input.map((_, index) => context.input(index)).reduce((a, b) => broadcastShapes(a, b, context)),
];

const SAME_SHAPE = [
  ...['Relu', 'LeakyRelu', 'HardSwish', 'HardSigmoid', 'Sigmoid', 'Tanh', 'Softplus', 'Softmax', 'Identity'],
  ...[
    'Dropout',
    'Clip',
    'Exp',
    'Log',
    'Sqrt',
    'Neg',
    'Abs',
    'Erf',
    'Elu',
    'Floor',
    'Ceil',
    'Reciprocal',
    'Cast',
  ],
  ...['Not', 'LogSoftmax', 'Softsign', 'Mish', 'Round', 'Sign'],
];
const BROADCAST = ['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Max', 'Min', 'Sum', 'PRelu', 'Where', 'Equal', 'Less'];
const REDUCTIONS = ['ReduceMean', 'ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceL2'];

export const shapeRules: Readonly<Record<string, ShapeRule>> = {
  ...selectionRules,
  ...Object.fromEntries(SAME_SHAPE.map((name) => [name, same])),
  ...Object.fromEntries([...BROADCAST, 'Greater', 'And', 'Or'].map((name) => [name, broadcast])),
  ...Object.fromEntries(REDUCTIONS.map((name) => [name, reduce])),
  Conv: convolution,
  ConvTranspose: transposedConvolution,
  BatchNormalization: (context) => [
    context.input(0),
    ...context.node.output.slice(1).map(() => context.input(1)),
  ],
  MaxPool: (context) => context.node.output.map(() => pooled(context)),
  AveragePool: (context) => [pooled(context)],
  GlobalAveragePool: (context) => [context.input(0).map((size, axis) => (axis < 2 ? size : 1))],
  GlobalMaxPool: (context) => [context.input(0).map((size, axis) => (axis < 2 ? size : 1))],
  Concat: concatenated,
  Split: split,
  Slice: sliced,
  Pad: padded,
  Resize: resized,
  Upsample: resized,
  Reshape: reshaped,
  Flatten: flattened,
  Squeeze: squeezed,
  Unsqueeze: unsqueezed,
  Transpose: (context) => [permutation(context).map((axis) => context.input(0)[axis] ?? 0)],
  Expand: (context) => [broadcastShapes(context.input(0), needed(context, 1), context)],
  Shape: (context) => [[context.input(0).slice(...shapeRange(context)).length]],
  Gather: gathered,
  MatMul: multiplied,
  Gemm: (context) => {
    const [a, b] = [context.input(0), context.input(1)];
    return [[a[context.int('transA', 0)] ?? 0, b[1 - context.int('transB', 0)] ?? 0]];
  },
  ConstantOfShape: (context) => [needed(context, 0)],
};

/** Axes that Shape reads: all, or from `start` to before `end` since opset 15. */
export function shapeRange(context: NodeShapes): [start: number, end: number] {
  const rank = context.input(0).length;
  return [context.int('start', 0), context.int('end', rank)];
}

function needed(context: NodeShapes, index: number): readonly number[] {
  const values = context.integers(index);
  if (values === undefined)
    throw context.fail(`the values of input ${context.node.input[index]} are not known`);
  return values;
}

function broadcastShapes(a: Shape, b: Shape, context: NodeShapes): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const sizeA = a[axis - rank + a.length] ?? 1;
    const sizeB = b[axis - rank + b.length] ?? 1;
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) {
      throw context.fail(`[${a.join(', ')}] and [${b.join(', ')}] do not broadcast`);
    }
    return sizeA === 1 ? sizeB : sizeA;
  });
}

function wrap(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** Begin and end padding of each spatial axis, `auto_pad` resolved. */
export function spatialPads(
  context: Pick<NodeShapes, 'text' | 'ints'>,
  sizes: Shape,
  kernel: Shape,
  strides: Shape,
  dilations: Shape,
): { readonly begin: Shape; readonly end: Shape } {
  const automatic = context.text('auto_pad', 'NOTSET');
  if (automatic === 'SAME_UPPER' || automatic === 'SAME_LOWER') {
    const total = sizes.map((size, axis) => {
      const stride = strides[axis] ?? 1;
      const reach = ((kernel[axis] ?? 1) - 1) * (dilations[axis] ?? 1) + 1;
      return Math.max(0, (Math.ceil(size / stride) - 1) * stride + reach - size);
    });
    const small = total.map((pad) => Math.floor(pad / 2));
    const large = total.map((pad, axis) => pad - (small[axis] ?? 0));
    return automatic === 'SAME_UPPER' ? { begin: small, end: large } : { begin: large, end: small };
  }
  const pads = automatic === 'VALID' ? undefined : context.ints('pads');
  const rank = sizes.length;
  return {
    begin: pads?.slice(0, rank) ?? sizes.map(() => 0),
    end: pads?.slice(rank) ?? sizes.map(() => 0),
  };
}

function windowed(context: NodeShapes, kernel: Shape): Shape {
  const sizes = context.input(0).slice(2);
  const strides = context.ints('strides') ?? sizes.map(() => 1);
  const dilations = context.ints('dilations') ?? sizes.map(() => 1);
  const { begin, end } = spatialPads(context, sizes, kernel, strides, dilations);
  const round = context.int('ceil_mode', 0) === 1 ? Math.ceil : Math.floor;
  return sizes.map((size, axis) => {
    const [stride, pad] = [strides[axis] ?? 1, begin[axis] ?? 0];
    const reach = ((kernel[axis] ?? 1) - 1) * (dilations[axis] ?? 1) + 1;
    const count = round((size + pad + (end[axis] ?? 0) - reach) / stride) + 1;
    // With ceil_mode a window must still begin inside the input or its left padding.
    return round === Math.ceil && (count - 1) * stride >= size + pad ? count - 1 : count;
  });
}

function convolution(context: NodeShapes): readonly Shape[] {
  const weight = context.input(1);
  return [[context.input(0)[0] ?? 0, weight[0] ?? 0, ...windowed(context, weight.slice(2))]];
}

function transposedConvolution(context: NodeShapes): readonly Shape[] {
  const weight = context.input(1);
  const sizes = context.input(0).slice(2);
  if (context.ints('output_shape') || context.text('auto_pad', 'NOTSET') !== 'NOTSET') {
    throw context.fail('only padding in numbers is known here');
  }
  const rank = sizes.length;
  const pads = context.ints('pads') ?? new Array<number>(2 * rank).fill(0);
  const spatial = sizes.map((size, axis) => {
    const reach = ((weight[axis + 2] ?? 1) - 1) * (context.ints('dilations')?.[axis] ?? 1) + 1;
    const stride = context.ints('strides')?.[axis] ?? 1;
    const extra = context.ints('output_padding')?.[axis] ?? 0;
    return stride * (size - 1) + extra + reach - (pads[axis] ?? 0) - (pads[axis + rank] ?? 0);
  });
  return [[context.input(0)[0] ?? 0, (weight[1] ?? 0) * context.int('group', 1), ...spatial]];
}

function pooled(context: NodeShapes): Shape {
  return [...context.input(0).slice(0, 2), ...windowed(context, context.ints('kernel_shape') ?? [])];
}

function concatenated(context: NodeShapes): readonly Shape[] {
  const first = context.input(0);
  const axis = wrap(context.int('axis', 0), first.length);
  const total = context.node.input.reduce((sum, _, index) => sum + (context.input(index)[axis] ?? 0), 0);
  return [first.map((size, position) => (position === axis ? total : size))];
}

function split(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axis = wrap(context.int('axis', 0), shape.length);
  const count = context.node.output.length;
  const total = shape[axis] ?? 0;
  const chunk = Math.ceil(total / count);
  const sizes =
    context.ints('split') ??
    (context.has(1) ? needed(context, 1) : undefined) ??
    Array.from({ length: count }, (_, index) => Math.min(chunk, total - index * chunk));
  return sizes.map((size) => shape.map((old, position) => (position === axis ? size : old)));
}

/** What a Slice takes, as its inputs or attributes state it. */
export interface SliceBounds {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly axes?: readonly number[] | undefined;
  readonly steps?: readonly number[] | undefined;
}

/** Axis, first element, count and step of each sliced axis, clamped as the operator does. */
export function sliceParts(shape: Shape, { starts, ends, axes, steps }: SliceBounds) {
  return (axes ?? starts.map((_, index) => index)).map((given, index) => {
    const axis = wrap(given, shape.length);
    const size = shape[axis] ?? 0;
    const step = steps?.[index] ?? 1;
    const clamp = (value = 0, low = 0) =>
      Math.min(Math.max(value < 0 ? value + size : value, low), step > 0 ? size : size - 1);
    const start = clamp(starts[index]);
    const end = clamp(ends[index], step > 0 ? 0 : -1);
    return { axis, start, step, count: Math.max(0, Math.ceil((end - start) / step)) };
  });
}

function sliced(context: NodeShapes): readonly Shape[] {
  const parts = sliceParts(context.input(0), {
    starts: context.ints('starts') ?? needed(context, 1),
    ends: context.ints('ends') ?? needed(context, 2),
    axes: context.ints('axes') ?? (context.has(3) ? needed(context, 3) : undefined),
    steps: context.has(4) ? needed(context, 4) : undefined,
  });
  const counts = new Map(parts.map(({ axis, count }) => [axis, count]));
  return [context.input(0).map((size, axis) => counts.get(axis) ?? size)];
}

function padded(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const pads = context.ints('pads') ?? needed(context, 1);
  const axes = context.has(3)
    ? needed(context, 3).map((axis) => wrap(axis, shape.length))
    : shape.map((_, axis) => axis);
  const result = [...shape];
  axes.forEach((axis, index) => {
    result[axis] = (result[axis] ?? 0) + (pads[index] ?? 0) + (pads[index + axes.length] ?? 0);
  });
  return [result];
}

function resized(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  if (context.ints('axes') || context.text('keep_aspect_ratio_policy', 'stretch') !== 'stretch') {
    throw context.fail('only all axes, each by its own scale, are known here');
  }
  if (context.has(3)) return [needed(context, 3)];
  const scales = needed(context, context.node.opType === 'Upsample' || context.opset < 11 ? 1 : 2);
  return [shape.map((size, axis) => Math.floor(size * (scales[axis] ?? 1)))];
}

function reshaped(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const asked = needed(context, 1);
  const copied = asked.map((size, axis) =>
    size === 0 && context.int('allowzero', 0) === 0 ? (shape[axis] ?? 0) : size,
  );
  const total = product(shape);
  const known = copied.reduce((count, size) => (size === -1 ? count : count * size), 1);
  const result = copied.map((size) => (size === -1 ? total / known : size));
  if (product(result) !== total) {
    throw context.fail(`[${shape.join(', ')}] cannot become [${asked.join(', ')}]`);
  }
  return [result];
}

function flattened(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axis = wrap(context.int('axis', 1), shape.length);
  return [[product(shape.slice(0, axis)), product(shape.slice(axis))]];
}

function axesOf(context: NodeShapes): readonly number[] | undefined {
  return context.ints('axes') ?? (context.has(1) ? needed(context, 1) : undefined);
}

function squeezed(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axes = axesOf(context)?.map((axis) => wrap(axis, shape.length));
  return [shape.filter((size, axis) => (axes === undefined ? size !== 1 : !axes.includes(axis)))];
}

function unsqueezed(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axes = axesOf(context) ?? [];
  const rank = shape.length + axes.length;
  const added = new Set(axes.map((axis) => wrap(axis, rank)));
  const rest = [...shape];
  return [Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (rest.shift() ?? 1)))];
}

function permutation(context: NodeShapes): readonly number[] {
  const rank = context.input(0).length;
  return context.ints('perm') ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
}

function reduce(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axes = axesOf(context)?.map((axis) => wrap(axis, shape.length)) ?? shape.map((_, axis) => axis);
  if (context.int('keepdims', 1) === 1) return [shape.map((size, axis) => (axes.includes(axis) ? 1 : size))];
  return [shape.filter((_, axis) => !axes.includes(axis))];
}

function gathered(context: NodeShapes): readonly Shape[] {
  const shape = context.input(0);
  const axis = wrap(context.int('axis', 0), shape.length);
  return [[...shape.slice(0, axis), ...context.input(1), ...shape.slice(axis + 1)]];
}

function multiplied(context: NodeShapes): readonly Shape[] {
  const [a, b] = [context.input(0), context.input(1)];
  if (a.length < 2 || b.length < 2) throw context.fail('vectors are not multiplied here');
  const batch = broadcastShapes(a.slice(0, -2), b.slice(0, -2), context);
  return [[...batch, a.at(-2) ?? 0, b.at(-1) ?? 0]];
}

function product(shape: Shape): number {
  return shape.reduce((count, size) => count * size, 1);
}
