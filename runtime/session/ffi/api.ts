// ONNX Runtime's C API: where each function stands in its table, and what it takes. Nothing checks these lines at run
// time, and a wrong one is a crash: they are the whole of what is pinned, and the tests call each of them on every
// release that is claimed to work. The table only ever grows, so a position holds for all releases after it.

/** A function of C. */
export interface NativeFunction {
  // biome-ignore lint/suspicious/noExplicitAny: what C answers has the type that was named when it was bound
  (...values: any[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async(...values: any[]): void;
}

/**
 * What is used of the package koffi. Its own types are not named: the package is optional, and declarations that import
 * it would not compile where it was left out.
 */
export interface KoffiModule {
  config(): { async_stack_size?: number };
  config(settings: { async_stack_size: number; sync_stack_size: number }): unknown;
  load(path: string | null): { func(name: string, result: string, values: string[]): NativeFunction };
  proto(result: string, values: string[]): object;
  address(value: unknown): bigint;
  readonly decode: {
    // biome-ignore lint/suspicious/noExplicitAny: a type's name, or what `proto` gave; the result is of that type
    (value: unknown, type: any, length?: number): any;
    // biome-ignore lint/suspicious/noExplicitAny: as above
    (value: unknown, offset: number, type: any): any;
    string(value: unknown): string;
  };
}

/** An address; null is C's NULL. */
export type Pointer = bigint | null;

export type Argument = bigint | number | string | ArrayBufferView | readonly string[] | null;

/** The oldest table that has everything below: that of ONNX Runtime 1.16, which JetPack 5 has. */
export const LOWEST_LEVEL = 16;
/** From which the runtime says where it put each node. */
export const PLACEMENT_LEVEL = 24;

const PATH = process.platform === 'win32' ? 'str16' : 'str';
const P = 'void *';

/** Position and arguments of the functions that answer with a status. */
const CALLS = {
  CreateEnv: [3, ['int', 'str', P]],
  CreateSession: [7, [P, PATH, P, P]],
  CreateSessionFromArray: [8, [P, P, 'size_t', P, P]],
  Run: [9, [P, P, P, P, 'size_t', P, 'size_t', P]],
  CreateSessionOptions: [10, [P]],
  SetSessionExecutionMode: [13, [P, 'int']],
  EnableProfiling: [14, [P, PATH]],
  SetSessionLogSeverityLevel: [22, [P, 'int']],
  SetSessionGraphOptimizationLevel: [23, [P, 'int']],
  SetIntraOpNumThreads: [24, [P, 'int']],
  SetInterOpNumThreads: [25, [P, 'int']],
  CreateCustomOpDomain: [26, ['str', P]],
  SessionGetInputCount: [30, [P, P]],
  SessionGetOutputCount: [31, [P, P]],
  SessionGetInputTypeInfo: [33, [P, 'size_t', P]],
  SessionGetOutputTypeInfo: [34, [P, 'size_t', P]],
  SessionGetInputName: [36, [P, 'size_t', P, P]],
  SessionGetOutputName: [37, [P, 'size_t', P, P]],
  CreateTensorWithDataAsOrtValue: [49, [P, P, 'size_t', P, 'size_t', 'int', P]],
  GetTensorMutableData: [51, [P, P]],
  CastTypeInfoToTensorInfo: [55, [P, P]],
  GetTensorElementType: [60, [P, P]],
  GetDimensionsCount: [61, [P, P]],
  GetDimensions: [62, [P, P, 'size_t']],
  GetTensorTypeAndShape: [65, [P, P]],
  CreateCpuMemoryInfo: [69, ['int', 'int', P]],
  AllocatorFree: [76, [P, P]],
  GetAllocatorWithDefaultOptions: [78, [P]],
  SessionEndProfiling: [110, [P, P, P]],
  GetAvailableProviders: [125, [P, P]],
  ReleaseAvailableProviders: [126, [P, 'int']],
  AddSessionConfigEntry: [130, [P, 'str', 'str']],
  SessionOptionsAppendExecutionProvider_TensorRT_V2: [170, [P, P]],
  CreateTensorRTProviderOptions: [171, [P]],
  UpdateTensorRTProviderOptions: [172, [P, 'str *', 'str *', 'size_t']],
  SessionOptionsAppendExecutionProvider_CUDA_V2: [204, [P, P]],
  CreateCUDAProviderOptions: [205, [P]],
  UpdateCUDAProviderOptions: [206, [P, 'str *', 'str *', 'size_t']],
  SessionOptionsAppendExecutionProvider: [216, [P, 'str', 'str *', 'str *', 'size_t']],
} as const;

/** Since `PLACEMENT_LEVEL`. */
const PLACEMENT_CALLS = {
  Session_GetEpGraphAssignmentInfo: [407, [P, P, P]],
  EpAssignedSubgraph_GetEpName: [408, [P, P]],
  EpAssignedSubgraph_GetNodes: [409, [P, P, P]],
} as const;

/** Functions that free what a pointer stands for. The C header itself promises that the domain's is at 101. */
const RELEASES = {
  Status: 93,
  MemoryInfo: 94,
  Session: 95,
  Value: 96,
  TypeInfo: 98,
  TensorTypeAndShapeInfo: 99,
  SessionOptions: 100,
  CustomOpDomain: 101,
  TensorRTProviderOptions: 174,
  CUDAProviderOptions: 208,
} as const;

type Call = keyof typeof CALLS | keyof typeof PLACEMENT_CALLS;
type AsyncCall =
  | 'Run'
  | 'CreateSession'
  | 'CreateSessionFromArray'
  | 'UpdateCUDAProviderOptions'
  | 'UpdateTensorRTProviderOptions';
export type Releasable = keyof typeof RELEASES;

/** What the runtime answers instead of a result, in its own words. */
export class OrtFault extends Error {}

export interface OrtApi {
  /** Number of the table in use. */
  readonly level: number;
  /** @throws OrtFault */
  call(name: Call, ...values: readonly Argument[]): void;
  /** On a thread of libuv's pool. The caller keeps alive and still what the values point to. */
  callAsync(name: AsyncCall, ...values: readonly Argument[]): Promise<void>;
  release(what: Releasable, pointer: Pointer): void;
  /** Calls that other threads are inside of. */
  underWay(): number;
}

/**
 * @param table what `GetApi(level)` gave
 * @throws Error where the table does not answer as the C API does
 */
export function bindApi(koffi: KoffiModule, table: bigint, level: number): OrtApi {
  const bind = (position: number, result: string, values: readonly string[]): NativeFunction =>
    koffi.decode(koffi.decode(table, position * 8, P), koffi.proto(result, [...values]));
  const known = { ...CALLS, ...(level >= PLACEMENT_LEVEL ? PLACEMENT_CALLS : {}) };
  const calls = new Map(
    Object.entries(known).map(([name, [position, values]]) => [name, bind(position, P, values)]),
  );
  const releases = new Map(
    Object.entries(RELEASES).map(([what, position]) => [what, bind(position, 'void', [P])]),
  );
  const messageOf = bind(2, 'str', [P]);
  const release = (what: Releasable, pointer: Pointer) => {
    if (pointer !== null && pointer !== 0n) found(releases, what)(pointer);
  };
  const expectNone = (status: Pointer) => {
    if (status === null) return;
    const message = String(messageOf(status));
    release('Status', status);
    throw new OrtFault(message);
  };
  let underWay = 0;
  expectWords(bind(0, P, ['int', 'str']), messageOf, (status) => release('Status', status));
  return {
    level,
    release,
    underWay: () => underWay,
    call: (name, ...values) => expectNone(found(calls, name)(...values)),
    callAsync: (name, ...values) =>
      new Promise((resolve, reject) => {
        underWay++;
        found(calls, name).async(...values, (fault: unknown, status: Pointer) => {
          underWay--;
          if (fault) return reject(fault);
          try {
            expectNone(status);
            return resolve();
          } catch (error) {
            return reject(error);
          }
        });
      }),
  };
}

/** A table of something else would crash later and elsewhere: three of its functions must understand each other. */
function expectWords(
  createStatus: NativeFunction,
  messageOf: NativeFunction,
  release: (status: Pointer) => void,
): void {
  const words = 'these words come back';
  const status: Pointer = createStatus(1, words);
  const heard = status === null ? null : messageOf(status);
  release(status);
  if (heard !== words) throw new Error('its table of functions is not that of the C API');
}

function found(functions: ReadonlyMap<string, NativeFunction>, name: string): NativeFunction {
  const one = functions.get(name);
  if (one === undefined) throw new Error(`this release of ONNX Runtime has no ${name}`);
  return one;
}
