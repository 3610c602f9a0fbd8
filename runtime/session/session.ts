// What every way of running a graph offers. One model is one session; one session runs one call at a time.
import type { HeadTensor } from '#core';

/** Where a graph runs. Asked for is used, or opening fails. */
export type Provider =
  | { readonly kind: 'cpu' }
  /** NVIDIA GPU number `index` through ONNX Runtime's CUDA provider. */
  | { readonly kind: 'cuda'; readonly index: number };

export interface SessionOptions {
  readonly provider: Provider;
  /** Threads inside one operator; 1 leaves the other cores to decoding and to other sessions. */
  readonly threads: number;
  /** Folder of the weights that lie outside the model file. */
  readonly externalDataFolder?: string;
}

/** Bytes of one network input: Float32Array, or Uint8Array where the graph takes pixels as they are. */
export type InputArray = Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** Name and shape of the one input of a graph. */
export interface SessionInput {
  readonly name: string;
  readonly shape: readonly number[];
}

/** What one run of a graph gave. */
export interface RunResult {
  /** Outputs by name; fresh memory that belongs to the caller. */
  readonly outputs: ReadonlyMap<string, HeadTensor>;
  /** The input handed in, given back for reuse. */
  readonly input: InputArray;
  /** Time inside the runtime alone, in ms. */
  readonly inferenceMs: number;
}

/** A loaded graph. Runs one call at a time. */
export interface Session {
  /** Provider in effect, as the runtime accepted it: `cpu`, `cuda:0`. */
  readonly provider: string;
  readonly outputNames: readonly string[];
  /**
   * Runs the graph once. The memory of `input` moves to the session until the result gives it back. Calls queue up
   * and are answered in order.
   */
  run(input: InputArray, spec: SessionInput): Promise<RunResult>;
  /** Waits for the calls under way, then frees the session. Safe to call twice. */
  close(): Promise<void>;
}

/** `cpu`, `cuda:0`. */
export function providerName(provider: Provider): string {
  return provider.kind === 'cpu' ? 'cpu' : `${provider.kind}:${provider.index}`;
}
