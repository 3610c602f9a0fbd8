// What the engine and its workers say to each other. Tensors travel end to end in one array, in a fixed order.
import type { Provider } from '#runtime';

export interface Field {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Both graphs for one batch size, and the order in which tensors stand in the arrays. */
export interface ProgramMessage {
  readonly type: 'program';
  readonly id: number;
  readonly key: string;
  readonly provider: Provider;
  readonly ortLibrary?: string;
  readonly threads: number;
  readonly forward: Uint8Array<ArrayBuffer>;
  readonly backward?: Uint8Array<ArrayBuffer>;
  /** Tensors of the array that comes with `forward`. */
  readonly feed: readonly Field[];
  /** Tensors that `forward` answers with. */
  readonly outputs: readonly string[];
  /** Tensors of the forward pass that the backward pass reads. */
  readonly kept: readonly string[];
  /** Tensors of the feed that the backward pass reads. */
  readonly reread: readonly string[];
  /** Tensors of the array that comes with `backward`. */
  readonly seeds: readonly Field[];
  /** Results of the backward graph that `backward` answers with, and after them tensors of the forward pass. */
  readonly results: readonly string[];
  readonly statistics: readonly string[];
}

export type ToWorker =
  | ProgramMessage
  /** Opens a session of a graph without meaning, to see whether the provider works. */
  | {
      readonly type: 'probe';
      readonly id: number;
      readonly provider: Provider;
      readonly ortLibrary?: string;
      readonly model: Uint8Array<ArrayBuffer>;
    }
  | { readonly type: 'forward'; readonly id: number; readonly key: string; readonly feed: FlatArray }
  /** @property state id of the forward pass */
  | { readonly type: 'backward'; readonly id: number; readonly state: number; readonly seeds: FlatArray }
  | { readonly type: 'discard'; readonly state: number }
  | { readonly type: 'drop'; readonly key: string }
  | { readonly type: 'close' };

export type FlatArray = Float32Array<ArrayBuffer>;

export type FromWorker =
  | {
      readonly type: 'done';
      readonly id: number;
      readonly tensors: readonly FlatArray[];
      /** Arrays that came with the question, for use again. */
      readonly returned: readonly FlatArray[];
    }
  | { readonly type: 'failed'; readonly id: number; readonly message: string };
