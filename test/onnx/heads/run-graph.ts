// Runs a graph once with the real runtime.
import * as ort from 'onnxruntime-node';
import { type ModelProto, serialize } from '#onnx';

export interface Feed {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

export async function runGraph(
  model: ModelProto,
  feeds: Readonly<Record<string, Feed>>,
): Promise<ReadonlyMap<string, { readonly data: Float32Array; readonly shape: readonly number[] }>> {
  const session = await ort.InferenceSession.create(serialize(model), {
    logSeverityLevel: 3,
    intraOpNumThreads: 1,
  });
  const inputs = Object.fromEntries(
    Object.entries(feeds).map(([name, { data, shape }]) => [name, new ort.Tensor('float32', data, shape)]),
  );
  const outputs = await session.run(inputs);
  const result = new Map(
    session.outputNames.map((name) => {
      const { data, dims } = outputs[name]!;
      return [name, { data: Float32Array.from(data as Float32Array), shape: dims }] as const;
    }),
  );
  await session.release();
  return result;
}
