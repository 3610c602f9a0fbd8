// Shapes of the feature maps of a convolutional graph, worked out from weights and the size of the picture: files often
// leave them out. Only what trunks of detectors are made of is known; elsewhere the shape stays open.
import type { GraphView } from '../graph.ts';
import { attributeInt, attributeInts, viewGraph } from '../graph.ts';
import type { ModelProto, NodeProto } from '../proto/onnx_pb.ts';
import { tensorNumbers } from '../tensor.ts';

type Shape = readonly number[];
type Shapes = Map<string, Shape>;
type ShapeRule = (
  view: GraphView,
  node: NodeProto,
  input: Shape,
  shapes: Shapes,
) => readonly Shape[] | undefined;

/**
 * @param known shapes of the inputs, `[N, C, H, W]`
 * @returns static shapes by tensor name; tensors that could not be worked out are absent
 */
export function mapShapes(model: ModelProto, known: ReadonlyMap<string, Shape>): ReadonlyMap<string, Shape> {
  const view = viewGraph(model);
  const shapes: Shapes = new Map(known);
  for (const node of view.graph.node) {
    const made = shapesOf(view, node, shapes);
    node.output.forEach((name, index) => {
      const shape = made?.[index] ?? declared(view, name);
      if (shape) shapes.set(name, shape);
    });
  }
  return shapes;
}

function declared(view: GraphView, name: string): Shape | undefined {
  const shape = view.shape(name);
  return shape?.every((axis): axis is number => typeof axis === 'number' && axis > 0) ? shape : undefined;
}

function shapesOf(view: GraphView, node: NodeProto, shapes: Shapes): readonly Shape[] | undefined {
  const rule = RULES[node.opType];
  const input = shapes.get(node.input[0] ?? '') ?? declared(view, node.input[0] ?? '');
  if (rule) return input ? rule(view, node, input, shapes) : rule(view, node, [], shapes);
  return undefined;
}

const same: ShapeRule = (_view, node, input) => (input.length > 0 ? node.output.map(() => input) : undefined);

/** Broadcasting; an open operand (attention's) is taken to be as large as the map that it is joined with. */
const joined: ShapeRule = (view, node, _input, shapes) => {
  const operands = node.input.map((name) => shapes.get(name) ?? declared(view, name));
  return operands.some((shape) => shape !== undefined) ? broadcast(operands, node, view) : undefined;
};

function broadcast(shapes: readonly (Shape | undefined)[], node: NodeProto, view: GraphView) {
  const operands = shapes.filter((shape) => shape !== undefined);
  const open = shapes.length > operands.length;
  if (open && node.input.every((name, place) => shapes[place] === undefined || view.constant(name)))
    return undefined;
  const rank = Math.max(0, ...operands.map((shape) => shape.length));
  const result = Array.from({ length: rank }, (_, axis) =>
    Math.max(...operands.map((shape) => shape[axis - rank + shape.length] ?? 1)),
  );
  return [result];
}

