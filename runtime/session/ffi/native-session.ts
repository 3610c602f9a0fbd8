// One loaded graph of ONNX Runtime's C API: what it takes and gives, and its runs.
import type { HeadTensor } from '#core';
import type { OrtApi, Pointer } from './api.ts';
import type { OrtLibrary } from './library.ts';
import {
  createArray,
  elementCount,
  type NativeArray,
  readTensor,
  type TensorInfo,
  tensorOver,
  toHeadTensor,
  toNativeInput,
  typeAndShape,
} from './tensors.ts';

/** A tensor that is fed. */
export interface Fed {
  readonly shape: readonly number[];
  readonly data: Float32Array | Uint8Array;
}

export interface NativeSession {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  readonly pointer: Pointer;
  /**
   * Feeds are read where they lie and must stay as they are until the run has ended.
   * @param feeds by the name of the input
   * @returns outputs by name, in the graph's order; fresh memory that belongs to the caller
   * @throws OrtFault in the runtime's words
   */
  run(feeds: ReadonlyMap<string, Fed>): Promise<ReadonlyMap<string, HeadTensor>>;
  /** Writes the profile that the session was opened with. */
  endProfiling(): void;
  /** Never while a run is under way. */
  release(): void;
}

export interface NativeSessionOptions {
  /** Runs block the calling thread, for a thread that has nothing else to do. Default: they go to libuv's pool. */
  readonly inThisThread?: boolean;
}

/** An output that lies in an array of ours. */
interface Target {
  readonly data: NativeArray;
  readonly value: bigint;
}

/** @param pointer `OrtSession`; it belongs to what is returned */
export function createNativeSession(
  library: OrtLibrary,
  pointer: Pointer,
  { inThisThread = false }: NativeSessionOptions = {},
): NativeSession {
  const { api } = library;
  const start: OrtApi['callAsync'] = inThisThread
    ? async (name, ...values) => api.call(name, ...values)
    : api.callAsync;
  const inputs = describe(library, pointer, 'Input');
  const outputs = describe(library, pointer, 'Output');
  const inputNames = createNames(library, inputs);
  const outputNames = createNames(library, outputs);
  const elementTypes = new Map(inputs.map(({ name, elementType }) => [name, elementType]));
  /** Shapes of the last run, of outputs whose axes the graph fixes: the next run writes straight into our arrays. */
  const steady = new Map<string, readonly number[]>();
  let writesInto = true;
  /** What native code points into while a run is under way: nothing else refers to it until the run has ended. */
  const held = new Set<object>();

  async function once(
    feeds: readonly bigint[],
    names: NativeNames,
    targets: readonly (Target | undefined)[],
  ) {
    const values = BigUint64Array.from(targets, (target) => target?.value ?? 0n);
    const given = BigUint64Array.from(feeds);
    const keep = { values, given, names, targets };
    held.add(keep);
    const counted = [given, given.length, outputNames.pointers, values.length, values] as const;
    await start('Run', pointer, null, names.pointers, ...counted).finally(() => held.delete(keep));
    const made = [...values].filter((value, place) => value !== targets[place]?.value);
    try {
      return outputs.map(({ name, elementType, shape: declared }, place): [string, HeadTensor] => {
        const target = targets[place];
        if (target !== undefined) return [name, toHeadTensor(elementType, declared, target.data)];
        const { shape, data, elementType: type } = readTensor(library, values[place] ?? null);
        if (shape.every((axis, at) => axis === declared[at])) steady.set(name, shape);
        return [name, toHeadTensor(type, shape, data)];
      });
    } finally {
      for (const value of made) api.release('Value', value);
    }
  }

  async function run(feeds: ReadonlyMap<string, Fed>): Promise<ReadonlyMap<string, HeadTensor>> {
    const names = [...feeds.keys()];
    const order = names.every((name, place) => name === inputs[place]?.name)
      ? inputNames
      : createNames(
          library,
          names.map((name) => ({ name })),
        );
    const natives = [...feeds].map(([name, { shape, data }]) => ({
      ...toNativeInput(data, elementTypes.get(name)),
      shape,
    }));
    held.add(natives);
    const values: bigint[] = [];
    let targets: readonly (Target | undefined)[] = [];
    try {
      for (const native of natives) values.push(tensorOver(library, native));
      targets = outputs.map((output) => (writesInto ? createTarget(output) : undefined));
      const reached = await once(values, order, targets).catch((fault: unknown) => {
        // A shape that the file declares and its data does not keep to: then the runtime takes the memory itself.
        if (targets.every((target) => target === undefined)) throw fault;
        return once(
          values,
          order,
          outputs.map(() => undefined),
        ).then((results) => {
          writesInto = false;
          return results;
        });
      });
      return new Map(reached);
    } finally {
      held.delete(natives);
      for (const value of values) api.release('Value', value);
      for (const target of targets) if (target !== undefined) api.release('Value', target.value);
    }
  }

  function createTarget({ name, elementType, shape }: TensorInfo): Target | undefined {
    if (!steady.has(name)) return undefined;
    const data = createArray(elementType, elementCount(shape));
    return data.length === 0 ? undefined : { data, value: tensorOver(library, { elementType, shape, data }) };
  }

  function endProfiling(): void {
    const slot = new BigUint64Array(1);
    api.call('SessionEndProfiling', pointer, library.allocator, slot);
    api.call('AllocatorFree', library.allocator, slot[0] ?? null);
  }

  return { inputs, outputs, pointer, run, endProfiling, release: () => api.release('Session', pointer) };
}

/** Names as C strings, which live as long as this object. */
interface NativeNames {
  readonly pointers: BigUint64Array;
  readonly bytes: readonly Buffer[];
}

function createNames({ koffi }: OrtLibrary, infos: readonly Pick<TensorInfo, 'name'>[]): NativeNames {
  const bytes = infos.map(({ name }) => Buffer.from(`${name}\0`));
  return { bytes, pointers: BigUint64Array.from(bytes, (each) => koffi.address(each)) };
}

function describe(library: OrtLibrary, session: Pointer, side: 'Input' | 'Output'): readonly TensorInfo[] {
  const { api, koffi, allocator } = library;
  const count = new BigUint64Array(1);
  const slot = new BigUint64Array(1);
  api.call(`SessionGet${side}Count`, session, count);
  return Array.from({ length: Number(count[0]) }, (_, place) => {
    api.call(`SessionGet${side}Name`, session, place, allocator, slot);
    const words = slot[0] ?? null;
    const name = koffi.decode.string(words);
    api.call('AllocatorFree', allocator, words);
    api.call(`SessionGet${side}TypeInfo`, session, place, slot);
    const info = slot[0] ?? null;
    try {
      api.call('CastTypeInfoToTensorInfo', info, slot);
      const tensor = slot[0] ?? 0n;
      // A sequence or a map has none: whoever reads it learns that from the run.
      return { name, ...(tensor === 0n ? { elementType: 0, shape: [] } : typeAndShape(library, tensor)) };
    } finally {
      api.release('TypeInfo', info);
    }
  });
}
