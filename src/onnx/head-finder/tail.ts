// The end of a graph, from an output back to the last convolutions: what is computed there tells heads apart
// that have the same shape.
import type { GraphView } from '../graph.ts';
import { attributeInt, attributeInts } from '../graph.ts';
import type { NodeProto } from '../proto/onnx_pb.ts';
import { elementCount, isExternal, tensorNumbers } from '../tensor.ts';

export interface Tail {
  /** Operators between the output and the last convolutions. */
  readonly operators: ReadonlySet<string>;
  /** Whether the walk met a convolution: without one the tail says nothing. */
  readonly reachesConvolution: boolean;
  /** Constants that are joined, handed on, or used in arithmetic in the tail. */
  readonly constants: readonly TailConstant[];
}

interface TailConstant {
  /** The operator that uses it. */
  readonly operator: string;
  readonly dims: readonly number[];
  readonly largest: number;
}

const CONVOLUTIONS = new Set(['Conv', 'ConvInteger', 'QLinearConv', 'ConvTranspose', 'FusedConv']);
const USERS_OF_CONSTANTS = new Set(['Add', 'Sub', 'Mul', 'Div', 'Identity', 'Concat']);
const MAX_NODES = 2000;
const MAX_CONSTANT = 1_000_000;

export function tailOf(view: GraphView, outputName: string): Tail {
  const operators = new Set<string>();
  const constants: TailConstant[] = [];
  const seen = new Set<NodeProto>();
  const open = [outputName];
  let reachesConvolution = false;
  while (open.length > 0 && seen.size < MAX_NODES) {
    const node = view.producer(open.pop() ?? '');
    if (!node || seen.has(node)) continue;
    seen.add(node);
    if (CONVOLUTIONS.has(node.opType)) {
      reachesConvolution = true;
      continue;
    }
    if (node.opType === 'Constant') continue;
    operators.add(node.opType);
    if (USERS_OF_CONSTANTS.has(node.opType)) constants.push(...constantInputs(view, node));
    open.push(...node.input);
  }
  return { operators, reachesConvolution, constants };
}

function constantInputs(view: GraphView, node: NodeProto): TailConstant[] {
  return node.input.flatMap((name) => {
    const tensor = view.constant(name);
    if (!tensor || isExternal(tensor) || elementCount(tensor) > MAX_CONSTANT) return [];
    const largest = tensorNumbers(tensor).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return [{ operator: node.opType, dims: tensor.dims.map(Number), largest }];
  });
}

/** Operators that shape, move or convert values without changing what they mean. */
const PASSING = new Set([
  'Reshape',
  'Transpose',
  'Cast',
  'Identity',
  'Squeeze',
  'Unsqueeze',
  'Flatten',
  'Slice',
  'DequantizeLinear',
]);

/** The operator that computed a tensor, looked at through reshapes, transposes and casts. */
export function computedBy(view: GraphView, name: string): string | undefined {
  let node = view.producer(name);
  for (let step = 0; node && step < 50; step++) {
    if (node.opType === 'Split') return computedBy(view, node.input[0] ?? '');
    if (!PASSING.has(node.opType)) return node.opType;
    node = view.producer(node.input[0] ?? '');
  }
  return undefined;
}

/** Where the values of one anchor lie in a tensor. */
export type FeatureAxis = 'second' | 'last';

/**
 * The tensors that are joined to the values of an anchor (box, objectness, classes), looking back through the joins
 * of levels: `[box, classes]` for YOLOv8, `[box, objectness, classes]` for YOLOX.
 * @returns undefined where the graph does not show it
 */
export function featureParts(
  view: GraphView,
  outputName: string,
  start: FeatureAxis,
): readonly string[] | undefined {
  let axis: FeatureAxis | undefined = start;
  let node = view.producer(outputName);
  for (let step = 0; node && axis && step < 50; step++) {
    if (node.opType === 'Concat') {
      const joined = attributeInt(node, 'axis') ?? 0;
      const joinsFeatures = axis === 'second' ? joined === 1 : joined === -1 || joined >= 2;
      if (joinsFeatures) return node.input;
    } else if (node.opType === 'Transpose') {
      axis = throughTranspose(node, axis);
    } else if (!PASSING.has(node.opType)) {
      return undefined;
    }
    node = view.producer(node.input[0] ?? '');
  }
  return undefined;
}

function throughTranspose(node: NodeProto, axis: FeatureAxis): FeatureAxis | undefined {
  const order = attributeInts(node, 'perm') ?? [];
  const from = order[axis === 'second' ? 1 : order.length - 1];
  if (from === 1) return 'second';
  return from === order.length - 1 ? 'last' : undefined;
}
