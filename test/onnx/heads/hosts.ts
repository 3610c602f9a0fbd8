// A host made ready for a head, and one real picture on its canvas.
import type { HeadLayout, HeadTensor, PreprocessContract, Size } from '#core';
import { createDecoder, createInputWriter, createLetterbox } from '#core';
import { openPicture } from '#data/images';
import type { HeadedModel, ModelProto } from '#onnx';
import { dequantise, findHead, guessPreprocess, loadModelFile, toFloat32, withExtraOutputs } from '#onnx';
import { dryRun } from '../dry-run.ts';
import { type Feed, runGraph } from './run-graph.ts';

export interface Host {
  /** Dequantised, float32. */
  readonly model: ModelProto;
  readonly layout: HeadLayout;
  readonly preprocess: PreprocessContract;
  readonly input: Size;
  readonly pictureInput: string;
  readonly taps: readonly string[];
}

export async function openHost(path: string): Promise<Host> {
  const file = await loadModelFile(path);
  return understandHost(toFloat32(dequantise(file.model).model));
}

export async function understandHost(model: ModelProto): Promise<Host> {
  const { taps, size, shapes, input } = await dryRun(model);
  const { layout, taps: used } = findHead(model, shapes, taps, { input: size });
  const { contract } = guessPreprocess(model, layout, input);
  return { model, layout, preprocess: contract, input: size, pictureInput: input.name, taps: used };
}

/** The picture as the network wants it, `[1, 3, H, W]`. */
export async function pictureFeed(path: string, { preprocess, input }: Host): Promise<Feed> {
  const { size, resizeTo } = await openPicture(path);
  const letterbox = createLetterbox(size, input, preprocess.fit);
  const { rgb } = await resizeTo(letterbox.content);
  const writer = createInputWriter(preprocess, { type: 'float32', layout: 'nchw' });
  const data = writer.create(input) as Float32Array;
  writer.writeContentInto(data, rgb, letterbox);
  return { data, shape: [1, 3, input.height, input.width] };
}

export interface HostBoxes {
  readonly anchors: Int32Array;
  /** x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  readonly boxVariances?: Float32Array;
}

/** Everything that the host itself finds above a low score, decoded by our readers. */
export async function hostBoxes(host: Host, feed: Feed, floor = 0.02): Promise<HostBoxes> {
  const outputs = await runGraph(withExtraOutputs(host.model, host.taps), { [host.pictureInput]: feed });
  const decoder = createDecoder(host.layout, { input: host.input, boxVariance: true });
  const { count, anchors, boxes, boxVariances } = decoder.decode(outputs as ReadonlyMap<string, HeadTensor>, {
    default: floor,
  });
  return {
    anchors: anchors.slice(0, count),
    boxes: boxes.slice(0, 4 * count),
    ...(decoder.boxVariance && boxVariances ? { boxVariances: boxVariances.slice(0, 4 * count) } : {}),
  };
}

/** Runs picture → boundary → raw outputs, as training does. */
export async function rawOutputs(headed: HeadedModel, feed: Feed) {
  const features = headed.frozen
    ? await runGraph(headed.frozen, { [headed.pictureInput]: feed })
    : new Map([[headed.pictureInput, feed]]);
  const masks = headed.trainable.inputs.filter(({ kind }) => kind === 'mask');
  const ones = masks.map(({ name, shape }) => {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1);
    return [name, { data, shape: [1, ...shape] }] as const;
  });
  const feeds = Object.fromEntries([...features, ...ones]);
  return { features, raw: await runGraph(headed.trainable.model, feeds) };
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0;
  for (let at = 0; at < a.length; at++) largest = Math.max(largest, Math.abs((a[at] ?? 0) - (b[at] ?? 0)));
  return largest;
}
