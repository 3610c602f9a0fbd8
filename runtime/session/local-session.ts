// A session of onnxruntime-node in the calling thread, for a worker that keeps tensors of its own between runs.
// A run blocks the thread: never open one on the main thread of a program.
import * as ort from 'onnxruntime-node';
import { ortSessionOptions } from './ort-options.ts';
import type { Provider } from './session.ts';

/** A float32 tensor, row-major. */
export interface LocalTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

export interface LocalSessionOptions {
  readonly provider: Provider;
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

/**
 * @param model bytes of an ONNX file with float32 inputs and outputs
 * @throws Error in the runtime's words when the graph cannot be loaded or the provider cannot be used
 */
export async function openLocalSession(
  model: Uint8Array,
  options: LocalSessionOptions,
): Promise<LocalSession> {
  ort.env.logLevel = 'fatal';
  const session = await ort.InferenceSession.create(model, sessionOptions(options));
  return {
    outputNames: session.outputNames,
    async run(feeds) {
      const tensors: Record<string, ort.Tensor> = {};
      for (const [name, { data, shape }] of feeds) tensors[name] = new ort.Tensor('float32', data, shape);
      const results = await session.run(tensors);
      return new Map(session.outputNames.map((name) => [name, toLocal(name, results[name])]));
    },
    async release() {
      if (options.profilePrefix !== undefined) session.endProfiling();
      await session.release();
    },
  };
}

function toLocal(name: string, tensor: ort.Tensor | undefined): LocalTensor {
  if (!(tensor?.data instanceof Float32Array)) throw new Error(`the runtime gave no float32 output ${name}`);
  return { shape: tensor.dims, data: tensor.data as Float32Array<ArrayBuffer> };
}

function sessionOptions(options: LocalSessionOptions): ort.InferenceSession.SessionOptions {
  const { profilePrefix } = options;
  // Values below 1e-38 slow arithmetic down twentyfold and mean nothing to a gradient.
  const common = ortSessionOptions(options, { 'session.set_denormal_as_zero': '1' });
  if (profilePrefix === undefined) return common;
  return { ...common, enableProfiling: true, profileFilePrefix: profilePrefix };
}
