// What the two ways of asking an inference server have in common.

/** A tensor as a server describes it; -1 is a free axis. */
export interface TensorDescription {
  readonly name: string;
  /** `FP32`, `UINT8`: in the protocol's words. */
  readonly datatype: string;
  readonly shape: readonly number[];
}

export interface ServerDescription {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

export interface ModelDescription {
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
}

/** A part of a region of shared memory that the server knows. */
export interface MemoryPart {
  readonly region: string;
  readonly offset: number;
  readonly byteLength: number;
}

/** An input whose elements lie in the request itself, or in shared memory. */
export type InputTensor = TensorDescription &
  ({ readonly bytes: readonly Uint8Array[] } | { readonly memory: MemoryPart });

/** An output that is asked for; `memory` is where the server shall write it. */
export interface OutputRequest {
  readonly name: string;
  readonly memory?: MemoryPart;
}

export interface InferRequest {
  readonly input: InputTensor;
  readonly outputs: readonly OutputRequest[];
}

/** An output in the answer; without bytes where the server wrote it into shared memory. */
export type OutputTensor = TensorDescription & { readonly bytes?: Uint8Array };

/** One server, one model, one connection. Every call ends within the time that it is given. */
export interface Transport {
  live(limitMs: number): Promise<boolean>;
  modelReady(limitMs: number): Promise<boolean>;
  describeServer(limitMs: number): Promise<ServerDescription>;
  /** @param version empty for the one that the server chooses */
  describeModel(version: string, limitMs: number): Promise<ModelDescription>;
  /** Triton's `max_batch_size`; 0 where the shapes in the description say all. */
  maxBatchSize(limitMs: number): Promise<number>;
  infer(request: InferRequest, limitMs: number): Promise<readonly OutputTensor[]>;
  /** Tells a server of this machine of `byteLength` bytes at `/dev/shm<key>`. */
  registerMemory(region: string, key: string, byteLength: number, limitMs: number): Promise<void>;
  unregisterMemory(region: string, limitMs: number): Promise<void>;
  /** Connections that ended so far: behind the next one there may be another server, or the same without its memory. */
  readonly losses: number;
  /** Gives up the connection in use: the next call makes a new one. */
  reconnect(): void;
  close(): void;
}

/**
 * Why a call failed: `unreachable` may pass; `late` had its time; `refused` is the server's own word, and `absent` that
 * it has no such thing; `garbled` is no answer in the protocol.
 */
export type FaultKind = 'unreachable' | 'late' | 'refused' | 'absent' | 'garbled';

export class TransportFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** An answer larger than this is not taken in: 100 times the outputs of a detector at 640 px. */
export const MAX_ANSWER_BYTES = 256 * 2 ** 20;
