// What passes write new nodes with: names that nothing in the graph has, in the form that the model's opset knows.
import {
  type AttributeValue,
  ElementType,
  FreeNames,
  floats,
  graphOf,
  ints,
  type ModelProto,
  type NodeProto,
  node,
  opsetVersion,
  type TensorProto,
} from '#onnx';

/** Up to here Slice has its bounds as attributes. */
const LAST_SLICE_WITH_ATTRIBUTES = 9;

/** Collects nodes, in the order in which they run, and their constants. */
export class GraphWriter {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #names: FreeNames;
  readonly #prefix: string;
  readonly #opset: number;
  readonly #nodeNames: Set<string>;

  /** @param prefix of the new names, as `decode.` */
  constructor(model: ModelProto, prefix: string) {
    this.#names = new FreeNames(graphOf(model));
    this.#prefix = prefix;
    this.#opset = opsetVersion(model);
    this.#nodeNames = new Set(graphOf(model).node.map(({ name }) => name));
  }

  /** @returns the name of the node's one output */
  add(
    opType: string,
    inputs: readonly string[],
    label: string,
    attributes: Readonly<Record<string, AttributeValue>> = {},
  ): string {
    return this.addMany(opType, inputs, [label], attributes)[0] ?? '';
  }

  /** @returns the names of the node's outputs */
  addMany(
    opType: string,
    inputs: readonly string[],
    labels: readonly string[],
    attributes: Readonly<Record<string, AttributeValue>> = {},
  ): readonly string[] {
    const outputs = labels.map((label) => this.#take(label));
    this.#push(node(opType, inputs, outputs, attributes));
    return outputs;
  }

  /** Makes a tensor known under a name of the caller's. */
  name(from: string, name: string): void {
    this.#push(node('Identity', [from], [name]));
  }

  floats(label: string, dims: readonly number[], values: Iterable<number>): string {
    const name = this.#take(label);
    this.initializers.push(floats(name, dims, values));
    return name;
  }

  ints(label: string, values: readonly number[]): string {
    const name = this.#take(label);
    this.initializers.push(ints(name, values));
    return name;
  }

  /** @param dims 0 keeps an axis as it is, -1 takes what is left */
  reshape(from: string, label: string, dims: readonly number[]): string {
    return this.add('Reshape', [from, this.ints(`${label}.shape`, dims)], label);
  }

  transpose(from: string, label: string, order: readonly number[]): string {
    return this.add('Transpose', [from], label, { perm: order.map(BigInt) });
  }

  /** Elements `start` to before `end` along one axis. */
  slice(from: string, label: string, axis: number, [start, end]: readonly [number, number]): string {
    if (this.#opset <= LAST_SLICE_WITH_ATTRIBUTES) {
      const attributes = { axes: [BigInt(axis)], starts: [BigInt(start)], ends: [BigInt(end)] };
      return this.add('Slice', [from], label, attributes);
    }
    const bounds = [
      this.ints(`${label}.start`, [start]),
      this.ints(`${label}.end`, [end]),
      this.ints(`${label}.axis`, [axis]),
    ];
    return this.add('Slice', [from, ...bounds], label);
  }

  /** Joined along one axis; a single part is left as it is. */
  join(parts: readonly string[], label: string, axis: number): string {
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    return this.add('Concat', parts, label, { axis: BigInt(axis) });
  }

  toFloat32(from: string, label: string): string {
    return this.add('Cast', [from], label, { to: BigInt(ElementType.FLOAT) });
  }

  /** The runtime refuses two nodes of one name, as those of an earlier export would be. */
  #push(made: NodeProto): void {
    while (this.#nodeNames.has(made.name)) made.name += '_';
    this.#nodeNames.add(made.name);
    this.nodes.push(made);
  }

  #take(label: string): string {
    return this.#names.take(`${this.#prefix}${label}`);
  }
}
