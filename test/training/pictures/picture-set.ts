// A small labelled set of pictures on disk, each recognisable by its colour.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PreprocessContract, Size } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { encodePicture } from '#data/images';

export const INPUT: Size = { width: 64, height: 64 };
export const PREPROCESS: PreprocessContract = {
  fit: { mode: 'letterbox', align: 'center', enlarge: true },
  channels: 'rgb',
  mean: [0, 0, 0],
  std: [255, 255, 255],
  pad: 114,
};

export interface PictureSet {
  readonly folder: string;
  readonly pictures: readonly LabelledPicture[];
  remove(): Promise<void>;
}

/** Picture n is 96x48 px of brightness 10 + 5n with one white object; every third also has a crowd. */
export async function makePictureSet(count: number): Promise<PictureSet> {
  const folder = await mkdtemp(join(tmpdir(), 'picture-set-'));
  const size = { width: 96, height: 48 };
  const pictures = await Promise.all(
    Array.from({ length: count }, async (_, n): Promise<LabelledPicture> => {
      const rgb = new Uint8Array(3 * size.width * size.height).fill(10 + 5 * n);
      for (let y = 12; y < 24; y++) rgb.fill(255, 3 * (y * size.width + 24), 3 * (y * size.width + 48));
      const path = join(folder, `${n}.png`);
      await writeFile(path, await encodePicture(rgb, size, 'png'));
      const box = { x1: 0.25, y1: 0.25, x2: 0.5, y2: 0.5, classId: n % 2, crowd: false, difficult: false };
      const crowd = { ...box, x1: 0.75, x2: 1, crowd: true };
      return { path, id: n, objects: n % 3 === 0 ? [box, crowd] : [box] };
    }),
  );
  return { folder, pictures, remove: () => rm(folder, { recursive: true, force: true }) };
}
