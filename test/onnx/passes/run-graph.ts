// Runs a small graph with the real runtime: float32 in, plain numbers out.
import * as ort from 'onnxruntime-node';
import { type ModelProto, serialize } from '#onnx';

/** @returns the first output */
export async function runGraph(
  model: ModelProto,
  shape: readonly number[],
  values: ArrayLike<number>,
): Promise<readonly number[]> {
  const session = await ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });
  const feed = new ort.Tensor('float32', Float32Array.from(values), shape);
  const outputs = await session.run({ [session.inputNames[0] ?? '']: feed });
  const data = outputs[session.outputNames[0] ?? '']?.data ?? [];
  await session.release();
  return Array.from(data as ArrayLike<number>, Number);
}

/** Initializer values by name. */
export function initializerNames(model: ModelProto): readonly string[] {
  return (model.graph?.initializer ?? []).map(({ name }) => name);
}

export function operators(model: ModelProto): readonly string[] {
  return (model.graph?.node ?? []).map(({ opType }) => opType);
}
