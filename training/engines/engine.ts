// The only two things an engine does: forward and backward. Parameters, optimiser and losses live outside of it.

/** A dense tensor, row-major. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

/** Tensors by the name they have in the graph. */
export type Tensors = ReadonlyMap<string, Tensor>;

/** Values of the trainable initializers, by name. Owned by the caller; an engine reads them at every call. */
export type ParameterValues = ReadonlyMap<string, Float32Array<ArrayBuffer>>;

/** Where and how an engine runs; stored in the checkpoint, because bit-equality holds per plan. */
export interface EnginePlan {
  readonly engine: 'onnx' | 'tfjs';
  /** `cpu`, `cuda:0`; for tfjs `wasm`, `tensorflow` (tfjs-node), `tensorflow-gpu`. */
  readonly backend: string;
  /** Threads inside one operator. */
  readonly threads: number;
  /** Data-parallel workers; a batch is split among them in a fixed order. */
  readonly workers: number;
}

export interface ForwardOptions {
  /** `train` normalises with the statistics of the batch, `evaluate` with the running ones. */
  readonly mode: 'train' | 'evaluate';
}

/** What a forward pass keeps for its backward pass; opaque, used at most once. */
export interface ForwardState {
  readonly id: number;
}

export interface ForwardResult {
  /** Raw outputs `[N, …]` by name; fresh memory that belongs to the caller. */
  readonly outputs: Tensors;
  /** Present in mode `train`. */
  readonly state?: ForwardState;
}

export interface BackwardResult {
  /** d loss / d parameter for every parameter, in the parameter's shape. */
  readonly gradients: ParameterValues;
  /** Batch mean and (biased) variance under the names of the running statistics. */
  readonly statistics: ParameterValues;
}

export interface Engine {
  readonly plan: EnginePlan;
  /**
   * @param inputs `[N, …]` for every input of the graph; N may differ from call to call
   * @param parameters every parameter, and the running statistics in mode `evaluate`
   */
  forward(inputs: Tensors, parameters: ParameterValues, options: ForwardOptions): Promise<ForwardResult>;
  /** @param outputGradients d loss / d output `[N, …]` for every output; a missing one counts as zero */
  backward(state: ForwardState, outputGradients: Tensors): Promise<BackwardResult>;
  /** Frees the activations of a forward pass whose backward pass will not be run (a skipped step). */
  discard(state: ForwardState): void;
  close(): Promise<void>;
}
