// The session of onnxruntime-node that `openLocalSession` opens.
import * as ort from 'onnxruntime-node';
import {
  LOCAL_ENTRIES,
  type LocalSession,
  type LocalSessionOptions,
  type LocalTensor,
} from './local-types.ts';
import { ortSessionOptions } from './ort-options.ts';

export async function openOrtNodeLocally(
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
  const common = ortSessionOptions(options, LOCAL_ENTRIES);
  if (profilePrefix === undefined) return common;
  return { ...common, enableProfiling: true, profileFilePrefix: profilePrefix };
}
