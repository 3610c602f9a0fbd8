// Writes a plan into the graph as QuantizeLinear and DequantizeLinear nodes, weights and biases as integers.
import type { GraphView, ModelProto, NodeProto, TensorProto } from '#onnx';
import {
  copyMessage,
  FreeNames,
  floats,
  node as makeNode,
  prune,
  tensor,
  tensorValues,
  viewGraph,
  withGraph,
} from '#onnx';
import type { QuantisationPlan } from './quantisation-plan.ts';
import {
  type ActivationScale,
  leastWeightScales,
  quantiseBias,
  quantiseWeight,
  roundingShift,
  type WeightBits,
} from './scales.ts';

export interface QdqForm {
  readonly weightBits: WeightBits;
  /** `uint8` with a free zero point, `int8` with zero point 0. */
  readonly activations: 'uint8' | 'int8';
  /** `float` keeps the weights and quantises them in the graph, which TensorRT 8 wants. */
  readonly weights: 'int8' | 'float';
  /** `int32` lets the convolution take its bias over; `float` leaves it. */
  readonly bias: 'int32' | 'float';
}

function withoutShift(bias: Float32Array | undefined, shift: Float64Array): Float32Array {
  return Float32Array.from(shift, (value, channel) => (bias?.[channel] ?? 0) - value);
}

/** @param meansOf mean of every channel of a tensor, where it was measured */
export function writeQdq(
  model: ModelProto,
  plan: QuantisationPlan,
  form: QdqForm,
  meansOf: (name: string) => Float64Array | undefined,
): ModelProto {
  const writer = new QdqWriter(model, plan, form, meansOf);
  const { graph } = viewGraph(model);
  for (const { name } of graph.input) writer.enter(name);
  for (const node of graph.node) writer.write(node);
  return prune(writer.finish());
}

class QdqWriter {
  readonly #model: ModelProto;
  readonly #view: GraphView;
  readonly #plan: QuantisationPlan;
  readonly #form: QdqForm;
  readonly #means: (name: string) => Float64Array | undefined;
  readonly #names: FreeNames;
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: TensorProto[] = [];
  /** Tensor → its bytes. */
  readonly #bytes = new Map<string, string>();
  /** Entered tensor → the float that its bytes stand for. */
  readonly #twins = new Map<string, string>();
  readonly #scaleNames = new Map<ActivationScale, readonly [scale: string, zeroPoint: string]>();

  constructor(
    model: ModelProto,
    plan: QuantisationPlan,
    form: QdqForm,
    meansOf: (name: string) => Float64Array | undefined,
  ) {
    this.#means = meansOf;
    this.#model = model;
    this.#view = viewGraph(model);
    this.#plan = plan;
    this.#form = form;
    this.#names = new FreeNames(this.#view.graph);
  }

  finish(): ModelProto {
    const { graph } = this.#view;
    return withGraph(this.#model, {
      node: this.#nodes,
      initializer: [...graph.initializer, ...this.#initializers],
    });
  }

