// A YOLO data set of bright rectangles on darkness, as the untrained stand-in models see them.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Size } from '#core';
import { createRandom } from '#core';
import { encodePicture } from '#data/images';

export interface LightSetOptions {
  readonly pictures: number;
  readonly className: string;
  readonly cameras?: number;
  /** Brightness of the rectangle, 0 to 255, drawn between these. */
  readonly brightness: readonly [least: number, most: number];
  /** Share of the rectangles that no label tells of. */
  readonly unlabelled: number;
}

const SIZE: Size = { width: 320, height: 192 };
/** Twice the half side of the boxes that the stand-in reports, px. */
const SIDE = 128;

/** @returns path of `data.yaml` */
export async function writeLightSet(
  folder: string,
  { pictures, className, cameras = 3, brightness: [least, most], unlabelled }: LightSetOptions,
): Promise<string> {
  const random = createRandom(11);
  await mkdir(join(folder, 'images'), { recursive: true });
  await mkdir(join(folder, 'labels'), { recursive: true });
  for (let index = 0; index < pictures; index++) {
    const name = `cam${index % cameras}-${String(index).padStart(3, '0')}`;
    const left = Math.round(random.between(0, SIZE.width - SIDE));
    const top = Math.round(random.between(0, SIZE.height - SIDE));
    const rgb = new Uint8Array(3 * SIZE.width * SIZE.height);
    const value = Math.round(random.between(least, most));
    for (let y = top; y < top + SIDE; y++) {
      rgb.fill(value, 3 * (y * SIZE.width + left), 3 * (y * SIZE.width + left + SIDE));
    }
    await writeFile(join(folder, 'images', `${name}.png`), await encodePicture(rgb, SIZE, 'png'));
    const row = [(left + SIDE / 2) / SIZE.width, (top + SIDE / 2) / SIZE.height];
    const label = `0 ${[...row, SIDE / SIZE.width, SIDE / SIZE.height].map((part) => part.toFixed(6)).join(' ')}\n`;
    await writeFile(join(folder, 'labels', `${name}.txt`), random.next() < unlabelled ? '' : label);
  }
  const path = join(folder, 'data.yaml');
  await writeFile(path, `train: images\nnames: [${className}]\n`);
  return path;
}
