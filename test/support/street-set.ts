// A small YOLO data set of the sample street by day, at dusk and by night, with exact boxes, times in the file names and
// a table of the pictures: what a comparison of conditions is given.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodePicture } from '#data/images';
import { CLASS_NAMES, createScene, renderFrame } from '../../samples/world/index.ts';

const SIZE = { width: 320, height: 192 };

/** Clock of Singapore, where the sun sets at 19:15 in March. */
const HOURS = {
  day: { light: 'sun', clock: '1200' },
  dusk: { light: 'dusk', clock: '1925' },
  night: { light: 'night', clock: '2200' },
} as const;

export type StreetHour = keyof typeof HOURS;

export interface StreetSetOptions {
  readonly hours: readonly StreetHour[];
  readonly cameras: number;
  /** Of each camera and hour, at most 60. */
  readonly pictures: number;
}

export interface StreetSet {
  /** Path of `data.yaml`. */
  readonly data: string;
  /** Path of `frames.csv` with the columns `file`, `camera` and `period`. */
  readonly table: string;
  readonly images: string;
}

export async function writeStreetSet(
  folder: string,
  { hours, cameras, pictures }: StreetSetOptions,
): Promise<StreetSet> {
  const images = join(folder, 'images');
  const labels = join(folder, 'labels');
  await mkdir(images, { recursive: true });
  await mkdir(labels, { recursive: true });
  const rows = ['file,camera,period'];
  for (let camera = 0; camera < cameras; camera++) {
    for (const hour of hours) {
      const { light, clock } = HOURS[hour];
      const scene = createScene({ camera: 40 + camera, seed: 7, light, size: SIZE });
      for (let index = 0; index < pictures; index++) {
        const { rgb, objects } = renderFrame(scene, 20 + 11 * index);
        const name = `cam${camera}-20210320_${clock}${String(index).padStart(2, '0')}`;
        await writeFile(join(images, `${name}.jpg`), await encodePicture(rgb, SIZE, 'jpeg'));
        const lines = objects.map(({ className, x1, y1, x2, y2 }) =>
          [
            CLASS_NAMES.indexOf(className),
            (x1 + x2) / 2 / SIZE.width,
            (y1 + y2) / 2 / SIZE.height,
            (x2 - x1) / SIZE.width,
            (y2 - y1) / SIZE.height,
          ].join(' '),
        );
        await writeFile(join(labels, `${name}.txt`), `${lines.join('\n')}\n`);
        rows.push(`images/${name}.jpg,road ${camera},${hour}`);
      }
    }
  }
  const data = join(folder, 'data.yaml');
  const table = join(folder, 'frames.csv');
  await writeFile(data, `val: images\nnames: [${CLASS_NAMES.join(', ')}]\n`);
  await writeFile(table, `${rows.join('\n')}\n`);
  return { data, table, images };
}
