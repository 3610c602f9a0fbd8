// A read-only view of a graph: who makes a tensor, who reads it, what is constant, what shapes are written down.
import { create } from '@bufbuild/protobuf';
import { ModelError } from '#core';
import type { GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto } from './proto/onnx_pb.ts';
import { TensorProtoSchema } from './proto/onnx_pb.ts';
import { ElementType } from './tensor.ts';

/** An axis: a number, a symbolic name, or null where the file says nothing. */
export type Axis = number | string | null;

export interface GraphView {
  readonly graph: GraphProto;
  /** The node that makes a tensor; undefined for inputs and initializers. */
  producer(tensorName: string): NodeProto | undefined;
  /** The nodes that read a tensor, in file order. */
  consumers(tensorName: string): readonly NodeProto[];
  /** The value of a tensor that is an initializer or made by a Constant node. */
  constant(tensorName: string): TensorProto | undefined;
  /** Declared shape of an input, output or intermediate tensor, or of a constant. */
  shape(tensorName: string): readonly Axis[] | undefined;
  /** Declared element type, as `ElementType` numbers. */
  elementType(tensorName: string): number | undefined;
}

/** @throws ModelError when the model has no graph */
export function viewGraph(model: ModelProto): GraphView {
  const graph = graphOf(model);
  const producers = new Map<string, NodeProto>();
  const consumers = new Map<string, NodeProto[]>();
  for (const node of graph.node) {
    for (const output of node.output) producers.set(output, node);
    for (const input of node.input) {
      const readers = consumers.get(input);
      if (readers) readers.push(node);
      else consumers.set(input, [node]);
    }
  }
  const initializers = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]));
  const infos = new Map(
    [...graph.valueInfo, ...graph.output, ...graph.input].map((info) => [info.name, info]),
  );
  const constant = (name: string) => initializers.get(name) ?? constantOfNode(producers.get(name));
  return {
    graph,
    producer: (name) => producers.get(name),
    consumers: (name) => consumers.get(name) ?? [],
    constant,
    shape: (name) => shapeOf(infos.get(name)) ?? constant(name)?.dims.map(Number),
    elementType: (name) => elementTypeOf(infos.get(name)) ?? constant(name)?.dataType,
  };
}

/** @throws ModelError when the model has no graph */
export function graphOf(model: ModelProto): GraphProto {
  if (!model.graph) {
    throw new ModelError('the ONNX file holds no graph', { hint: 'export the model again' });
  }
  return model.graph;
}

function constantOfNode(node: NodeProto | undefined): TensorProto | undefined {
  if (node?.opType !== 'Constant') return undefined;
  const name = node.output[0] ?? '';
  for (const attribute of node.attribute) {
    switch (attribute.name) {
      case 'value':
        return attribute.t;
      case 'value_float':
        return create(TensorProtoSchema, { name, dataType: ElementType.FLOAT, floatData: [attribute.f] });
      case 'value_int':
        return create(TensorProtoSchema, { name, dataType: ElementType.INT64, int64Data: [attribute.i] });
      case 'value_floats':
        return create(TensorProtoSchema, {
          name,
          dataType: ElementType.FLOAT,
          dims: [BigInt(attribute.floats.length)],
          floatData: attribute.floats,
        });
      case 'value_ints':
        return create(TensorProtoSchema, {
          name,
          dataType: ElementType.INT64,
          dims: [BigInt(attribute.ints.length)],
          int64Data: attribute.ints,
        });
    }
  }
  return undefined;
}

/** Shape written into a value info; undefined where even the rank is open. */
export function shapeOf(info: ValueInfoProto | undefined): readonly Axis[] | undefined {
  const value = info?.type?.value;
  if (value?.case !== 'tensorType' || !value.value.shape) return undefined;
  return value.value.shape.dim.map(({ value: axis }) => {
    if (axis.case === 'dimValue') return Number(axis.value);
    return axis.case === 'dimParam' && axis.value !== '' ? axis.value : null;
  });
}

export function elementTypeOf(info: ValueInfoProto | undefined): number | undefined {
  const value = info?.type?.value;
  return value?.case === 'tensorType' ? value.value.elemType : undefined;
}

/** Version of the standard operator set that a model is written in; 0 where it names none. */
export function opsetVersion({ opsetImport }: ModelProto): number {
  const standard = opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx');
  return Number(standard?.version ?? 0n);
}

export function attributeInt(node: NodeProto, name: string): number | undefined {
  const found = node.attribute.find((attribute) => attribute.name === name);
  return found ? Number(found.i) : undefined;
}

export function attributeInts(node: NodeProto, name: string): readonly number[] | undefined {
  return node.attribute.find((attribute) => attribute.name === name)?.ints.map(Number);
}

/**
 * Takes initializers out of the graph's inputs. Graphs of IR 3 had to list them there, and the runtime then treats
 * every weight as something a caller may replace: hundreds of warnings, and no constant folding.
 */
export function normalizeInputs(model: ModelProto): ModelProto {
  const graph = graphOf(model);
  const constants = new Set(graph.initializer.map((tensor) => tensor.name));
  const input = graph.input.filter((info) => !constants.has(info.name));
  return input.length === graph.input.length ? model : withGraph(model, { input });
}

/** A model whose graph differs in the given fields; everything else is shared with the original. */
export function withGraph(model: ModelProto, changes: Partial<GraphProto>): ModelProto {
  return copyMessage(model, { graph: copyMessage(graphOf(model), changes) });
}

// Default values live on the prototype of a message, so a spread would lose them.
export function copyMessage<T extends object>(message: T, changes: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, changes);
}
