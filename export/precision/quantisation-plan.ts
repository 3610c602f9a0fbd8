// What both placements decide: which convolutions work on bytes, and which tensors get a scale.
import { ModelError } from '#core';
import type { GraphView, NodeProto } from '#onnx';
import { nodeLabel, tensorValues } from '#onnx';
import { type FloatTail, floatTail } from './float-tail.ts';
import { isDepthwise } from './raise-opset.ts';
import type { TensorRange, TensorRanges } from './ranges.ts';
import type { ActivationScale } from './scales.ts';

export interface KeptConvolution {
  /** Name and operator. */
  readonly node: string;
  readonly because: string;
}

export interface QuantisationPlan {
  readonly convolutions: ReadonlySet<NodeProto>;
  /** Nodes that move bytes about as they are. */
  readonly integerMoves: ReadonlySet<NodeProto>;
  /** Results that exist as bytes only: every reader sees the dequantised value. */
  readonly owned: ReadonlyMap<string, ActivationScale>;
  /** Float tensors with a quantised twin, which the inputs in `twinReaders` read. */
  readonly entered: ReadonlyMap<string, ActivationScale>;
  /** Places among a node's inputs. */
  readonly twinReaders: ReadonlyMap<NodeProto, ReadonlySet<number>>;
  readonly keptFloat: readonly KeptConvolution[];
}

export interface PlanContext {
  readonly view: GraphView;
  readonly tail: FloatTail;
  readonly isOutput: (name: string) => boolean;
  rangeOf(name: string): TensorRange;
  /** Why a convolution stays float; undefined where it need not. */
  whyFloat(node: NodeProto): string | undefined;
}

export function planContext(
  view: GraphView,
  ranges: TensorRanges,
  keep: ReadonlySet<string>,
  convolutionTypes: ReadonlySet<string>,
): PlanContext {
  const tail = floatTail(view);
  const outputs = new Set(view.graph.output.map(({ name }) => name));
  return {
    view,
    tail,
    isOutput: (name) => outputs.has(name),
    rangeOf(name) {
      const range = ranges.ranges.get(name);
      if (range !== undefined) return range;
      throw new ModelError(`no range was measured for tensor ${name}`, {
        hint: 'calibrate on this very graph: ranges of another version of the model have other names',
      });
    },
    whyFloat(node) {
      if (tail.nodes.has(node)) return 'is part of the arithmetic behind the head';
      if (tail.lastConvolutions.has(node)) return 'is the last convolution of its branch';
      if (keep.has(node.name)) return 'was asked for';
      if (!convolutionTypes.has(node.opType)) return `${node.opType} has no 8-bit form here`;
      const weight = view.constant(node.input[1] ?? '');
      if (weight === undefined) return 'its weights are computed';
      const bias = node.input[2] ?? '';
      if (bias !== '' && view.constant(bias) === undefined) return 'its bias is computed';
      if ((tensorValues(weight) as ArrayLike<number>).length === 0) return 'it has no weights';
      return undefined;
    },
  };
}

export function isConvolution({ opType }: NodeProto): boolean {
  return opType === 'Conv' || opType === 'ConvTranspose';
}

/** Every convolution that stays float, with the reason. */
export function keptConvolutions(
  context: PlanContext,
  because: (node: NodeProto) => string | undefined = () => undefined,
): readonly KeptConvolution[] {
  return context.view.graph.node.filter(isConvolution).flatMap((node) => {
    const why = context.whyFloat(node) ?? because(node);
    return why === undefined ? [] : [{ node: nodeLabel(node), because: why }];
  });
}

/** Nets of which a quarter of the convolutions or more are depthwise gain little or nothing from bytes. */
const DEPTHWISE_SHARE = 0.25;

/** A warning for the user; undefined where the network is no depthwise one. */
export function depthwiseNote(view: GraphView): string | undefined {
  const counts = countDepthwise(view);
  if (!isMostlyDepthwise(counts)) return undefined;
  return `${counts.depthwise} of ${counts.convolutions} convolutions are depthwise: int8 saves little time on them and may even be slower; measure with bench before shipping it`;
}

/** Networks whose channels are filtered one by one have rare values far outside of what the others need. */
export function isDepthwiseNetwork(view: GraphView): boolean {
  return isMostlyDepthwise(countDepthwise(view));
}

interface Counts {
  readonly convolutions: number;
  readonly depthwise: number;
}

function countDepthwise(view: GraphView): Counts {
  const convolutions = view.graph.node.filter(({ opType }) => opType === 'Conv');
  const depthwise = convolutions.filter((node) =>
    isDepthwise(node, (view.constant(node.input[1] ?? '')?.dims ?? []).map(Number)),
  );
  return { convolutions: convolutions.length, depthwise: depthwise.length };
}

function isMostlyDepthwise({ convolutions, depthwise }: Counts): boolean {
  return depthwise > 0 && depthwise >= DEPTHWISE_SHARE * convolutions;
}
