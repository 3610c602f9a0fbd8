// One walk over a quantised graph: every quantised tensor gets a float twin, and integer operators are written on twins.
import { floats, node as makeNode } from '../builder.ts';
import type { GraphView } from '../graph.ts';
import { attributeInt, copyMessage } from '../graph.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { alongAxis, cannot, numbers, weightScale } from './channel-values.ts';
import { type ConstantValue, constantValue } from './constant-value.ts';
import { dequantisedTensor } from './dequantised-tensor.ts';
import { type IntegerTail, integerTail } from './integer-tail.ts';
import { MOVES } from './moves.ts';
import { FreeNames, namesRead } from './prune.ts';
import { lowestValue } from './quantised-range.ts';

/** On quantised data these mean the same on its float twin. */
const TWINNED: ReadonlySet<string> = new Set([...MOVES, 'Concat']);

interface Operand {
  /** Float tensor. */
  readonly name: string;
  /** Tensor that holds its scale while the graph runs; absent for constants. */
  readonly scale?: string;
}

export class Dequantiser {
  readonly view: GraphView;
  readonly initializers: TensorProto[] = [];
  readonly notes: string[] = [];
  readonly #nodes: NodeProto[] = [];
  readonly #names: FreeNames;
  /** Quantised tensor → float tensor. */
  readonly #twins = new Map<string, Operand>();
  /** Float tensor that is gone → the one to read in its place. */
  readonly #aliases = new Map<string, string>();
  /** Float nodes that stand where the tail of an integer operator ended. */
  readonly #planned = new Map<NodeProto, NodeProto>();
  readonly #skipped = new Set<NodeProto>();
  readonly #weights = new Map<string, string>();
  #clamped = 0;

  constructor(view: GraphView) {
    this.view = view;
    this.#names = new FreeNames(view.graph);
  }

  /** Nodes come in topological order. */
  take(node: NodeProto): void {
    const planned = this.#planned.get(node);
    if (planned) this.#nodes.push(planned);
    if (planned || this.#skipped.has(node)) return;
    switch (node.domain === '' ? node.opType : '') {
      case 'DynamicQuantizeLinear':
        this.#twins.set(out(node), { name: this.#read(node.input[0]), scale: out(node, 1) });
        break;
      case 'QuantizeLinear':
        this.#quantize(node);
        break;
      case 'DequantizeLinear':
        this.#dequantize(node);
        break;
      case 'ConvInteger':
      case 'MatMulInteger':
        this.#integer(node);
        break;
      case 'QLinearConv':
      case 'QLinearMatMul':
        this.#linear(node);
        break;
      default:
        this.#other(node);
    }
  }

  /** Whether the tensor was made of integers in the quantised graph. */
  wasQuantised(name: string): boolean {
    return this.#twins.has(name);
  }

  finish(): NodeProto[] {
    if (this.#clamped > 0) {
      this.notes.push(
        `${this.#clamped} quantised tensors cannot be negative: a Relu stands in their place; the upper ends of the quantised ranges no longer clip`,
      );
    }
    const renamed = new Map<string, string>();
    for (const { name } of this.view.graph.output) {
      const source = this.#read(name);
      if (source !== name) renamed.set(source, name);
    }
    return this.#nodes.map((node) => renamedNode(node, renamed));
  }

  #read(name = ''): string {
    return this.#aliases.get(name) ?? name;
  }

