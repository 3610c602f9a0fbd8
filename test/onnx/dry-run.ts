// Does with the real runtime what the detector does before it reads a head: taps, fixed axes, one run on zeros.
import * as ort from 'onnxruntime-node';
import type { HeadKind, Size } from '#core';
import type { HeadFinding, ModelProto, PictureInput, TapPlan } from '#onnx';
import { findHead, pictureInput, planTaps, serialize, withExtraOutputs, withStaticInput } from '#onnx';

export interface DryRun {
  readonly taps: TapPlan;
  readonly input: PictureInput;
  readonly size: Size;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
}

export async function dryRun(model: ModelProto, free: Size = { width: 96, height: 96 }): Promise<DryRun> {
  const taps = planTaps(model);
  const input = pictureInput(model);
  const { batch = 1, height = free.height, width = free.width } = input;
  const fixed = withStaticInput(model, { batch, height, width });
  const session = await ort.InferenceSession.create(serialize(withExtraOutputs(fixed, taps.outputs)), {
    logSeverityLevel: 3,
  });
  const dims = input.order === 'nchw' ? [batch, 3, height, width] : [batch, height, width, 3];
  const count = dims.reduce((product, axis) => product * axis, 1);
  const arrays = { float32: Float32Array, float16: Uint16Array, uint8: Uint8Array } as const;
  const feed = new ort.Tensor(input.dtype, new arrays[input.dtype](count) as never, dims);
  const outputs = await session.run({ [input.name]: feed });
  const shapes = new Map(session.outputNames.map((name) => [name, outputs[name]?.dims ?? []]));
  await session.release();
  return { taps, input, size: { width, height }, shapes };
}

export async function find(
  model: ModelProto,
  options: { readonly layout?: HeadKind; readonly classCount?: number; readonly free?: Size } = {},
): Promise<HeadFinding> {
  const { taps, size, shapes } = await dryRun(model, options.free);
  return findHead(model, shapes, taps, { input: size, ...options });
}
