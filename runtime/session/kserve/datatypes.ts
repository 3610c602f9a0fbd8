// Elements of tensors between the protocol's little-endian bytes and the arrays of this runtime.
import type { HeadTensor } from '#core';
import { fromHalfArray, toHalfArray } from '#core';
import type { InputArray } from '../session.ts';
import { type OutputTensor, TransportFault } from './transport.ts';

interface Datatype {
  readonly bytes: number;
  /** From fresh memory of exactly the tensor's length. */
  readonly view: (memory: ArrayBuffer) => HeadTensor['data'];
  /** From the numbers of a JSON answer. */
  readonly pack: (numbers: readonly number[]) => ArrayBufferView;
}

/** The types that an output of a detector can have, each as the runtimes of this machine give it. */
const DATATYPES: Readonly<Record<string, Datatype>> = {
  FP32: {
    bytes: 4,
    view: (memory) => new Float32Array(memory),
    pack: (numbers) => Float32Array.from(numbers),
  },
  FP16: {
    bytes: 2,
    view: (memory) => fromHalfArray(new Uint16Array(memory)),
    pack: (numbers) => toHalfArray(Float32Array.from(numbers)),
  },
  FP64: {
    bytes: 8,
    view: (memory) => Float32Array.from(new Float64Array(memory)),
    pack: (numbers) => Float64Array.from(numbers),
  },
  UINT8: { bytes: 1, view: (memory) => new Uint8Array(memory), pack: (numbers) => Uint8Array.from(numbers) },
  INT32: { bytes: 4, view: (memory) => new Int32Array(memory), pack: (numbers) => Int32Array.from(numbers) },
  INT64: {
    bytes: 8,
    view: (memory) => new BigInt64Array(memory),
    pack: (numbers) => BigInt64Array.from(numbers, BigInt),
  },
};

export const OUTPUT_TYPES: readonly string[] = Object.keys(DATATYPES);

/** @throws TransportFault for a type that no output has here */
export function bytesPerElement({ name, datatype }: Pick<OutputTensor, 'name' | 'datatype'>): number {
  return datatypeOf(name, datatype).bytes;
}

export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

/**
 * @returns fresh memory
 * @throws TransportFault where the bytes are not those of the shape
 */
export function toHeadTensor(tensor: OutputTensor): HeadTensor {
  const { name, datatype, shape, bytes } = tensor;
  const type = datatypeOf(name, datatype);
  const expected = elementsOf(shape) * type.bytes;
  if (bytes === undefined || bytes.length !== expected) {
    throw new TransportFault(
      'garbled',
      `output ${name} came with ${bytes?.length ?? 0} bytes, ${datatype}[${shape.join(',')}] has ${expected}`,
    );
  }
  return { shape, data: type.view(new Uint8Array(bytes).buffer) };
}

/** Bytes of the numbers in a JSON answer, which may be nested by axis. */
export function packNumbers(name: string, datatype: string, numbers: readonly unknown[]): Uint8Array {
  const flat = numbers.flat(Number.POSITIVE_INFINITY);
  const wrong = flat.find((value) => typeof value !== 'number');
  if (wrong !== undefined) throw new TransportFault('garbled', `output ${name} holds ${String(wrong)}`);
  const { buffer, byteOffset, byteLength } = datatypeOf(name, datatype).pack(flat as number[]);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** @returns a view where the server takes the numbers as they are, or their nearest float16 */
export function toInputBytes(input: InputArray, datatype: string): Uint8Array {
  const array = datatype === 'FP16' && input instanceof Float32Array ? toHalfArray(input) : input;
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function datatypeOf(name: string, datatype: string): Datatype {
  const known = DATATYPES[datatype];
  if (known !== undefined) return known;
  throw new TransportFault('garbled', `output ${name} has type ${datatype}, which no detector head has`);
}
