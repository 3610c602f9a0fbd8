// A labelled picture at the size that it has on the network's canvas, decoded once and kept within a budget of memory.
import { createLetterbox, type Letterbox, type PreprocessContract, type Size } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { openPicture } from '#data/images';
import type { PictureTargets } from './types.ts';

/** The picture without padding, with its objects in px of the content. */
export interface PictureContent {
  /** Uint8[content.height * content.width * 3], RGB. Shared: never written to. */
  readonly rgb: Uint8Array;
  readonly letterbox: Letterbox;
  readonly targets: PictureTargets;
}

export interface ContentOptions {
  readonly input: Size;
  readonly preprocess: PreprocessContract;
  /** Larger pictures are refused; the reader's default without. */
  readonly maxPixels?: number;
}

/** @throws DataError naming the file where the picture is missing, damaged or too large */
export async function loadContent(
  picture: LabelledPicture,
  { input, preprocess, maxPixels }: ContentOptions,
): Promise<PictureContent> {
  const opened = await openPicture(picture.path, maxPixels === undefined ? {} : { maxPixels });
  const letterbox = createLetterbox(opened.size, input, preprocess.fit);
  const { rgb } = await opened.resizeTo(letterbox.content);
  return { rgb, letterbox, targets: contentTargets(picture, letterbox.content) };
}

/** Crowds and difficult objects are neither object nor background: they become regions without loss. */
function contentTargets({ objects }: LabelledPicture, { width, height }: Size): PictureTargets {
  const isTarget = (object: (typeof objects)[number]) => !object.crowd && !object.difficult;
  const corners = (object: (typeof objects)[number]) => [
    object.x1 * width,
    object.y1 * height,
    object.x2 * width,
    object.y2 * height,
  ];
  const trained = objects.filter(isTarget);
  const ignored = objects.filter((object) => !isTarget(object));
  return {
    boxes: Float32Array.from(trained.flatMap(corners)),
    classIds: Int32Array.from(trained, ({ classId }) => classId),
    ignoreBoxes: Float32Array.from(ignored.flatMap(corners)),
  };
}

/** Decoded pictures by their place in the set. */
export interface ContentStore {
  load(index: number): Promise<PictureContent>;
}

/**
 * Keeps the first pictures that fit into `keepBytes` decoded, and decodes the others at every call. What is kept never
 * changes, so memory stays flat; a cache that drops its oldest would drop everything in a shuffled pass over a set
 * larger than itself.
 */
export function createContentStore(
  pictures: readonly LabelledPicture[],
  options: ContentOptions,
  keepBytes: number,
): ContentStore {
  const kept = new Map<number, PictureContent>();
  let bytes = 0;
  return {
    async load(index) {
      const known = kept.get(index);
      if (known !== undefined) return known;
      const picture = pictures[index];
      if (picture === undefined) throw new RangeError(`picture ${index} of ${pictures.length}`);
      const content = await loadContent(picture, options);
      if (bytes + content.rgb.byteLength <= keepBytes && !kept.has(index)) {
        bytes += content.rgb.byteLength;
        kept.set(index, content);
      }
      return content;
    },
  };
}
