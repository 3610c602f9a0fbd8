// Placement for TensorRT: scales stand in front of convolutions and nowhere else; it chooses the 8-bit layers itself.
import type { GraphView, NodeProto } from '#onnx';
import { attributeInt } from '#onnx';
import {
  isConvolution,
  keptConvolutions,
  type PlanContext,
  type QuantisationPlan,
} from './quantisation-plan.ts';
import { type ActivationScale, signedScale } from './scales.ts';

export function planForTensorrt(context: PlanContext): QuantisationPlan {
  const { view, tail } = context;
  const tooSmall = (node: NodeProto) =>
    isTooSmall(view, node) ? 'has too few channels for the int8 units of a GPU' : undefined;
  const convolutions = new Set(
    view.graph.node.filter(
      (node) => isConvolution(node) && context.whyFloat(node) === undefined && tooSmall(node) === undefined,
    ),
  );
  const twinReaders = new Map<NodeProto, ReadonlySet<number>>();
  const entering = new Set<string>();
  const read = (node: NodeProto, place: number) => {
    twinReaders.set(node, new Set([place]));
    entering.add(node.input[place] ?? '');
  };
  for (const node of view.graph.node) {
    if (convolutions.has(node)) read(node, 0);
    const shortcut = tail.nodes.has(node) ? undefined : shortcutOf(view, node);
    if (shortcut !== undefined) read(node, shortcut);
  }
  return {
    convolutions,
    integerMoves: new Set(),
    owned: new Map(),
    entered: commonScales(context, entering),
    twinReaders,
    keptFloat: keptConvolutions(context, tooSmall),
  };
}

/**
 * Convolutions of fewer than 16 channels run on the int8 units only where they are square and one count is a multiple
 * of 8, and the other 16 or more or the picture's; grouped ones where they make a multiple of 8 with a 3x3 or larger
 * kernel.
 */
function isTooSmall(view: GraphView, node: NodeProto): boolean {
  const [made = 0, read = 0, ...kernel] = (view.constant(node.input[1] ?? '')?.dims ?? []).map(Number);
  if (made >= 16 && read >= 16) return false;
  const group = attributeInt(node, 'group') ?? 1;
  if (group > 1) return made % 8 !== 0 || kernel.some((size) => size < 3);
  const isFirst = view.graph.input.some(({ name }) => name === node.input[0]);
  const fits = made % 8 === 0 || read % 8 === 0;
  return !fits || !(isFirst || made >= 16 || read >= 16) || new Set(kernel).size > 1;
}

/**
 * The input of a residual sum that is used elsewhere too; the other one comes out of a convolution, which takes the
 * sum over when it stays unquantised.
 */
function shortcutOf(view: GraphView, node: NodeProto): number | undefined {
  if (node.opType !== 'Add' || node.input.some((name) => view.constant(name) !== undefined)) return undefined;
  const readers = node.input.map((name) => view.consumers(name).length);
  const shared = readers.flatMap((count, place) => (count > 1 ? [place] : []));
  const [shortcut, ...others] = shared;
  if (shortcut === undefined || others.length > 0) return undefined;
  return endsConvolution(view, node.input[1 - shortcut] ?? '') ? shortcut : undefined;
}

/** Whether a tensor is the result of a convolution, with its activation. */
function endsConvolution(view: GraphView, name: string): boolean {
  const producer = view.producer(name);
  if (producer === undefined) return false;
  if (producer.opType === 'Mul')
    return producer.input.some((input) => view.producer(input)?.opType === 'Conv');
  if (producer.opType === 'Relu' || producer.opType === 'LeakyRelu' || producer.opType === 'Clip') {
    return view.producer(producer.input[0] ?? '')?.opType === 'Conv';
  }
  return producer.opType === 'Conv';
}

/** Inputs and result of a Concat share one scale where the result is quantised, or bytes would be rescaled there. */
function commonScales(
  context: PlanContext,
  entering: ReadonlySet<string>,
): ReadonlyMap<string, ActivationScale> {
  const leaders = new Map<string, string>();
  const leaderOf = (name: string): string => {
    const leader = leaders.get(name) ?? name;
    return leader === name ? name : leaderOf(leader);
  };
  for (const { opType, input, output } of context.view.graph.node) {
    const result = output[0] ?? '';
    if (opType !== 'Concat' || !entering.has(result)) continue;
    for (const name of input) if (entering.has(name)) leaders.set(leaderOf(name), leaderOf(result));
  }
  const ranges = new Map<string, { low: number; high: number }>();
  for (const name of entering) {
    const { low, high } = context.rangeOf(name);
    const common = ranges.get(leaderOf(name)) ?? { low, high };
    ranges.set(leaderOf(name), { low: Math.min(common.low, low), high: Math.max(common.high, high) });
  }
  return new Map(
    [...entering].map((name) => {
      const { low = 0, high = 0 } = ranges.get(leaderOf(name)) ?? {};
      return [name, signedScale(low, high)];
    }),
  );
}