function window(node: NodeProto, input: Shape, channels: number, kernel: Shape): Shape[] {
  const spatial = input.slice(2);
  const strides = attributeInts(node, 'strides') ?? spatial.map(() => 1);
  const dilations = attributeInts(node, 'dilations') ?? spatial.map(() => 1);
  const pads = attributeInts(node, 'pads') ?? [...spatial, ...spatial].map(() => 0);
  const autoPad = node.attribute.find(({ name }) => name === 'auto_pad');
  const same = autoPad !== undefined && new TextDecoder().decode(autoPad.s).startsWith('SAME');
  const round = attributeInt(node, 'ceil_mode') === 1 ? Math.ceil : Math.floor;
  const out = spatial.map((size, axis) => {
    const stride = strides[axis] ?? 1;
    if (same) return Math.ceil(size / stride);
    const reach = (dilations[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) + 1;
    const padding = (pads[axis] ?? 0) + (pads[axis + spatial.length] ?? 0);
    return round((size + padding - reach) / stride) + 1;
  });
  return [[input[0] ?? 1, channels, ...out]];
}

const RULES: Readonly<Record<string, ShapeRule>> = {
  Conv(view, node, input) {
    const dims = view.constant(node.input[1] ?? '')?.dims.map(Number);
    if (input.length !== 4 || !dims) return undefined;
    return window(node, input, dims[0] ?? 0, dims.slice(2));
  },
  MaxPool: pool,
  AveragePool: pool,
  GlobalAveragePool: (_view, _node, input) =>
    input.length === 4 ? [[input[0] ?? 1, input[1] ?? 0, 1, 1]] : undefined,
  Concat(view, node, _input, shapes) {
    const parts = node.input.map((name) => shapes.get(name) ?? declared(view, name));
    const [first] = parts;
    if (!first || parts.some((part) => part?.length !== first.length)) return undefined;
    const axis = positive(attributeInt(node, 'axis') ?? 0, first.length);
    const total = parts.reduce((sum, part) => sum + (part?.[axis] ?? 0), 0);
    return [first.with(axis, total)];
  },
  Split(view, node, input) {
    if (input.length === 0) return undefined;
    const axis = positive(attributeInt(node, 'axis') ?? 0, input.length);
    const parts = view.constant(node.input[1] ?? '');
    const sizes = parts ? tensorNumbers(parts) : attributeInts(node, 'split');
    const equal = (input[axis] ?? 0) / node.output.length;
    return node.output.map((_, index) => input.with(axis, sizes?.[index] ?? equal));
  },
  Slice: sliced,
  Reshape(view, node, input) {
    const target = view.constant(node.input[1] ?? '');
    if (!target) return undefined;
    const asked = tensorNumbers(target).map((axis, index) => (axis === 0 ? (input[index] ?? 0) : axis));
    if (!asked.includes(-1)) return [asked];
    const count = input.reduce((product, axis) => product * axis, 1);
    const given = asked.reduce((product, axis) => (axis === -1 ? product : product * axis), 1);
    return input.length > 0 ? [asked.map((axis) => (axis === -1 ? count / given : axis))] : undefined;
  },
  Transpose(_view, node, input) {
    const order = attributeInts(node, 'perm');
    return order && input.length === order.length ? [order.map((axis) => input[axis] ?? 0)] : undefined;
  },
  Resize(view, node, input) {
    const scales = view.constant(node.input[2] ?? '');
    const sizes = view.constant(node.input[3] ?? '');
    if (sizes) return [tensorNumbers(sizes)];
    const factors = scales ? tensorNumbers(scales) : [];
    if (factors.length !== input.length || input.length === 0) return undefined;
    return [input.map((size, axis) => Math.floor(size * (factors[axis] ?? 1)))];
  },
  ...Object.fromEntries(['Add', 'Sub', 'Mul', 'Div', 'Pow', 'PRelu'].map((operator) => [operator, joined])),
  ...Object.fromEntries(
    [
      'Sigmoid',
      'Relu',
      'LeakyRelu',
      'HardSwish',
      'HardSigmoid',
      'Tanh',
      'Softmax',
      'Identity',
      'Clip',
      'Elu',
      'Softplus',
      'Mish',
      'Exp',
      'Cast',
      'Dropout',
      'BatchNormalization',
    ].map((operator) => [operator, same]),
  ),
};

function pool(_view: GraphView, node: NodeProto, input: Shape): readonly Shape[] | undefined {
  if (input.length !== 4) return undefined;
  return window(node, input, input[1] ?? 0, attributeInts(node, 'kernel_shape') ?? []);
}

function sliced(view: GraphView, node: NodeProto, input: Shape): readonly Shape[] | undefined {
  const [starts, ends, axes, steps] = [1, 2, 3, 4].map((place) => {
    const constant = view.constant(node.input[place] ?? '');
    return constant ? tensorNumbers(constant) : undefined;
  });
  if (!starts || !ends || input.length === 0) return undefined;
  const result = [...input];
  starts.forEach((start, index) => {
    const axis = positive(axes?.[index] ?? index, input.length);
    const size = input[axis] ?? 0;
    const clamp = (value: number) => Math.min(size, Math.max(0, value < 0 ? value + size : value));
    result[axis] = Math.ceil((clamp(ends[index] ?? size) - clamp(start)) / (steps?.[index] ?? 1));
  });
  return [result];
}

function positive(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}