  #other(node: NodeProto): void {
    const gone = namesRead(node).slice(node.input.filter((name) => name !== '').length);
    const inner = gone.find((name) => this.#twins.has(name) || this.#aliases.has(name));
    if (inner !== undefined) throw cannot(node, `reads the quantised tensor ${inner} inside a sub-graph`);
    const quantised = node.input.flatMap((name) => this.#twins.get(name) ?? []);
    const [first] = quantised;
    if (first) {
      const data = node.opType === 'Concat' ? node.input.length : 1;
      if (node.domain !== '' || !TWINNED.has(node.opType) || quantised.length !== data) {
        throw cannot(node, `works on quantised numbers, those of ${first.name}`);
      }
      const scale = quantised.length === 1 ? first.scale : undefined;
      for (const name of node.output) this.#twins.set(name, { name, ...(scale && { scale }) });
    }
    const input = node.input.map((name) => this.#twins.get(name)?.name ?? this.#read(name));
    this.#nodes.push(copyMessage(node, { input }));
  }

  #quantize(node: NodeProto): void {
    const source = this.#read(node.input[0]);
    this.#twins.set(out(node), { name: this.#atLeast(node, source, node.input[1], node.input[2]) });
  }

  /** Quantisers leave a Relu out where the lowest quantised value is 0 anyway. */
  #atLeast(node: NodeProto, source: string, scale = '', zeroPoint = ''): string {
    const zero = zeroPoint === '' ? undefined : this.view.constant(zeroPoint);
    const isInput = this.view.graph.input.some(({ name }) => name === source);
    const made = this.#nodes.find(({ output }) => output.includes(source));
    if (isInput || lowestValue(this.view.constant(scale), zero) !== 0) return source;
    if (made && NEVER_NEGATIVE.has(made.opType)) return source;
    const name = this.#names.take(`${source}_at_least_0`);
    this.#nodes.push(copyMessage(makeNode('Relu', [source], [name]), { name: `${node.name || name}_Relu` }));
    this.#clamped++;
    return name;
  }

