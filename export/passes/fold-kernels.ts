// What operators give on small constants: the arithmetic on shapes and grids that exporters leave in a graph.
import { attributeInt, attributeInts, ElementType, type NodeProto, sliceParts } from '#onnx';
import { broadcastDims, build, countOf, type FoldValue, foldValueOf, read } from './fold-values.ts';

export interface KernelInputs {
  readonly node: NodeProto;
  /** In the order of the node; undefined where an optional input is left out. */
  readonly values: readonly (FoldValue | undefined)[];
}

/** @returns undefined where this node is better left alone */
type Kernel = (inputs: KernelInputs) => FoldValue | undefined;

export const KERNELS: Readonly<Record<string, Kernel>> = {
  Identity: ({ values: [data] }) => data,
  Add: pairwise((a, b) => a + b),
  Sub: pairwise((a, b) => a - b),
  Mul: pairwise((a, b) => a * b),
  Max: pairwise(Math.max),
  Min: pairwise(Math.min),
  Div: divided,
  Equal: pairwise((a, b) => Number(a === b), ElementType.BOOL),
  Greater: pairwise((a, b) => Number(a > b), ElementType.BOOL),
  Less: pairwise((a, b) => Number(a < b), ElementType.BOOL),
  And: pairwise((a, b) => a * b),
  Or: pairwise(Math.max),
  Not: single((value) => 1 - value),
  Floor: single(Math.floor),
  Ceil: single(Math.ceil),
  Neg: single((value) => -value),
  Sqrt: single(Math.sqrt),
  Where: chosen,
  Cast: converted,
  ConstantOfShape: filled,
  Range: counted,
  Concat: joined,
  Gather: gathered,
  Slice: sliced,
  Reshape: reshaped,
  Flatten: flattened,
  Unsqueeze: unsqueezed,
  Squeeze: squeezed,
  Transpose: turned,
  Expand: expanded,
};

