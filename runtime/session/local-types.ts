// What a session in the calling thread offers, whichever library runs it.
import type { Provider } from './session.ts';

/** A float32 tensor, row-major. */
export interface LocalTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

export interface LocalSessionOptions {
  readonly provider: Provider;
  /** The ONNX Runtime library to use in place of the one of onnxruntime-node. */
  readonly ortLibrary?: string;
  /** Threads inside one operator. */
  readonly threads: number;
  /** Writes a profile of every node to `<prefix>_<date>.json` when the session is released. */
  readonly profilePrefix?: string;
}

export interface LocalSession {
  readonly outputNames: readonly string[];
  /** Feeds are read where they lie; outputs are fresh memory. */
  run(feeds: ReadonlyMap<string, LocalTensor>): Promise<ReadonlyMap<string, LocalTensor>>;
  release(): Promise<void>;
}

/** Values below 1e-38 slow arithmetic down twentyfold and mean nothing to a gradient. */
export const LOCAL_ENTRIES = { 'session.set_denormal_as_zero': '1' } as const;
