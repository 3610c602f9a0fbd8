// A float32 network in half precision, tensor by tensor, with float32 left where halves are too coarse or too short.
import { ModelError } from '#core';
import type { ModelProto, NodeProto, TensorProto, ValueInfoProto } from '#onnx';
import {
  copyMessage,
  ElementType,
  FreeNames,
  inferElementTypes,
  node as makeNode,
  nodeLabel,
  prune,
  viewGraph,
  withGraph,
} from '#onnx';
import { type HalfRules, keptFloatNodes, staysFloat } from './half-rules.ts';
import { halfTensor } from './half-values.ts';
import type { TensorRanges } from './ranges.ts';

export interface HalfOptions {
  /** Of the same model; nodes whose tensors went beyond `limit` stay float32. Without ranges nothing is guarded. */
  readonly ranges?: TensorRanges;
  /** Default 8188, an eighth of the largest half. */
  readonly limit?: number;
  /** Names of further nodes that stay float32. */
  readonly keep?: readonly string[];
}

export interface KeptNode {
  /** Name and operator. */
  readonly node: string;
  readonly because: string;
}

export interface HalfModel {
  readonly model: ModelProto;
  /** Nodes that work in half precision. */
  readonly converted: number;
  /** Nodes on float32 that stayed so. */
  readonly keptFloat: readonly KeptNode[];
}

/**
 * Constants become halves (nearest even, clamped to ±65504), Casts stand where half and float32 meet. Inputs and
 * outputs stay float32, and so does what lies behind the last convolutions: the decoding of boxes, softmax, moments.
 * @throws ModelError naming the node for operators that have no half form here, or where nothing was left to convert
 */
export function toHalf(original: ModelProto, options: HalfOptions = {}): HalfModel {
  const model = withoutConstantNodes(original);
  const view = viewGraph(model);
  const typeOf = inferElementTypes(model);
  const rules: HalfRules = { ranges: options.ranges, limit: options.limit, keep: new Set(options.keep) };
  const kept = keptFloatNodes(view, typeOf, rules);
  const writer = new HalfWriter(model, typeOf);
  for (const node of view.graph.node) writer.write(node, kept.has(node));
  if (writer.converted === 0) {
    throw new ModelError('no node of this network can work in half precision', {
      hint: 'a detector has convolutions on float32; see edge-detect inspect',
    });
  }
  return {
    model: prune(writer.finish()),
    converted: writer.converted,
    keptFloat: [...kept].map(([node, because]) => ({ node: nodeLabel(node), because })),
  };
}

/** Constant nodes on floats as initializers, so that both kinds are handled in one way. */
export function withoutConstantNodes(model: ModelProto): ModelProto {
  const view = viewGraph(model);
  const stored: TensorProto[] = [];
  const node = view.graph.node.filter((made) => {
    const [name = ''] = made.output;
    const constant = made.opType === 'Constant' ? view.constant(name) : undefined;
    if (constant !== undefined) stored.push(copyMessage(constant, { name }));
    return constant === undefined;
  });
  if (stored.length === 0) return model;
  return withGraph(model, { node, initializer: [...view.graph.initializer, ...stored] });
}

class HalfWriter {
  readonly #model: ModelProto;
  readonly #view;
  readonly #typeOf: (name: string) => number | undefined;
  readonly #names: FreeNames;
  readonly #outputs: ReadonlySet<string>;
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: TensorProto[] = [];
  /** Float tensor of the original → its half. */
  readonly #halves = new Map<string, string>();
  /** Half tensors → their widened twin. */
  readonly #widened = new Map<string, string>();
  /** Tensors that are halves under their own name. */
  readonly #replaced = new Set<string>();
  converted = 0;

  constructor(model: ModelProto, typeOf: (name: string) => number | undefined) {
    this.#model = model;
    this.#view = viewGraph(model);
    this.#typeOf = typeOf;
    this.#names = new FreeNames(this.#view.graph);
    this.#outputs = new Set(this.#view.graph.output.map(({ name }) => name));
  }

  write(node: NodeProto, keepsFloat: boolean): void {
    const floats = [...node.input, ...node.output].filter((name) => this.#isFloat(name));
    if (keepsFloat || floats.length === 0) {
      const input = node.input.map((name) => (this.#isFloat(name) ? this.#wide(name) : name));
      this.#nodes.push(copyMessage(node, { input }));
      return;
    }
    this.converted++;
    const input = node.input.map((name, place) => {
      if (!this.#isFloat(name)) return name;
      return staysFloat(node, place) ? this.#wide(name) : this.#half(name);
    });
    const output = node.output.map((name) => (this.#isFloat(name) ? this.#madeHalf(name) : name));
    this.#nodes.push(copyMessage(node, { input, output }));
    for (const name of node.output) if (this.#isFloat(name) && this.#outputs.has(name)) this.#widen(name);
  }

  finish(): ModelProto {
    const { graph } = this.#view;
    return withGraph(this.#model, {
      node: this.#nodes,
      initializer: [...graph.initializer, ...this.#initializers],
      valueInfo: graph.valueInfo.map((info) => (this.#replaced.has(info.name) ? halfInfo(info) : info)),
    });
  }

  #isFloat(name: string): boolean {
    return name !== '' && this.#typeOf(name) === ElementType.FLOAT;
  }

  /** An output of the graph keeps its name for the float32 that is made of it. */
  #madeHalf(name: string): string {
    const half = this.#outputs.has(name) ? this.#names.take(`${name}_half`) : name;
    this.#halves.set(name, half);
    if (half === name) this.#replaced.add(name);
    return half;
  }

  #half(name: string): string {
    const known = this.#halves.get(name);
    if (known !== undefined) return known;
    const half = this.#names.take(`${name}_half`);
    this.#halves.set(name, half);
    const constant = this.#view.constant(name);
    if (constant) this.#initializers.push(halfTensor(half, constant));
    else this.#cast(name, half, ElementType.FLOAT16);
    return half;
  }

  #wide(name: string): string {
    if (!this.#replaced.has(name)) return name;
    const known = this.#widened.get(name);
    if (known !== undefined) return known;
    const wide = this.#names.take(`${name}_float`);
    this.#widened.set(name, wide);
    this.#cast(name, wide, ElementType.FLOAT);
    return wide;
  }

  #widen(name: string): void {
    this.#cast(this.#half(name), name, ElementType.FLOAT);
  }

  #cast(from: string, to: string, elementType: number): void {
    this.#nodes.push(makeNode('Cast', [from], [to], { to: BigInt(elementType) }));
  }
}

function halfInfo(info: ValueInfoProto): ValueInfoProto {
  const { type } = info;
  if (type?.value.case !== 'tensorType') return info;
  const value = copyMessage(type.value.value, { elemType: ElementType.FLOAT16 });
  return copyMessage(info, { type: copyMessage(type, { value: { case: 'tensorType', value } }) });
}