  #dequantize(node: NodeProto): void {
    const [quantised = '', scale = '', zeroPoint = ''] = node.input;
    const twin = this.#twins.get(quantised);
    if (twin) {
      this.#aliases.set(out(node), twin.name);
      return;
    }
    if ((attributeInt(node, 'block_size') ?? 0) !== 0) throw cannot(node, 'has scales for blocks of numbers');
    const name = this.#weight(node, quantised, {
      scale: numbers(this.#constant(node, scale)),
      zeroPoint,
      axis: attributeInt(node, 'axis') ?? 1,
    });
    this.#aliases.set(out(node), name);
  }

  #constant(node: NodeProto, name: string): ConstantValue {
    const value = constantValue(this.view, name);
    if (value === undefined)
      throw cannot(node, `reads ${name}, which is neither constant nor quantised here`);
    return value;
  }

  /** Float32 initializer of a quantised constant; shared where constant and scale are the same. */
  #weight(
    node: NodeProto,
    name: string,
    parts: { readonly scale: ArrayLike<number>; readonly zeroPoint: string; readonly axis: number },
  ): string {
    const quantised = this.#constant(node, name);
    const key = [quantised.root, quantised.dims, parts.zeroPoint, parts.axis, Array.from(parts.scale)].join();
    const known = this.#weights.get(key);
    if (known !== undefined) return known;
    const made = this.#names.take(quantised.root.replace(/_quantized$/, ''));
    const zeroPoint = parts.zeroPoint === '' ? undefined : this.#constant(node, parts.zeroPoint);
    this.initializers.push(dequantisedTensor(made, { ...parts, quantised, zeroPoint }));
    this.#weights.set(key, made);
    return made;
  }

  /** ConvInteger(x, w, zero of x, zero of w), Cast, Mul of the scales, Add of the bias. */
  #integer(node: NodeProto): void {
    const names = [node.input[0] ?? '', node.input[1] ?? ''];
    const twins = names.map((name) => this.#twins.get(name));
    const dynamic = twins.flatMap((twin) => (twin?.scale ? [twin.scale] : []));
    const constants = twins.filter((twin) => twin === undefined).length;
    if (dynamic.length + constants !== 2 || constants > 1) {
      throw cannot(node, 'has operands that are neither quantised dynamically nor constant');
    }
    const tail = integerTail(this.view, node, { dynamic, constant: constants === 1 });
    const isConv = node.opType === 'ConvInteger';
    const operands = names.map((name, place) => {
      const twin = twins[place];
      if (twin) return twin.name;
      const rank = this.#constant(node, name).dims.length;
      // Channels of the result, and their axis in the constant: a product keeps rows of the left, columns of the right.
      const axis = isConv ? 0 : place === 0 ? rank - 2 : rank - 1;
      const scale = weightScale(node, tail.factors, isConv ? rank - 2 : rank - 1 - axis);
      return this.#weight(node, name, { scale, zeroPoint: node.input[2 + place] ?? '', axis });
    });
    this.#plan(node, tail, operands);
  }

  #plan(node: NodeProto, tail: IntegerTail, operands: readonly string[]): void {
    const isConv = node.opType === 'ConvInteger';
    const weights = this.initializers.find(({ name }) => name === operands[1]);
    const bias =
      isConv && tail.bias && weights ? this.#bias(tail.bias.value, weights.dims.map(Number)) : undefined;
    const last = bias !== undefined && tail.bias ? tail.bias.add : tail.last;
    for (const passed of [...tail.nodes, last]) this.#skipped.add(passed);
    this.#planned.set(
      last,
      copyMessage(node, {
        opType: isConv ? 'Conv' : 'MatMul',
        name: node.name.replace(/_quant$/, ''),
        input: [...operands, ...(bias === undefined ? [] : [bias])],
        output: [out(last)],
      }),
    );
  }

  /** Name of the bias `[M]`, where the constant differs along the channels only. */
  #bias(value: ConstantValue, weightDims: readonly number[]): string | undefined {
    const channels = weightDims[0] ?? 0;
    const along = alongAxis(value, weightDims.length - 2);
    if (along === undefined || (along.length !== 1 && along.length !== channels)) return undefined;
    const stored = this.view.constant(value.root);
    if (stored?.dims.length === 1 && along.length === channels) return value.root;
    const name = this.#names.take(`${value.root}_channels`);
    const filled = Array.from({ length: channels }, (_, channel) => along[along.length === 1 ? 0 : channel]!);
    this.initializers.push(floats(name, [channels], filled));
    return name;
  }

  /** (x, scale, zero, w, scale, zero, scale of y, zero of y, bias in steps of both scales). */
  #linear(node: NodeProto): void {
    const [
      x = '',
      xScale = '',
      xZero = '',
      w = '',
      wScale = '',
      wZero = '',
      yScale = '',
      yZero = '',
      b = '',
    ] = node.input;
    const isConv = node.opType === 'QLinearConv';
    const operand = (name: string, scale: string, zeroPoint: string, axis: number) =>
      this.#twins.get(name)?.name ??
      this.#weight(node, name, { scale: numbers(this.#constant(node, scale)), zeroPoint, axis });
    const left = operand(x, xScale, xZero, isConv ? 1 : -2);
    const right = operand(w, wScale, wZero, isConv ? 0 : -1);
    const input = [left, right];
    if (b !== '') {
      const step = numbers(this.#constant(node, xScale))[0] ?? 1;
      const scale = numbers(this.#constant(node, wScale)).map((value) => value * step);
      input.push(this.#weight(node, b, { scale, zeroPoint: '', axis: 0 }));
    }
    const name = node.name.replace(/_quant$/, '');
    this.#nodes.push(copyMessage(node, { opType: isConv ? 'Conv' : 'MatMul', name, input }));
    this.#twins.set(out(node), { name: this.#atLeast(node, out(node), yScale, yZero) });
  }
}

const NEVER_NEGATIVE = new Set(['Relu', 'Sigmoid', 'Softmax', 'HardSigmoid', 'Exp', 'Abs']);

/** What ended in a DequantizeLinear now makes the output itself. */
function renamedNode(node: NodeProto, names: ReadonlyMap<string, string>): NodeProto {
  if (![...node.input, ...node.output].some((name) => names.has(name))) return node;
  const rename = (name: string) => names.get(name) ?? name;
  return copyMessage(node, { input: node.input.map(rename), output: node.output.map(rename) });
}

function out(node: NodeProto, place = 0): string {
  return node.output[place] ?? '';
}
