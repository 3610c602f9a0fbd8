// Which nodes of a network may work in half precision, and why the others may not.
import { ModelError } from '#core';
import type { GraphView, NodeProto } from '#onnx';
import { ElementType, nodeLabel } from '#onnx';
import { floatTail } from './float-tail.ts';
import { exceedsHalf, LARGEST_HALF, vanishesInHalf } from './half-values.ts';
import type { TensorRanges } from './ranges.ts';

export interface HalfRules {
  /** Magnitudes that were measured; without them nothing guards against an overflow. */
  readonly ranges?: TensorRanges | undefined;
  /** Largest measured magnitude that a half may carry. Default 8188: other scenes may go eight times as far. */
  readonly limit?: number | undefined;
  /** Names of nodes that stay float32. */
  readonly keep?: ReadonlySet<string> | undefined;
}

export const DEFAULT_HALF_LIMIT = LARGEST_HALF / 8;

/** Sums of many terms, powers, and operators that runtimes offer in float32 alone. */
const FLOAT_ONLY = new Set(
  [
    'CumSum NonMaxSuppression Range RoiAlign TopK Exp Log Pow Reciprocal InstanceNormalization LayerNormalization',
    'GroupNormalization LpNormalization ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum',
    'ReduceSumSquare Cast ConstantOfShape Einsum GridSample',
  ]
    .join(' ')
    .split(' '),
);

const QUANTISED =
  /^(Q(uantize)?Linear|Dequantize|DynamicQuantize|ConvInteger|MatMulInteger|QGemm|QAttention)/;

/** Inputs that stay float32 in a half node: the scales and the region of a Resize. */
export function staysFloat({ opType }: NodeProto, place: number): boolean {
  return place > 0 && (opType === 'Resize' || opType === 'Upsample');
}

/**
 * Why a node stays float32, for every one that works on float32 and does; nodes without floats are not listed.
 * @throws ModelError naming the node for quantised operators, graphs inside a node, and operators that are not known
 */
export function keptFloatNodes(
  view: GraphView,
  typeOf: (name: string) => number | undefined,
  rules: HalfRules,
): ReadonlyMap<NodeProto, string> {
  const tail = floatTail(view).nodes;
  const sizes = sizeArithmetic(view);
  const kept = new Map<NodeProto, string>();
  for (const node of view.graph.node) {
    refuseUnknown(node, typeOf);
    if (!worksOnFloats(node, typeOf)) continue;
    const why = whyFloat(view, node, rules) ?? whyPlace(node, tail, sizes);
    if (why !== undefined) kept.set(node, why);
  }
  return kept;
}

function whyPlace(
  node: NodeProto,
  tail: ReadonlySet<NodeProto>,
  sizes: ReadonlySet<NodeProto>,
): string | undefined {
  if (tail.has(node)) return 'lies behind the last convolutions';
  return sizes.has(node) ? 'computes with sizes' : undefined;
}

function whyFloat(view: GraphView, node: NodeProto, rules: HalfRules): string | undefined {
  const { limit = DEFAULT_HALF_LIMIT, ranges, keep } = rules;
  if (keep?.has(node.name)) return 'was asked for';
  if (FLOAT_ONLY.has(node.opType)) return `${node.opType} is kept in float32`;
  if (node.domain !== '' && node.domain !== 'ai.onnx') return `${node.domain} is not known here`;
  const tensors = [...node.input.filter((_, place) => !staysFloat(node, place)), ...node.output];
  for (const name of tensors) {
    const range = ranges?.ranges.get(name);
    const magnitude = range ? Math.max(-range.lowest, range.highest) : 0;
    if (magnitude > limit) return `${name} reached ${magnitude.toPrecision(3)}, more than ${limit}`;
  }
  return whyConstant(view, node);
}

function whyConstant(view: GraphView, node: NodeProto): string | undefined {
  for (const [place, name] of node.input.entries()) {
    const constant = view.constant(name);
    if (constant?.dataType !== ElementType.FLOAT || staysFloat(node, place)) continue;
    // A bound beyond the halves bounds nothing; the largest half says the same.
    if (node.opType === 'Clip' && place > 0) continue;
    if (exceedsHalf(constant)) return `constant ${name} exceeds ${LARGEST_HALF}`;
    if (vanishesInHalf(constant)) return `constant ${name} is too small for a half`;
  }
  return undefined;
}

/** Takes its values from the first input; what the others say is where to. */
const FROM_FIRST =
  /^(Reshape|Expand|Resize|Upsample|Slice|Tile|Gather|Pad|Unsqueeze|Squeeze|ConstantOfShape)$/;

/** Above 2048 halves skip whole numbers, so lengths and places stay what they are. */
function sizeArithmetic(view: GraphView): ReadonlySet<NodeProto> {
  const nodes = new Set<NodeProto>();
  const values = new Set<string>();
  for (const node of view.graph.node) {
    const read = FROM_FIRST.test(node.opType) ? node.input.slice(0, 1) : node.input;
    const variable = read.filter((name) => name !== '' && view.constant(name) === undefined);
    const onSizes = variable.length > 0 && variable.every((name) => values.has(name));
    if (node.opType !== 'Shape' && !onSizes) continue;
    for (const name of node.output) values.add(name);
    nodes.add(node);
  }
  return nodes;
}

function worksOnFloats(node: NodeProto, typeOf: (name: string) => number | undefined): boolean {
  return [...node.input, ...node.output].some((name) => name !== '' && typeOf(name) === ElementType.FLOAT);
}

function refuseUnknown(node: NodeProto, typeOf: (name: string) => number | undefined): void {
  if (QUANTISED.test(node.opType)) {
    throw new ModelError(`node ${nodeLabel(node)} is quantised: it has no form in half precision`, {
      hint: 'dequantise the model first',
    });
  }
  if (node.attribute.some(({ g, graphs }) => g !== undefined || graphs.length > 0)) {
    throw new ModelError(`node ${nodeLabel(node)} holds a graph of its own, which is not converted here`, {
      hint: 'export the model without control flow (If, Loop, Scan), or leave half away',
    });
  }
  const open = node.output.find((name) => name !== '' && !typeOf(name));
  if (open === undefined) return;
  throw new ModelError(
    `node ${nodeLabel(node)} is not known in half precision: the type of ${open} is open`,
    {
      hint: 'simplify the model so that the file states its types, or leave half away',
    },
  );
}
