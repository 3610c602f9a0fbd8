// What the training benchmark teaches: the outputs of its networks in the product's words, and seeded objects.
import { DEFAULT_FIT } from '#core';
import type { HeadSpec } from '#onnx';
import { createRandom } from '../../src/core/random.ts';
import type { Targets } from '../../training/criterion.ts';
import { BINS, IMAGE_PX, LEVELS, type NetKind, SCORE_BINS } from './train-nets.ts';

/** One class, so that the head has a box and a score and nothing else. */
export function benchSpec(kind: NetKind): HeadSpec {
  return {
    input: { width: IMAGE_PX, height: IMAGE_PX },
    classNames: ['object'],
    bins: SCORE_BINS,
    classLaw: 'softmax',
    boxCode: { kind: 'dfl', bins: BINS },
    locations: 1,
    levels: LEVELS[kind].map(({ stride, box, quality }) => ({
      ...{ stride, columns: IMAGE_PX / stride, rows: IMAGE_PX / stride },
      ...{ box, quality },
    })),
    adapter: 0,
    dropout: 0,
    preprocess: { fit: DEFAULT_FIT, channels: 'rgb', mean: [0, 0, 0], std: [1, 1, 1], pad: 0 },
  };
}

/** Objects of a picture: x1 y1 x2 y2 in px each. */
export type PictureBoxes = readonly (readonly [number, number, number, number])[];

const SMALLEST_PX = 24;
const LARGEST_PX = 100;

/** Six to ten objects a picture, each large enough to hold the centre of a cell of 16 px. */
export function benchObjects(batch: number, seed: number): readonly PictureBoxes[] {
  const random = createRandom(seed);
  return Array.from({ length: batch }, () =>
    Array.from({ length: 6 + random.integer(5) }, () => {
      const [width, height] = [
        random.between(SMALLEST_PX, LARGEST_PX),
        random.between(SMALLEST_PX, LARGEST_PX),
      ];
      const [x, y] = [random.between(0, IMAGE_PX - width), random.between(0, IMAGE_PX - height)];
      const [x1, y1, x2, y2] = [x, y, x + width, y + height].map(Math.fround);
      return [x1!, y1!, x2!, y2!] as const;
    }),
  );
}

export function targetsOf(pictures: readonly PictureBoxes[]): Targets {
  const starts = new Int32Array(pictures.length + 1);
  for (const [index, boxes] of pictures.entries()) starts[index + 1] = starts[index]! + boxes.length;
  return {
    starts,
    boxes: Float32Array.from(pictures.flat(2)),
    classIds: new Int32Array(starts[pictures.length]!),
    ignoreStarts: new Int32Array(pictures.length + 1),
    ignoreBoxes: new Float32Array(0),
  };
}
