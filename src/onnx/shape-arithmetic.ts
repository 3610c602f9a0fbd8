// What operators on small integer tensors give: the arithmetic on shapes that exporters leave in a graph.
import type { NodeShapes } from './shape-rules.ts';
import { shapeRange } from './shape-rules.ts';
import { ElementType } from './tensor.ts';

/** Arithmetic on shapes, so that Shape → Gather → Concat → Reshape chains become numbers. */
export const integerRules: Readonly<Record<string, (context: NodeShapes) => readonly number[] | undefined>> =
  {
    Shape: (context) => context.input(0).slice(...shapeRange(context)),
    Identity: (context) => context.integers(0),
    Cast(context) {
      const whole = WHOLE.has(context.int('to', ElementType.FLOAT));
      return context.integers(0)?.map((value) => (whole ? Math.trunc(value) : value));
    },
    Unsqueeze: (context) => context.integers(0),
    Squeeze: (context) => context.integers(0),
    Reshape: (context) => context.integers(0),
    Floor: (context) => context.integers(0)?.map(Math.floor),
    Add: (context) => pairwise(context, (a, b) => a + b),
    Sub: (context) => pairwise(context, (a, b) => a - b),
    Mul: (context) => pairwise(context, (a, b) => a * b),
    Div(context) {
      const whole = !context.isFloat(0) && !context.isFloat(1);
      return pairwise(context, (a, b) => (whole ? Math.trunc(a / b) : a / b));
    },
    Concat(context) {
      const parts = context.node.input.map((_, index) => context.integers(index));
      return parts.some((part) => part === undefined) ? undefined : parts.flatMap((part) => part ?? []);
    },
    Gather(context) {
      const [values, indices] = [listOf(context, 0), context.integers(1)];
      return values && indices?.map((index) => values.at(index) ?? 0);
    },
    Slice(context) {
      const values = listOf(context, 0);
      const [starts, ends, steps] = [1, 2, 4].map((index) => context.integers(index));
      if (!values || !starts || !ends || (steps?.[0] ?? 1) !== 1) return undefined;
      return values.slice(starts[0], ends[0]);
    },
  };

/** Element types without a fraction. */
const WHOLE: ReadonlySet<number> = new Set([
  ElementType.INT64,
  ElementType.INT32,
  ElementType.INT16,
  ElementType.INT8,
  ElementType.UINT8,
]);

/** Values of a scalar or a list: those of a matrix, one row after the other, are not what the operators here work on. */
function listOf(context: NodeShapes, index: number): readonly number[] | undefined {
  const values = context.integers(index);
  return values && context.input(index).length <= 1 ? values : undefined;
}

function pairwise(context: NodeShapes, combine: (a: number, b: number) => number) {
  const [a, b] = [listOf(context, 0), listOf(context, 1)];
  if (a === undefined || b === undefined) return undefined;
  const length = Math.max(a.length, b.length);
  const at = (values: readonly number[], index: number) => values[values.length === 1 ? 0 : index] ?? 0;
  return Array.from({ length }, (_, index) => combine(at(a, index), at(b, index)));
}
