// Small constant tensors while they are folded: numbers of any type in float64, rounded to their own after every step.
import { ElementType, type TensorData, type TensorProto, tensor, tensorNumbers } from '#onnx';

export interface FoldValue {
  readonly dims: readonly number[];
  /** Float32, int32, int64 or bool, as `ElementType`. */
  readonly type: number;
  readonly data: Float64Array;
}

/** More elements than these stay where they are: folding is for shapes, grids and factors, and not for weights. */
export const MOST_ELEMENTS = 131_072;

const MAKERS: Readonly<Record<number, (data: Float64Array) => TensorData>> = {
  [ElementType.FLOAT]: (data) => Float32Array.from(data),
  [ElementType.INT32]: (data) => Int32Array.from(data),
  [ElementType.INT64]: (data) => BigInt64Array.from(data, BigInt),
  [ElementType.BOOL]: (data) => Uint8Array.from(data),
};

export function isFoldable(type: number): boolean {
  return MAKERS[type] !== undefined;
}

export function countOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/** @returns undefined for other types, large tensors, and whole numbers that float64 does not hold */
export function foldValueOf(stored: TensorProto): FoldValue | undefined {
  const dims = stored.dims.map(Number);
  if (!isFoldable(stored.dataType) || countOf(dims) > MOST_ELEMENTS) return undefined;
  const data = Float64Array.from(tensorNumbers(stored));
  if (stored.dataType === ElementType.INT64 && !data.every(Number.isSafeInteger)) return undefined;
  return { dims, type: stored.dataType, data };
}

export function toTensor(name: string, { dims, type, data }: FoldValue): TensorProto {
  const make = MAKERS[type];
  if (make === undefined) throw new RangeError(`type ${type} is not folded`);
  return tensor(name, dims, make(data), type);
}

/** A number as its type holds it. */
function rounded(type: number, value: number): number {
  switch (type) {
    case ElementType.FLOAT:
      return Math.fround(value);
    case ElementType.BOOL:
      return value === 0 ? 0 : 1;
    case ElementType.INT32:
      return Math.trunc(value) | 0;
    default:
      return Math.trunc(value);
  }
}

/**
 * A value whose every element is a function of its place.
 * @param at gets the place on every axis; the array is used again
 * @returns undefined where it would be too large, or an element is no number of its type
 */
export function build(
  dims: readonly number[],
  type: number,
  at: (place: readonly number[]) => number,
): FoldValue | undefined {
  const count = countOf(dims);
  if (count > MOST_ELEMENTS || !isFoldable(type)) return undefined;
  const data = new Float64Array(count);
  const place = dims.map(() => 0);
  for (let index = 0; index < count; index++) {
    const value = at(place);
    if (type !== ElementType.FLOAT && !Number.isSafeInteger(Math.trunc(value))) return undefined;
    data[index] = rounded(type, value);
    for (let axis = dims.length - 1; axis >= 0; axis--) {
      const next = (place[axis] ?? 0) + 1;
      place[axis] = next === dims[axis] ? 0 : next;
      if (next !== dims[axis]) break;
    }
  }
  return { dims, type, data };
}

/** Element of a value at a place; leading axes that it lacks and axes of one element are repeated. */
export function read({ dims, data }: FoldValue, place: readonly number[]): number {
  let index = 0;
  const skipped = place.length - dims.length;
  for (let axis = 0; axis < dims.length; axis++) {
    const size = dims[axis] ?? 1;
    index = index * size + (size === 1 ? 0 : (place[axis + skipped] ?? 0));
  }
  return data[index] ?? Number.NaN;
}

/** @returns undefined where the shapes do not fit */
export function broadcastDims(all: readonly (readonly number[])[]): readonly number[] | undefined {
  const rank = Math.max(...all.map(({ length }) => length));
  const sizesAt = (axis: number) => all.map((dims) => dims[axis - rank + dims.length] ?? 1);
  const result = Array.from({ length: rank }, (_, axis) => sizesAt(axis).find((size) => size !== 1) ?? 1);
  const fits = result.every((size, axis) => sizesAt(axis).every((other) => other === size || other === 1));
  return fits ? result : undefined;
}
