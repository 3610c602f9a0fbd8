// What every way of running a graph offers. One model is one session; one session runs one call at a time.
import type { HeadTensor } from '#core';
import { redactCredentials } from '../ffmpeg/redact.ts';

/** Where a graph runs. Asked for is used, or opening fails. */
export type Provider =
  | { readonly kind: 'cpu' }
  /** The first GPU that Vulkan, Metal or Direct3D offers, through ONNX Runtime's WebGPU provider. */
  | { readonly kind: 'webgpu' }
  /** NVIDIA GPU number `index` through ONNX Runtime's CUDA or TensorRT provider. */
  | { readonly kind: 'cuda' | 'tensorrt'; readonly index: number }
  /** Core number `index` of a Jetson's deep learning accelerator, through the TensorRT provider. */
  | { readonly kind: 'dla'; readonly index: number }
  /** A model on an inference server: `kserve://host:port/model`. */
  | { readonly kind: 'kserve'; readonly url: string };

export interface SessionOptions {
  readonly provider: Provider;
  /** The ONNX Runtime library to use in place of the one of onnxruntime-node: a Jetson's own, for example. */
  readonly ortLibrary?: string;
  /** Options of the provider in the words of ONNX Runtime, `trt_fp16_enable` = `1` for example. */
  readonly providerOptions?: ReadonlyMap<string, string>;
  /** Threads inside one operator; 1 leaves the other cores to decoding and to other sessions. */
  readonly threads: number;
  /** Folder of the weights that lie outside the model file. */
  readonly externalDataFolder?: string;
  /** Outputs that were added to the graph: a server, which runs the file as it was, may lack them. */
  readonly taps?: readonly string[];
  /** Told in sentences what takes long or was not as expected: an engine that is built, or built again. */
  readonly onNote?: (note: string) => void;
}

/** How it is known that a graph runs where it was asked to. */
export interface Placement {
  /** `node-counts`: the runtime said so. `fallback-disabled`: it would have refused anything else. */
  readonly proof: 'node-counts' | 'fallback-disabled';
  /** Nodes by the runtime's name of the provider, after its optimisation. Present with `node-counts`. */
  readonly nodes?: Readonly<Record<string, number>>;
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
  /**
   * Provider in effect, as the runtime accepted it: `cpu`, `cuda:0`, `kserve://host:8001/model (triton 2.51.0, model
   * version 1)`.
   */
  readonly provider: string;
  /** What runs the graph, where it is not onnxruntime-node: `ONNX Runtime 1.20.1 (libonnxruntime.so.1.20.1)`. */
  readonly runtime?: string;
  /** Absent where nothing else could run it: on the CPU alone, or on a server. */
  readonly placement?: Placement;
  /** All that the graph gives, or, on a server, those of them that it gives. */
  readonly outputNames: readonly string[];
  /**
   * Runs the graph once. The memory of `input` moves to the session until the result gives it back. Calls queue up
   * and are answered in order.
   */
  run(input: InputArray, spec: SessionInput): Promise<RunResult>;
  /** Waits for the calls under way, then frees the session. Safe to call twice. */
  close(): Promise<void>;
}

/** A runtime that is being loaded, or a connection that is being made; the graph can follow while it is. */
export interface PreparedSession {
  /**
   * @param model bytes of an ONNX file; they are copied, the caller keeps his
   * @throws ModelError when the runtime cannot load the graph, DeviceError when the provider is not usable here
   */
  open(model: Uint8Array, modelName: string, options: SessionOptions): Promise<Session>;
  /** Ends what was begun where no session was opened. */
  discard(): void;
}

/** `cpu`, `cuda:0`, `kserve://host:8001/model`: what `device=` takes, without secrets. */
export function providerName(provider: Provider): string {
  if (provider.kind === 'kserve') return redactCredentials(provider.url);
  return 'index' in provider ? `${provider.kind}:${provider.index}` : provider.kind;
}
