// What a trained file says at every anchor of a picture, logits included, and the detections that the product's decoder
// and suppression make of it once class probabilities or scores have been changed.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createDecoder,
  createInputWriter,
  createLetterbox,
  createPostprocessor,
  type EdgeDetectLayout,
  HARD_SUPPRESSION,
  type HeadTensor,
  type Letterbox,
  ModelError,
  POSTPROCESS_DEFAULTS,
  type Size,
} from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import type { PicturePrediction } from 'edge-detect/evaluate';
import {
  copyMessage,
  deserialize,
  type GraphProto,
  graphOf,
  type ModelProto,
  renamedGraph,
  serialize,
  withExtraOutputs,
  withGraph,
} from 'edge-detect/onnx';
import { type Detector, detectPicture, type OpenModel, openModel } from 'edge-detect/runtime';

/** The anchors of one picture that matter to any head. */
export interface PictureRows {
  readonly letterbox: Letterbox;
  /** Float32[N, 4], x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  /** Float32[N, 2]: expected quality in [0, 1], and its variance. */
  readonly quality: Float32Array;
  /** Float32[N, C], class logits before their softmax. */
  readonly logits: Float32Array;
  readonly classCount: number;
}

/** Rows of a head by the path of the picture. */
export type HeadRows = ReadonlyMap<string, PictureRows>;

/** The tensor that the tail of our models takes the softmax of. */
const CLASS_LOGITS = 'tail.classes';

/** Anchors to which no head gives this quality stand in no list of boxes, whatever is done to their classes. */
const LEAST_QUALITY = 0.001;

/**
 * Rows of several heads on one host, which runs once per picture. All rows of a picture are of the same anchors.
 * @param heads files by name; boxes are those of the first
 * @param scratch a folder for the joined file
 * @throws ModelError where a file has no softmax classes of ours or the hosts differ, DataError where a picture cannot be
 * read
 */
export async function rowsOfHeads<Name extends string>(
  heads: ReadonlyMap<Name, string>,
  pictures: readonly LabelledPicture[],
  scratch: string,
): Promise<ReadonlyMap<Name, HeadRows>> {
  const names = [...heads.keys()];
  const models = await Promise.all(
    [...heads.values()].map(async (path) => deserialize(new Uint8Array(await readFile(path)))),
  );
  const joined = join(scratch, 'joined.onnx');
  await writeFile(joined, serialize(joinedHeads(models)));
  const opened = await openModel(joined, { uncertainty: 'none', threads: 2 });
  try {
    const rows = new Map(names.map((name) => [name, new Map<string, PictureRows>()]));
    const reader = rowReader(opened, names.length, (path, found) => {
      for (const [place, name] of names.entries()) rows.get(name)!.set(path, found[place]!);
    });
    const paths = new Set(pictures.map(({ path }) => path));
    for (const path of paths) await detectPicture(reader, path);
    return rows;
  } finally {
    await Promise.all(opened.sessions.map((session) => session.close()));
  }
}

const prefixOf = (place: number) => (place === 0 ? '' : `other${place}.`);

/** Names that training gives to what it adds to a host. */
const OF_HEAD = /^(head|tail)\.|^(boxes|class_probs|quality|quality_bins|box_var)$/;

/** The first model with the heads of the others beside its own, under names of their own. */
function joinedHeads(models: readonly ModelProto[]): ModelProto {
  const [first, ...others] = models;
  if (first === undefined) throw new Error('there is a first head');
  const base = graphOf(first);
  const added = others.map((model, index) => {
    const whole = graphOf(model);
    expectSameHost(base, whole);
    const own = copyMessage(whole, {
      node: whole.node.filter(({ output }) => OF_HEAD.test(output[0] ?? '')),
      initializer: whole.initializer.filter(({ name }) => OF_HEAD.test(name)),
    });
    const prefix = prefixOf(index + 1);
    const renamed = renamedGraph(own, (name) => (OF_HEAD.test(name) ? `${prefix}${name}` : name));
    // Names of nodes are their own, and must differ, too.
    const node = renamed.node.map((made) => copyMessage(made, { name: `${prefix}${made.name}` }));
    return copyMessage(renamed, { node });
  });
  const joined = withGraph(first, {
    node: [...base.node, ...added.flatMap(({ node }) => node)],
    initializer: [...base.initializer, ...added.flatMap(({ initializer }) => initializer)],
  });
  const taps = others.flatMap((_, index) =>
    ['quality', CLASS_LOGITS].map((name) => `${prefixOf(index + 1)}${name}`),
  );
  return withExtraOutputs(joined, [CLASS_LOGITS, ...taps]);
}

function expectSameHost(one: GraphProto, other: GraphProto): void {
  const known = new Map(one.initializer.map((constant) => [constant.name, constant.rawData]));
  const different = other.initializer.find(
    ({ name, rawData }) => !OF_HEAD.test(name) && Buffer.compare(known.get(name) ?? NO_BYTES, rawData) !== 0,
  );
  if (different === undefined) return;
  throw new ModelError(`two heads of one seed have different hosts: ${different.name} differs`, {
    hint: 'heads are trained with freeze=towers, which leaves the host as it is',
  });
}

