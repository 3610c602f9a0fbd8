// Runs a source and what a pass made of it on the same picture, and measures how far their candidates lie apart.
import * as ort from 'onnxruntime-node';
import type { HeadLayout, HeadOutputs, PreprocessContract, Size } from '#core';
import { createDecoder, createInputWriter, createLetterbox } from '#core';
import { openPicture } from '#data/images';
import type { HeadFinding, ModelProto, PictureInput } from '#onnx';
import {
  dequantise,
  findHead,
  guessPreprocess,
  loadModelFile,
  pictureInput,
  serialize,
  toFloat32,
  withExtraOutputs,
  withFloatInterface,
} from '#onnx';
import { withStaticShapes } from '../../../export/passes/static-shapes.ts';
import { dryRun } from '../../onnx/dry-run.ts';

/**
 * A detector that is understood, as export works on it: static, and float32 where it was quantised or half precision.
 * (The runtime drops a Cast from half to single, so that decoding in the graph is up to .0625 px closer to float32 than
 * the half-precision output of yolov5n_fp16: its rounding, and not ours.)
 */
export interface Source {
  readonly model: ModelProto;
  readonly input: PictureInput;
  readonly size: Size;
  readonly finding: HeadFinding;
  readonly contract: PreprocessContract;
}

export async function openSource(path: string, { asFloat = true } = {}): Promise<Source> {
  const { model: loaded } = await loadModelFile(path);
  const float = asFloat ? toFloat32(dequantise(loaded).model) : loaded;
  const { batch = 1, height = 320, width = 320 } = pictureInput(float);
  const model = withStaticShapes(float, { batch, height, width });
  const { taps, input, size, shapes } = await dryRun(model);
  const finding = findHead(model, shapes, taps, { input: size });
  const { contract } = guessPreprocess(model, finding.layout, input);
  return { model, input, size, finding, contract };
}

export interface Candidate {
  readonly anchor: number;
  readonly classId: number;
  readonly score: number;
  readonly box: readonly number[];
  readonly boxVariance?: readonly number[];
}

/** Everything above a low floor, by anchor, as the runtime decodes it. */
export async function candidatesOn(
  model: ModelProto,
  picture: string,
  how: {
    readonly layout: HeadLayout;
    readonly size: Size;
    readonly contract: PreprocessContract;
    readonly boxVariance: boolean;
    readonly floor?: number;
  },
): Promise<ReadonlyMap<number, Candidate>> {
  const { layout, size, contract, boxVariance, floor = 0.02 } = how;
  const taps = layout.kind === 'yolov8' && layout.boxDistribution ? [layout.boxDistribution.output] : [];
  const outputs = await outputsOn(withExtraOutputs(withFloatInterface(model), boxVariance ? taps : []), {
    picture,
    size,
    contract,
  });
  const decoder = createDecoder(layout, { input: size, boxVariance });
  const found = decoder.decode(outputs, { default: floor });
  const list = Array.from({ length: found.count }, (_, row): Candidate => {
    const four = (values: Float32Array) => Array.from(values.subarray(4 * row, 4 * row + 4));
    return {
      anchor: found.anchors[row]!,
      classId: found.classIds[row]!,
      score: found.scores[row]!,
      box: four(found.boxes),
      ...(found.boxVariances ? { boxVariance: four(found.boxVariances) } : {}),
    };
  });
  return new Map(list.map((candidate) => [candidate.anchor, candidate]));
}

async function outputsOn(
  model: ModelProto,
  { picture, size, contract }: { picture: string; size: Size; contract: PreprocessContract },
): Promise<HeadOutputs> {
  const input = pictureInput(model);
  const type = input.dtype === 'uint8' ? 'uint8' : 'float32';
  const { size: pictureSize, resizeTo } = await openPicture(picture);
  const letterbox = createLetterbox(pictureSize, size, contract.fit);
  const { rgb } = await resizeTo(letterbox.content);
  const writer = createInputWriter(contract, { type, layout: input.order });
  const array = writer.create(size);
  writer.writeContentInto(array, rgb, letterbox);
  const { width, height } = size;
  const dims = input.order === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
  const session = await ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });
  const results = await session.run({ [input.name]: new ort.Tensor(type, array as never, dims) });
  const { outputNames } = session;
  await session.release();
  return new Map(
    outputNames.map((name) => [
      name,
      { shape: results[name]!.dims, data: results[name]!.data as Float32Array },
    ]),
  );
}

export interface Distance {
  readonly compared: number;
  /** Candidates that only one side has, their best score. */
  readonly lost: number;
  readonly box: number;
  readonly score: number;
  /** Relative to the variance plus 1 px². */
  readonly variance: number;
}

/** Largest differences, anchor by anchor; those near the floor may be on one side alone. */
export function distance(
  before: ReadonlyMap<number, Candidate>,
  after: ReadonlyMap<number, Candidate>,
): Distance {
  let [compared, lost, box, score, variance] = [0, 0, 0, 0, 0];
  for (const [anchor, old] of before) {
    const now = after.get(anchor);
    if (!now || now.classId !== old.classId) {
      lost = Math.max(lost, old.score);
      continue;
    }
    compared++;
    score = Math.max(score, Math.abs(now.score - old.score));
    for (let side = 0; side < 4; side++) {
      box = Math.max(box, Math.abs(now.box[side]! - old.box[side]!));
      const [was, is] = [old.boxVariance?.[side] ?? 0, now.boxVariance?.[side] ?? 0];
      variance = Math.max(variance, Math.abs(is - was) / (was + 1));
    }
  }
  for (const [anchor, now] of after) if (!before.has(anchor)) lost = Math.max(lost, now.score);
  return { compared, lost, box, score, variance };
}