  write(node: NodeProto): void {
    if (this.#plan.integerMoves.has(node)) this.#moveBytes(node);
    else this.#compute(node);
    for (const name of node.output) this.enter(name);
  }

  /** Float tensor → bytes → twin, where the plan wants them. */
  enter(name: string): void {
    const scale = this.#plan.entered.get(name);
    if (scale === undefined || this.#bytes.has(name)) return;
    const twin = this.#names.take(`${name}_dequantised`);
    this.#twins.set(name, twin);
    this.#quantise(name, name, scale);
    this.#dequantise(name, twin, scale);
  }

  #moveBytes(node: NodeProto): void {
    const source = node.input[0] ?? '';
    const input = [this.#bytes.get(source) ?? '', ...node.input.slice(1)];
    const output = node.output.map((name) => (name === '' ? '' : this.#bytesOf(name)));
    this.#nodes.push(copyMessage(node, { input, output }));
    for (const name of node.output) {
      const scale = this.#plan.owned.get(name);
      if (scale !== undefined) this.#dequantise(name, name, scale);
    }
  }

  #compute(node: NodeProto): void {
    const twinned = this.#plan.twinReaders.get(node);
    const input = node.input.map((name, place) =>
      twinned?.has(place) ? (this.#twins.get(name) ?? name) : name,
    );
    if (this.#plan.convolutions.has(node)) this.#convolution(node, input);
    const made = node.output.map((name) =>
      this.#plan.owned.has(name) ? this.#names.take(`${name}_float`) : name,
    );
    this.#nodes.push(copyMessage(node, { input, output: made }));
    node.output.forEach((name, place) => {
      const scale = this.#plan.owned.get(name);
      if (scale === undefined) return;
      this.#quantise(made[place] ?? '', name, scale);
      this.#dequantise(name, name, scale);
    });
  }

  #bytesOf(name: string): string {
    const known = this.#bytes.get(name) ?? this.#names.take(`${name}_quantised`);
    this.#bytes.set(name, known);
    return known;
  }

  #quantise(from: string, name: string, scale: ActivationScale): void {
    this.#nodes.push(makeNode('QuantizeLinear', [from, ...this.#scale(name, scale)], [this.#bytesOf(name)]));
  }

  #dequantise(name: string, to: string, scale: ActivationScale): void {
    this.#nodes.push(makeNode('DequantizeLinear', [this.#bytesOf(name), ...this.#scale(name, scale)], [to]));
  }

  /** Scalars, once for all tensors that share them. */
  #scale(name: string, scale: ActivationScale): readonly [string, string] {
    const known = this.#scaleNames.get(scale);
    if (known !== undefined) return known;
    const names = [this.#names.take(`${name}_scale`), this.#names.take(`${name}_zero_point`)] as const;
    this.#scaleNames.set(scale, names);
    const zero = [scale.zeroPoint];
    this.#initializers.push(
      floats(names[0], [], [scale.scale]),
      tensor(names[1], [], this.#form.activations === 'uint8' ? Uint8Array.from(zero) : Int8Array.from(zero)),
    );
    return names;
  }

  /** Replaces weight and bias among the inputs. */
  #convolution(node: NodeProto, input: string[]): void {
    const source = node.input[0] ?? '';
    const scale = (this.#plan.owned.get(source) ?? this.#plan.entered.get(source))?.scale ?? 1;
    const [, weightName = '', biasName = ''] = node.input;
    const weight = this.#view.constant(weightName);
    if (weight === undefined) return;
    const dims = weight.dims.map(Number);
    // A transposed convolution has its output channels second.
    const axis = node.opType === 'ConvTranspose' ? 1 : 0;
    const values = tensorValues(weight) as Float32Array;
    const stored = this.#view.constant(biasName);
    const bias = stored && (tensorValues(stored) as Float32Array);
    const isInteger = this.#form.bias === 'int32';
    const least = bias && isInteger ? leastWeightScales(bias, scale) : undefined;
    const quantised = quantiseWeight(values, { dims, axis }, this.#form.weightBits, least);
    input[1] = this.#perChannel(
      weightName,
      quantised.scales,
      axis,
      (name) => tensor(name, dims, quantised.values),
      new Int8Array(quantised.scales.length),
    );
    const means = axis === 0 ? this.#means(source) : undefined;
    const corrected =
      means === undefined ? bias : withoutShift(bias, roundingShift(values, quantised, dims, means));
    if (corrected === undefined) return;
    const wanted = biasName === '' ? `${node.output[0] ?? ''}_bias` : biasName;
    input[2] = isInteger
      ? this.#integerBias(wanted, quantiseBias(corrected, scale, quantised.scales))
      : this.#floatBias(wanted, corrected);
  }

  #integerBias(name: string, { values, scales }: ReturnType<typeof quantiseBias>): string {
    const stored = tensor(this.#names.take(`${name}_quantised`), [values.length], values);
    const constants = this.#constants(name, scales, new Int32Array(scales.length));
    return this.#dequantisedConstant(name, stored, constants, 0);
  }

  #floatBias(name: string, values: Float32Array): string {
    const stored = tensor(this.#names.take(`${name}_corrected`), [values.length], values);
    this.#initializers.push(stored);
    return stored.name;
  }

  #perChannel(
    name: string,
    scales: Float32Array,
    axis: number,
    store: (name: string) => TensorProto,
    zeros: Int8Array,
  ): string {
    const constants = this.#constants(name, scales, zeros);
    const bytes = this.#names.take(`${name}_quantised`);
    if (this.#form.weights === 'int8') return this.#dequantisedConstant(name, store(bytes), constants, axis);
    this.#nodes.push(makeNode('QuantizeLinear', [name, ...constants], [bytes], { axis: BigInt(axis) }));
    return this.#dequantisedNode(name, bytes, constants, axis);
  }

  #dequantisedConstant(
    name: string,
    stored: TensorProto,
    constants: readonly string[],
    axis: number,
  ): string {
    this.#initializers.push(stored);
    return this.#dequantisedNode(name, stored.name, constants, axis);
  }

  #dequantisedNode(name: string, bytes: string, constants: readonly string[], axis: number): string {
    const real = this.#names.take(`${name}_dequantised`);
    this.#nodes.push(makeNode('DequantizeLinear', [bytes, ...constants], [real], { axis: BigInt(axis) }));
    return real;
  }

  #constants(name: string, scales: Float32Array, zeros: Int8Array | Int32Array): readonly string[] {
    const scaleName = this.#names.take(`${name}_scale`);
    const zeroName = this.#names.take(`${name}_zero_point`);
    this.#initializers.push(
      floats(scaleName, [scales.length], scales),
      tensor(zeroName, [zeros.length], zeros),
    );
    return [scaleName, zeroName];
  }
}