const NO_BYTES = new Uint8Array(0);

/** A detector that keeps what the network gave and detects nothing: pictures are read and scaled as the product does. */
function rowReader(
  opened: OpenModel,
  headCount: number,
  keep: (path: string, rows: readonly PictureRows[]) => void,
): Detector {
  const { sessions, inputSize, inputSpec, input, preprocess, classNames, capabilities } = opened;
  const [session] = sessions;
  if (session === undefined) throw new Error('an open model has a session');
  const writer = createInputWriter(preprocess.contract, { type: 'float32', layout: input.order });
  return {
    classNames,
    capabilities,
    input: inputSize,
    batchSize: 1,
    sessions: 1,
    provider: session.provider,
    fit: (frame) => createLetterbox(frame, inputSize, preprocess.contract.fit),
    async detect(frames) {
      for (const { source, letterbox, content } of frames) {
        const array = writer.create(inputSize) as Float32Array<ArrayBuffer>;
        writer.writeContentInto(array, content, letterbox);
        const { outputs } = await session.run(array, inputSpec);
        keep(source, readRows(outputs, headCount, { letterbox, classCount: classNames.length }));
      }
      const timing = { preMs: 0, inferMs: 0, postMs: 0 };
      return frames.map(() => ({ detections: [], limitReached: false, nonFinite: 0, timing }));
    },
    useThreshold: () => undefined,
    close: () => session.close(),
  };
}

function readRows(
  outputs: ReadonlyMap<string, HeadTensor>,
  headCount: number,
  shared: Pick<PictureRows, 'letterbox' | 'classCount'>,
): readonly PictureRows[] {
  const read = (name: string) => floatsOf(outputs.get(name), name);
  const places = Array.from({ length: headCount }, (_, place) => prefixOf(place));
  const qualities = places.map((prefix) => read(`${prefix}quality`));
  const anchors: number[] = [];
  for (let anchor = 0; 2 * anchor < qualities[0]!.length; anchor++) {
    if (qualities.some((quality) => quality[2 * anchor]! >= LEAST_QUALITY)) anchors.push(anchor);
  }
  const boxes = picked(read('boxes'), anchors, 4);
  return places.map((prefix, place) => ({
    ...shared,
    boxes,
    quality: picked(qualities[place]!, anchors, 2),
    logits: picked(read(`${prefix}${CLASS_LOGITS}`), anchors, shared.classCount),
  }));
}

function picked(values: Float32Array, anchors: readonly number[], width: number): Float32Array {
  const out = new Float32Array(anchors.length * width);
  anchors.forEach((anchor, place) => {
    out.set(values.subarray(anchor * width, (anchor + 1) * width), place * width);
  });
  return out;
}

function floatsOf(tensor: HeadTensor | undefined, name: string): Float32Array {
  if (tensor?.data instanceof Float32Array) return tensor.data;
  throw new ModelError(`the trained file gives no float32 output ${name}`, {
    hint: 'this study reads heads with classes that exclude each other, as train writes them',
  });
}

/** Scores below are not reported: AP needs the tail. */
const LEAST_SCORE = 0.001;

/** Expected quality and class factors of one picture: the score of class k is quality · factor k. */
export interface ScoredRows {
  readonly rows: PictureRows;
  /** Float32[N, 2]. */
  readonly quality: Float32Array;
  /** Float32[N, C]. */
  readonly factors: Float32Array;
}

/** @returns what `stream` would report with these scores, suppressed per class at IoU .7, at most 300 boxes a picture */
export function createPictureDetector(classNames: readonly string[], input: Size) {
  const classCount = classNames.length;
  const postprocessor = createPostprocessor({
    ...POSTPROCESS_DEFAULTS,
    classNames,
    threshold: { kind: 'fixed', base: LEAST_SCORE },
    suppression: HARD_SUPPRESSION,
  });
  return ({ rows, quality, factors }: ScoredRows): PicturePrediction => {
    const anchorCount = quality.length / 2;
    const layout: EdgeDetectLayout = {
      kind: 'edge-detect',
      classCount,
      anchorCount,
      boxes: 'boxes',
      quality: 'quality',
      classProbs: 'class_probs',
    };
    const decoder = createDecoder(layout, { input, boxVariance: false });
    const outputs = new Map([
      ['boxes', { shape: [1, anchorCount, 4], data: rows.boxes }],
      ['quality', { shape: [1, anchorCount, 2], data: quality }],
      ['class_probs', { shape: [1, anchorCount, classCount], data: factors }],
    ]);
    const candidates = decoder.decode(outputs, postprocessor.floor);
    const { detections } = postprocessor.process(candidates, rows.letterbox, decoder);
    return { detections, size: rows.letterbox.frame };
  };
}
