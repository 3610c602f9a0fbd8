// Shape rules of operators that choose, repeat or quantise: what end-to-end heads and quantised files add to a detector.
import type { NodeShapes, Shape, ShapeRule } from './shape-rules.ts';

const asFirst: ShapeRule = (context) => [context.input(0)];

export const selectionRules: Readonly<Record<string, ShapeRule>> = {
  QuantizeLinear: asFirst,
  DequantizeLinear: asFirst,
  DynamicQuantizeLinear: (context) => [context.input(0), [], []],
  GatherElements: (context) => [context.input(1)],
  Range(context) {
    const [start, limit, delta] = [0, 1, 2].map((index) => known(context, index)[0] ?? 0);
    return [[Math.max(0, Math.ceil(((limit ?? 0) - (start ?? 0)) / (delta ?? 1)))]];
  },
  Tile(context) {
    const repeats = known(context, 1);
    return [context.input(0).map((size, axis) => size * (repeats[axis] ?? 1))];
  },
  TopK(context) {
    const shape = context.input(0);
    const axis = context.int('axis', -1);
    const place = axis < 0 ? axis + shape.length : axis;
    const count = context.has(1) ? known(context, 1)[0] : context.int('k', 0);
    const kept: Shape = shape.map((size, index) => (index === place ? (count ?? 0) : size));
    return [kept, kept];
  },
};

function known(context: NodeShapes, index: number): readonly number[] {
  const values = context.integers(index);
  if (values === undefined)
    throw context.fail(`the values of input ${context.node.input[index]} are not known`);
  return values;
}