function wrap(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

function listOf(value: FoldValue | undefined): readonly number[] | undefined {
  return value && Array.from(value.data);
}

function withDims(value: FoldValue, dims: readonly number[]): FoldValue | undefined {
  return countOf(dims) === value.data.length ? { ...value, dims } : undefined;
}

function pairwise(combine: (a: number, b: number) => number, type?: number): Kernel {
  return ({ values: [a, b, ...more] }) => {
    const dims = a && b && more.length === 0 ? broadcastDims([a.dims, b.dims]) : undefined;
    if (!a || !b || !dims) return undefined;
    return build(dims, type ?? a.type, (place) => combine(read(a, place), read(b, place)));
  };
}

/** Whole numbers are cut towards 0; a division by 0 is left to the runtime. */
function divided(inputs: KernelInputs): FoldValue | undefined {
  const [a, b] = inputs.values;
  const whole = a !== undefined && a.type !== ElementType.FLOAT;
  if (whole && b?.data.includes(0)) return undefined;
  return pairwise((x, y) => x / y)(inputs);
}

function single(of: (value: number) => number): Kernel {
  return ({ values: [data] }) => data && build(data.dims, data.type, (place) => of(read(data, place)));
}

function chosen({ values: [condition, a, b] }: KernelInputs): FoldValue | undefined {
  const dims = condition && a && b ? broadcastDims([condition.dims, a.dims, b.dims]) : undefined;
  if (!condition || !a || !b || !dims) return undefined;
  return build(dims, a.type, (place) => read(read(condition, place) === 0 ? b : a, place));
}

function converted({ node, values: [data] }: KernelInputs): FoldValue | undefined {
  const to = attributeInt(node, 'to') ?? ElementType.UNDEFINED;
  return data && build(data.dims, to, (place) => read(data, place));
}

function filled({ node, values: [size] }: KernelInputs): FoldValue | undefined {
  const stored = node.attribute.find(({ name }) => name === 'value')?.t;
  const value = stored ? foldValueOf(stored) : { type: ElementType.FLOAT, data: [0] };
  const dims = listOf(size);
  return value && dims && build(dims, value.type, () => value.data[0] ?? 0);
}

function counted({ values: [start, limit, delta] }: KernelInputs): FoldValue | undefined {
  const [from, to, step] = [start?.data[0], limit?.data[0], delta?.data[0]];
  if (!start || from === undefined || to === undefined || !step) return undefined;
  const count = Math.max(0, Math.ceil((to - from) / step));
  return build([count], start.type, ([index = 0]) => from + index * step);
}

function joined({ node, values }: KernelInputs): FoldValue | undefined {
  const parts = values.flatMap((value) => (value ? [value] : []));
  const [first] = parts;
  if (!first || parts.length !== values.length) return undefined;
  const axis = wrap(attributeInt(node, 'axis') ?? 0, first.dims.length);
  const total = parts.reduce((sum, { dims }) => sum + (dims[axis] ?? 0), 0);
  const dims = first.dims.map((size, index) => (index === axis ? total : size));
  return build(dims, first.type, (place) => {
    let at = place[axis] ?? 0;
    let part = 0;
    while (at >= (parts[part]?.dims[axis] ?? Number.POSITIVE_INFINITY)) at -= parts[part++]?.dims[axis] ?? 0;
    const own = parts[part];
    return own ? elementAt(own, place.with(axis, at)) : Number.NaN;
  });
}

/** Unlike `read`, an axis of one element is not repeated. */
function elementAt({ dims, data }: FoldValue, place: readonly number[]): number {
  return data[dims.reduce((index, size, axis) => index * size + (place[axis] ?? 0), 0)] ?? Number.NaN;
}

function gathered({ node, values: [data, indices] }: KernelInputs): FoldValue | undefined {
  if (!data || !indices) return undefined;
  const axis = wrap(attributeInt(node, 'axis') ?? 0, data.dims.length);
  const size = data.dims[axis] ?? 0;
  const inner = indices.dims.length;
  const dims = [...data.dims.slice(0, axis), ...indices.dims, ...data.dims.slice(axis + 1)];
  if (indices.data.some((index) => index < -size || index >= size)) return undefined;
  return build(dims, data.type, (place) => {
    const index = wrap(elementAt(indices, place.slice(axis, axis + inner)), size);
    return elementAt(data, [...place.slice(0, axis), index, ...place.slice(axis + inner)]);
  });
}

function sliced({ node, values: [data, ...bounds] }: KernelInputs): FoldValue | undefined {
  const list = (name: string, place: number) => attributeInts(node, name) ?? listOf(bounds[place]);
  const [starts, ends] = [list('starts', 0), list('ends', 1)];
  if (!data || !starts || !ends) return undefined;
  const parts = sliceParts(data.dims, { starts, ends, axes: list('axes', 2), steps: listOf(bounds[3]) });
  const byAxis = new Map(parts.map((part) => [part.axis, part]));
  const dims = data.dims.map((size, axis) => byAxis.get(axis)?.count ?? size);
  return build(dims, data.type, (place) =>
    elementAt(
      data,
      place.map((at, axis) => {
        const part = byAxis.get(axis);
        return part ? part.start + at * part.step : at;
      }),
    ),
  );
}

function reshaped({ node, values: [data, shape] }: KernelInputs): FoldValue | undefined {
  const asked = listOf(shape);
  if (!data || !asked) return undefined;
  const keeps = attributeInt(node, 'allowzero') !== 1;
  const copied = asked.map((size, axis) => (size === 0 && keeps ? (data.dims[axis] ?? 0) : size));
  const known = countOf(copied.filter((size) => size !== -1));
  return withDims(
    data,
    copied.map((size) => (size === -1 ? data.data.length / known : size)),
  );
}

function flattened({ node, values: [data] }: KernelInputs): FoldValue | undefined {
  if (!data) return undefined;
  const axis = wrap(attributeInt(node, 'axis') ?? 1, data.dims.length);
  return withDims(data, [countOf(data.dims.slice(0, axis)), countOf(data.dims.slice(axis))]);
}

function unsqueezed({ node, values: [data, given] }: KernelInputs): FoldValue | undefined {
  const axes = attributeInts(node, 'axes') ?? listOf(given);
  if (!data || !axes) return undefined;
  const rank = data.dims.length + axes.length;
  const added = new Set(axes.map((axis) => wrap(axis, rank)));
  const rest = [...data.dims];
  return withDims(
    data,
    Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (rest.shift() ?? 1))),
  );
}

function squeezed({ node, values: [data, given] }: KernelInputs): FoldValue | undefined {
  if (!data) return undefined;
  const axes = (attributeInts(node, 'axes') ?? listOf(given))?.map((axis) => wrap(axis, data.dims.length));
  return withDims(
    data,
    data.dims.filter((size, axis) => (axes ? !axes.includes(axis) : size !== 1)),
  );
}

function turned({ node, values: [data] }: KernelInputs): FoldValue | undefined {
  if (!data) return undefined;
  const order = attributeInts(node, 'perm') ?? data.dims.map((_, axis) => data.dims.length - 1 - axis);
  const dims = order.map((axis) => data.dims[axis] ?? 1);
  const source = data.dims.map(() => 0);
  return build(dims, data.type, (place) => {
    order.forEach((axis, index) => {
      source[axis] = place[index] ?? 0;
    });
    return elementAt(data, source);
  });
}

function expanded({ values: [data, shape] }: KernelInputs): FoldValue | undefined {
  const asked = listOf(shape);
  const dims = data && asked && broadcastDims([data.dims, asked]);
  return data && dims && build(dims, data.type, (place) => read(data, place));
}
