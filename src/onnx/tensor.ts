// Element types of ONNX tensors, and constant tensors as typed arrays.
import { fromHalfBits, ModelError } from '#core';

import type { TensorProto } from './proto/onnx_pb.ts';
import { TensorProto_DataLocation, TensorProto_DataType } from './proto/onnx_pb.ts';

/** The number that stands for an element type in the file. */
export const ElementType = TensorProto_DataType;

export type TensorData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

const names = new Map<number, string>(
  Object.entries(TensorProto_DataType).map(([name, number]) => [number, name.toLowerCase()]),
);
names.set(TensorProto_DataType.FLOAT, 'float32');
names.set(TensorProto_DataType.DOUBLE, 'float64');

/** `float32`, `float16`, `uint8`, ... as people write them. */
export function elementTypeName(elementType: number): string {
  return names.get(elementType) ?? `type ${elementType}`;
}

/** Number of elements that the dims ask for. */
export function elementCount(tensor: TensorProto): number {
  return tensor.dims.reduce((count, dim) => count * Number(dim), 1);
}

/** Whether the values lie in a file of their own. */
export function isExternal(tensor: TensorProto): boolean {
  return tensor.dataLocation === TensorProto_DataLocation.EXTERNAL;
}

/**
 * The values of a constant tensor in its own type; halves and bfloat16 are widened to float32.
 * A view into the file's bytes where their alignment allows it: do not write to it.
 * @throws ModelError for values in a file of their own, and for types that have no typed array (strings, 4 bit, float8)
 */
export function tensorValues(tensor: TensorProto): TensorData {
  if (isExternal(tensor)) {
    throw new ModelError(`tensor ${tensor.name} has its values in a file of its own`, {
      hint: 'merge the external data into the model, or export it as one file',
    });
  }
  const raw = Object.hasOwn(tensor, 'rawData') ? tensor.rawData : undefined;
  switch (tensor.dataType) {
    case ElementType.FLOAT:
      return raw ? view(raw, Float32Array) : Float32Array.from(tensor.floatData);
    case ElementType.DOUBLE:
      return raw ? view(raw, Float64Array) : Float64Array.from(tensor.doubleData);
    case ElementType.FLOAT16:
      return widen(raw, tensor, fromHalfBits);
    case ElementType.BFLOAT16:
      return widen(raw, tensor, fromBfloatBits);
    case ElementType.INT64:
      return raw ? view(raw, BigInt64Array) : BigInt64Array.from(tensor.int64Data);
    case ElementType.UINT64:
      return raw ? view(raw, BigUint64Array) : BigUint64Array.from(tensor.uint64Data);
    case ElementType.UINT32:
      return raw ? view(raw, Uint32Array) : Uint32Array.from(tensor.uint64Data, Number);
    case ElementType.INT32:
      return raw ? view(raw, Int32Array) : Int32Array.from(tensor.int32Data);
    case ElementType.INT16:
      return raw ? view(raw, Int16Array) : Int16Array.from(tensor.int32Data);
    case ElementType.UINT16:
      return raw ? view(raw, Uint16Array) : Uint16Array.from(tensor.int32Data);
    case ElementType.INT8:
      return raw ? view(raw, Int8Array) : Int8Array.from(tensor.int32Data);
    case ElementType.UINT8:
    case ElementType.BOOL:
      return raw ?? Uint8Array.from(tensor.int32Data);
    default:
      throw new ModelError(
        `tensor ${tensor.name} holds ${elementTypeName(tensor.dataType)}, which cannot be read here`,
        { hint: 'expected a float, integer or boolean tensor' },
      );
  }
}

/** The values as plain numbers (int64 included), for small constants. */
export function tensorNumbers(tensor: TensorProto): number[] {
  return Array.from(tensorValues(tensor) as ArrayLike<number | bigint>, Number);
}

interface ViewConstructor<T> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
}

function view<T>(raw: Uint8Array, type: ViewConstructor<T>): T {
  const size = type.BYTES_PER_ELEMENT;
  // raw_data may begin at any byte of the file, a typed array needs its own alignment; `slice` of a Buffer copies nothing.
  const bytes = raw.byteOffset % size === 0 ? raw : new Uint8Array(raw);
  return new type(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / size));
}

function widen(raw: Uint8Array | undefined, tensor: TensorProto, toFloat: (bits: number) => number) {
  const bits = raw ? view(raw, Uint16Array) : Uint16Array.from(tensor.int32Data);
  return Float32Array.from(bits, toFloat);
}

function fromBfloatBits(bits: number): number {
  return new Float32Array(new Uint32Array([bits << 16]).buffer)[0] ?? 0;
}
