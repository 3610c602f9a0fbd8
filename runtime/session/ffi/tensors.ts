// Between typed arrays and the tensors of ONNX Runtime's C API.
import { fromHalfBits, type HeadTensor, toHalfBits } from '#core';
import { ElementType, elementTypeName } from '#onnx';
import type { Pointer } from './api.ts';
import type { OrtLibrary } from './library.ts';

/** The arrays that a native tensor can lie in. */
export type NativeArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array;

type NativeArrayType = new (length: number) => NativeArray;

const ARRAYS: Readonly<Record<number, NativeArrayType>> = {
  [ElementType.FLOAT]: Float32Array,
  [ElementType.UINT8]: Uint8Array,
  [ElementType.BOOL]: Uint8Array,
  [ElementType.INT32]: Int32Array,
  [ElementType.INT64]: BigInt64Array,
  [ElementType.FLOAT16]: Uint16Array,
  [ElementType.DOUBLE]: Float64Array,
};

/** Name, element type and declared shape of one input or output; -1 stands for an open axis. */
export interface TensorInfo {
  readonly name: string;
  readonly elementType: number;
  readonly shape: readonly number[];
}

/** @throws Error for an element type that no detector head has */
export function createArray(elementType: number, length: number): NativeArray {
  const type = ARRAYS[elementType];
  if (type === undefined) {
    throw new Error(`output type ${elementTypeName(elementType)} is not one that a detector head can have`);
  }
  return new type(length);
}

/** Halves and doubles become float32; everything else stays where it is. */
export function toHeadTensor(elementType: number, shape: readonly number[], data: NativeArray): HeadTensor {
  if (elementType === ElementType.FLOAT16) {
    return { shape, data: Float32Array.from(data as Uint16Array, fromHalfBits) };
  }
  if (data instanceof Float64Array) return { shape, data: Float32Array.from(data) };
  return { shape, data: data as HeadTensor['data'] };
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

/** What an input is handed over as: halves where the graph takes halves. */
export function toNativeInput(
  input: Float32Array | Uint8Array,
  wanted: number | undefined,
): { readonly elementType: number; readonly data: NativeArray } {
  if (input instanceof Uint8Array) return { elementType: ElementType.UINT8, data: input };
  if (wanted === ElementType.FLOAT16) {
    return { elementType: ElementType.FLOAT16, data: Uint16Array.from(input, toHalfBits) };
  }
  return { elementType: ElementType.FLOAT, data: input };
}

/** A tensor that lies in `data`, which must outlive it. @throws OrtFault where the array is too short for the shape */
export function tensorOver(
  { api, memoryInfo }: OrtLibrary,
  { elementType, shape, data }: { elementType: number; shape: readonly number[]; data: NativeArray },
): bigint {
  const slot = new BigUint64Array(1);
  const axes = BigInt64Array.from(shape, BigInt);
  api.call(
    'CreateTensorWithDataAsOrtValue',
    memoryInfo,
    data,
    data.byteLength,
    axes,
    axes.length,
    elementType,
    slot,
  );
  return slot[0] ?? 0n;
}

/** Copies a tensor out of the runtime's memory. */
export function readTensor(
  library: OrtLibrary,
  value: Pointer,
): { readonly elementType: number; readonly shape: readonly number[]; readonly data: NativeArray } {
  const { api, koffi } = library;
  const slot = new BigUint64Array(1);
  api.call('GetTensorTypeAndShape', value, slot);
  const info = slot[0] ?? null;
  try {
    const { elementType, shape } = typeAndShape(library, info);
    const empty = createArray(elementType, 0);
    const count = elementCount(shape);
    if (count === 0) return { elementType, shape, data: empty };
    api.call('GetTensorMutableData', value, slot);
    const bytes: Uint8Array = koffi.decode(slot[0], 'uint8', count * empty.BYTES_PER_ELEMENT);
    const ArrayType = empty.constructor as new (buffer: ArrayBufferLike) => NativeArray;
    return { elementType, shape, data: new ArrayType(bytes.buffer) };
  } finally {
    api.release('TensorTypeAndShapeInfo', info);
  }
}

/** @param info `OrtTensorTypeAndShapeInfo` */
export function typeAndShape(
  { api }: OrtLibrary,
  info: Pointer,
): { readonly elementType: number; readonly shape: readonly number[] } {
  const type = new Int32Array(1);
  const count = new BigUint64Array(1);
  api.call('GetTensorElementType', info, type);
  api.call('GetDimensionsCount', info, count);
  const axes = new BigInt64Array(Number(count[0]));
  api.call('GetDimensions', info, axes, axes.length);
  return { elementType: type[0] ?? 0, shape: Array.from(axes, Number) };
}
