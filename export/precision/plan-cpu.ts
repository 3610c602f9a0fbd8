// Placement for ONNX Runtime on the CPU: results of convolutions and of what lies between them are bytes too, since it
// keeps a convolution float whose result is float.
import type { GraphView, NodeProto } from '#onnx';
import { attributeInt, MOVES } from '#onnx';
import { keptConvolutions, type PlanContext, type QuantisationPlan } from './quantisation-plan.ts';
import { givesPlaces } from './raise-opset.ts';
import { type ActivationScale, unsignedScale } from './scales.ts';

/** Operators with an 8-bit form on one activation. */
const UNARY = new Set(['Sigmoid', 'LeakyRelu', 'AveragePool', 'GlobalAveragePool']);
const BINARY = new Set(['Add', 'Mul']);
/** Cut the result of the node before at 0: the bounds of its bytes do that by themselves. */
const BOUNDS = new Set(['Relu', 'Clip']);

/**
 * SiLU is within .003 of 0 below -8: bytes for what lies there would be taken from values that matter.
 */
const LEAST_FOR_SILU = -8;

/**
 * Bytes are multiplied in fours, so a convolution on the three planes of a picture is twice as slow on them (measured
 * with ONNX Runtime 1.30), and it would be the first to lose detail.
 */
const FEWEST_CHANNELS = 8;

export function planForCpu(context: PlanContext): QuantisationPlan {
  const planner = new CpuPlanner(context);
  for (const node of context.view.graph.node) planner.take(node);
  return planner.finish();
}

class CpuPlanner {
  readonly #context: PlanContext;
  readonly #convolutions = new Set<NodeProto>();
  readonly #moves = new Set<NodeProto>();
  readonly #owned = new Map<string, ActivationScale>();
  readonly #entered = new Map<string, ActivationScale>();
  readonly #twinReaders = new Map<NodeProto, Set<number>>();
  readonly #inputs: ReadonlySet<string>;

  constructor(context: PlanContext) {
    this.#context = context;
    this.#inputs = new Set(context.view.graph.input.map(({ name }) => name));
  }

  take(node: NodeProto): void {
    if (this.#context.tail.nodes.has(node) || node.domain !== '') return;
    const { opType } = node;
    if (opType === 'Conv') {
      const why = this.#context.whyFloat(node) ?? whyTooFew(this.#context.view, node);
      if (why === undefined) this.#convolution(node);
    } else if (BOUNDS.has(opType)) this.#bound(node);
    else if (MOVES.has(opType)) this.#move(node);
    else if (UNARY.has(opType)) this.#operator(node, 1);
    else if (BINARY.has(opType)) this.#operator(node, 2);
    else if (opType === 'Concat') this.#operator(node, node.input.length);
  }

  finish(): QuantisationPlan {
    return {
      convolutions: this.#convolutions,
      integerMoves: this.#moves,
      owned: this.#owned,
      entered: this.#entered,
      twinReaders: this.#twinReaders,
      keptFloat: keptConvolutions(this.#context, (node) => whyTooFew(this.#context.view, node)),
    };
  }

  #convolution(node: NodeProto): void {
    this.#convolutions.add(node);
    this.#read(node, 0);
    if (!this.#endsInBound(node)) this.#own(node.output[0] ?? '');
  }

  /** All activations must be bytes already: one that is not would cost more to convert than the operator saves. */
  #operator(node: NodeProto, count: number): void {
    const places = Array.from({ length: count }, (_, place) => place);
    if (!places.every((place) => this.#isBytes(node.input[place] ?? ''))) return;
    for (const place of places) this.#read(node, place);
    if (node.opType === 'Add' && this.#endsInBound(node)) return;
    this.#own(node.output[0] ?? '');
  }

  #bound(node: NodeProto): void {
    const producer = this.#context.view.producer(node.input[0] ?? '');
    const fused =
      producer !== undefined &&
      (this.#convolutions.has(producer) || (producer.opType === 'Add' && this.#twinReaders.has(producer))) &&
      this.#endsInBound(producer);
    if (!fused && !this.#isBytes(node.input[0] ?? '')) return;
    if (!fused) this.#read(node, 0);
    this.#own(node.output[0] ?? '');
  }

  #move(node: NodeProto): void {
    const source = node.input[0] ?? '';
    if (!this.#isBytes(source) || givesPlaces(node) || smooth(node)) return;
    const scale = this.#owned.get(source) ?? this.#enter(source);
    this.#moves.add(node);
    for (const name of node.output) if (name !== '') this.#owned.set(name, scale);
  }

  /** The only reader of its result is a Relu or Clip, whose result is quantised in its place. */
  #endsInBound(node: NodeProto): boolean {
    const result = node.output[0] ?? '';
    const [reader, ...others] = this.#context.view.consumers(result);
    if (reader === undefined || others.length > 0 || this.#context.isOutput(result)) return false;
    return BOUNDS.has(reader.opType) && !this.#context.tail.nodes.has(reader);
  }

  /** A picture is bytes by nature. */
  #isBytes(name: string): boolean {
    return this.#owned.has(name) || this.#entered.has(name) || this.#inputs.has(name);
  }

  #read(node: NodeProto, place: number): void {
    const name = node.input[place] ?? '';
    const places = this.#twinReaders.get(node) ?? new Set<number>();
    this.#twinReaders.set(node, places);
    if (this.#owned.has(name)) return;
    this.#enter(name);
    places.add(place);
  }

  #enter(name: string): ActivationScale {
    const scale = this.#entered.get(name) ?? this.#scaleOf(name);
    this.#entered.set(name, scale);
    return scale;
  }

  #own(name: string): void {
    this.#owned.set(name, this.#scaleOf(name));
  }

  #scaleOf(name: string): ActivationScale {
    const { low, high } = this.#context.rangeOf(name);
    return unsignedScale(this.#feedsSilu(name) ? Math.max(low, LEAST_FOR_SILU) : low, high);
  }

  /** Read by nothing but x · sigmoid(x). */
  #feedsSilu(name: string): boolean {
    const { view, isOutput } = this.#context;
    const readers = view.consumers(name);
    const gate = readers.find(({ opType }) => opType === 'Sigmoid')?.output[0];
    return (
      !isOutput(name) &&
      gate !== undefined &&
      readers.every(({ opType, input }) => opType === 'Sigmoid' || (opType === 'Mul' && input.includes(gate)))
    );
  }
}

function whyTooFew(view: GraphView, node: NodeProto): string | undefined {
  const [, read = 0] = (view.constant(node.input[1] ?? '')?.dims ?? []).map(Number);
  const isGrouped = (attributeInt(node, 'group') ?? 1) > 1;
  return isGrouped || read >= FEWEST_CHANNELS
    ? undefined
    : `reads ${read} channels, too few to gain from bytes`;
}

/** Resampling between px makes new values, which the runtime rounds down where they are bytes. */
function smooth(node: NodeProto): boolean {
  if (node.opType !== 'Resize') return false;
  const mode = node.attribute.find(({ name }) => name === 'mode');
  return mode !== undefined && new TextDecoder().decode(mode.s) !== 'nearest';
}
