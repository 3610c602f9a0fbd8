// Writes nodes one by one, names their outputs, and knows the shape of each.
import type { AttributeValue, NodeProto, Shape, TensorProto } from '#onnx';
import { ints as intsTensor, node as makeNode, tensor } from '#onnx';

export interface Emitter {
  readonly nodes: readonly NodeProto[];
  readonly constants: ReadonlyMap<string, TensorProto>;
  /** Appends a node with one output of the given shape. @returns the name of the output */
  emit(
    opType: string,
    inputs: readonly string[],
    shape: Shape,
    attributes?: Readonly<Record<string, AttributeValue>>,
  ): string;
  /** Appends a node with several outputs. */
  emitAll(
    opType: string,
    inputs: readonly string[],
    shapes: readonly Shape[],
    attributes?: Readonly<Record<string, AttributeValue>>,
  ): readonly string[];
  /** Name of a rank-1 int64 constant. */
  ints(values: readonly number[]): string;
  /** Name of a float32 constant. */
  floats(dims: readonly number[], values: Float32Array): string;
  scalar(value: number): string;
  /** Name of a tensor with the same values in another shape; the same name where the shape is the same already. */
  reshape(name: string, shape: Shape): string;
  transpose(name: string, permutation: readonly number[]): string;
  shape(name: string): Shape;
}

/** @param shapeOf shapes of the tensors that exist before */
export function createEmitter(prefix: string, shapeOf: (name: string) => Shape | undefined): Emitter {
  const nodes: NodeProto[] = [];
  const constants = new Map<string, TensorProto>();
  const shapes = new Map<string, Shape>();
  const written = new Map<string, string>();
  const shape = (name: string): Shape => {
    const found = shapes.get(name) ?? shapeOf(name);
    if (found === undefined) throw new Error(`tensor ${name} has no shape`);
    return found;
  };
  const constant = (key: string, make: (name: string) => TensorProto): string => {
    const known = written.get(key);
    if (known !== undefined) return known;
    const name = `${prefix}constant_${constants.size}`;
    written.set(key, name);
    const made = make(name);
    constants.set(name, made);
    shapes.set(name, made.dims.map(Number));
    return name;
  };
  const emitAll: Emitter['emitAll'] = (opType, inputs, outputShapes, attributes = {}) => {
    // Two readers of the same transposed or recomputed tensor share one node.
    const key = `${opType}|${inputs.join()}|${outputShapes.length}|${keyOf(attributes)}|${outputShapes.join(';')}`;
    const known = written.get(key);
    if (known !== undefined) return known.split('\n');
    const names = outputShapes.map((_, index) => `${prefix}${nodes.length}_${index}`);
    names.forEach((name, index) => {
      shapes.set(name, outputShapes[index] ?? []);
    });
    nodes.push(makeNode(opType, inputs, names, attributes));
    written.set(key, names.join('\n'));
    return names;
  };
  const emit: Emitter['emit'] = (opType, inputs, outputShape, attributes) =>
    emitAll(opType, inputs, [outputShape], attributes)[0] ?? '';
  const ints: Emitter['ints'] = (values) =>
    constant(`ints ${values.join()}`, (name) => intsTensor(name, values));
  const floats: Emitter['floats'] = (dims, values) =>
    constant(`floats ${dims.join()} ${values.join()}`, (name) => tensor(name, dims, values));
  return {
    nodes,
    constants,
    emit,
    emitAll,
    ints,
    floats,
    scalar: (value) => floats([], Float32Array.of(value)),
    shape,
    reshape: (name, to) => (equalShapes(shape(name), to) ? name : emit('Reshape', [name, ints(to)], to)),
    transpose(name, permutation) {
      if (permutation.every((axis, index) => axis === index)) return name;
      const from = shape(name);
      const to = permutation.map((axis) => from[axis] ?? 1);
      return emit('Transpose', [name], to, { perm: permutation.map(BigInt) });
    },
  };
}

function keyOf(attributes: Readonly<Record<string, AttributeValue>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${String(value)}${typeof value}`)
    .join();
}

export function equalShapes(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

export function elementsOf(shape: Shape): number {
  return shape.reduce((count, size) => count * size, 1);
}
