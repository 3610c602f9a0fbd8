// Small constructors for ONNX graphs: what tests and our own graphs are made of.
import { create } from '@bufbuild/protobuf';
import { ModelError, toHalfBits } from '#core';
import type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
  ValueInfoProto,
} from './proto/onnx_pb.ts';
import {
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  TensorProtoSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from './proto/onnx_pb.ts';
import type { TensorData } from './tensor.ts';
import { ElementType } from './tensor.ts';

/** What our own graphs are written as: the highest that TensorRT 8.5 (JetPack 5) takes. */
export const OWN_IR_VERSION = 8;
export const OWN_OPSET = 17;

/** A bigint is an INT, a number a FLOAT; an empty array is INTS. */
export type AttributeValue =
  | bigint
  | number
  | string
  | readonly bigint[]
  | readonly number[]
  | readonly string[]
  | TensorProto;

/** Attributes are written in the order of their names, so that equal graphs give equal bytes. */
export function node(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, AttributeValue>> = {},
): NodeProto {
  const names = Object.keys(attributes).sort();
  return create(NodeProtoSchema, {
    opType,
    input: [...inputs],
    output: [...outputs],
    name: `${opType}_${outputs[0] ?? ''}`,
    attribute: names.map((name) => attribute(name, attributes[name] as AttributeValue)),
  });
}

const encoder = new TextEncoder();

function attribute(name: string, value: AttributeValue): AttributeProto {
  const of = (fields: Parameters<typeof create<typeof AttributeProtoSchema>>[1]) =>
    create(AttributeProtoSchema, { name, ...(fields as object) });
  if (typeof value === 'bigint') {
    return of({ type: AttributeType.INT, i: value });
  }
  if (typeof value === 'number') {
    return of({ type: AttributeType.FLOAT, f: value });
  }
  if (typeof value === 'string') {
    return of({ type: AttributeType.STRING, s: encoder.encode(value) });
  }
  if ('$typeName' in value) {
    return of({ type: AttributeType.TENSOR, t: value });
  }
  if (typeof value[0] === 'string') {
    return of({ type: AttributeType.STRINGS, strings: value.map((text) => encoder.encode(String(text))) });
  }
  if (typeof value[0] === 'number') {
    return of({ type: AttributeType.FLOATS, floats: value.map(Number) });
  }
  return of({ type: AttributeType.INTS, ints: value.map((item) => BigInt(item)) });
}

/**
 * A constant. The element type follows from the array unless it is given, as `FLOAT16` for a Float32Array of values
 * to be rounded, or `BOOL` for a Uint8Array.
 * @throws ModelError when the values do not fill the dims
 */
export function tensor(
  name: string,
  dims: readonly number[],
  data: TensorData,
  elementType: number = elementTypeOf(data),
): TensorProto {
  const expected = dims.reduce((count, dim) => count * dim, 1);
  if (expected !== data.length) {
    throw new ModelError(
      `tensor ${name} of shape [${dims.join(', ')}] needs ${expected} values, found ${data.length}`,
      {
        hint: 'give as many values as the product of the dims',
      },
    );
  }
  const stored =
    elementType === ElementType.FLOAT16 && data instanceof Float32Array
      ? Uint16Array.from(data, toHalfBits)
      : data;
  const rawData = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength).slice();
  return create(TensorProtoSchema, { name, dims: dims.map(BigInt), dataType: elementType, rawData });
}

function elementTypeOf(data: TensorData): number {
  if (data instanceof Float32Array) return ElementType.FLOAT;
  if (data instanceof Float64Array) return ElementType.DOUBLE;
  if (data instanceof BigInt64Array) return ElementType.INT64;
  if (data instanceof BigUint64Array) return ElementType.UINT64;
  if (data instanceof Int32Array) return ElementType.INT32;
  if (data instanceof Uint32Array) return ElementType.UINT32;
  if (data instanceof Int16Array) return ElementType.INT16;
  if (data instanceof Uint16Array) return ElementType.UINT16;
  return data instanceof Int8Array ? ElementType.INT8 : ElementType.UINT8;
}

/** Float32 constant from plain numbers. */
export function floats(name: string, dims: readonly number[], values: Iterable<number>): TensorProto {
  return tensor(name, dims, Float32Array.from(values));
}

/** Rank-1 int64 constant, as shape, axes and index inputs want it. */
export function ints(name: string, values: readonly number[]): TensorProto {
  return tensor(name, [values.length], BigInt64Array.from(values, BigInt));
}

/** A typed value; a string axis is symbolic, null is unknown, and without a shape even the rank is open. */
export function valueInfo(
  name: string,
  elementType: number,
  shape?: readonly (number | string | null)[],
): ValueInfoProto {
  const dim = shape?.map((axis) => {
    if (typeof axis === 'number') return { value: { case: 'dimValue' as const, value: BigInt(axis) } };
    return axis === null ? {} : { value: { case: 'dimParam' as const, value: axis } };
  });
  const tensorType = { elemType: elementType, ...(dim ? { shape: { dim } } : {}) };
  const type = create(TypeProtoSchema, { value: { case: 'tensorType', value: tensorType as never } });
  return create(ValueInfoProtoSchema, { name, type });
}

export interface GraphParts {
  readonly name?: string;
  readonly nodes: readonly NodeProto[];
  readonly inputs: readonly ValueInfoProto[];
  readonly outputs: readonly ValueInfoProto[];
  readonly initializers?: readonly TensorProto[];
}

/** Nodes must already be in an order in which each comes after what it reads. */
export function graph({ name = 'graph', nodes, inputs, outputs, initializers = [] }: GraphParts): GraphProto {
  return create(GraphProtoSchema, {
    name,
    node: [...nodes],
    input: [...inputs],
    output: [...outputs],
    initializer: [...initializers],
  });
}

export interface ModelParts {
  readonly opset?: number;
  readonly irVersion?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export function model(graph: GraphProto, parts: ModelParts = {}): ModelProto {
  const { opset = OWN_OPSET, irVersion = OWN_IR_VERSION, metadata = {} } = parts;
  return create(ModelProtoSchema, {
    irVersion: BigInt(irVersion),
    producerName: 'edge-detect',
    graph,
    opsetImport: [{ domain: '', version: BigInt(opset) }],
    metadataProps: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  });
}
