// Writes the pictures of a plan as a YOLO data set. Every file appears whole or not at all, `data.yaml` as the last.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { encodePicture } from 'edge-detect/runtime';
import {
  CLASS_NAMES,
  type ClassName,
  createScene,
  renderFrame,
  type SceneOptions,
  type Size,
  type WorldObject,
} from '../world/index.ts';
import type { SplitName, Take } from './plan.ts';

export interface Written {
  readonly pictures: Readonly<Record<SplitName, number>>;
  readonly objects: Readonly<Record<ClassName, number>>;
}

/** @param onPicture told after every picture how many there are now */
export async function writeDataset(
  folder: string,
  takes: readonly Take[],
  onPicture: (count: number) => void,
): Promise<Written> {
  const pictures = { train: 0, val: 0, test: 0 };
  const objects = { car: 0, lorry: 0, bus: 0, bike: 0, person: 0 };
  const rows = ['split,picture,camera,light,weather,seed,time_s,objects'];
  let count = 0;
  for (const { split, scene: options, timesSeconds } of takes) {
    const scene = createScene(options);
    for (const time of timesSeconds) {
      const frame = renderFrame(scene, time);
      const name = nameOf(options, time);
      const jpeg = await encodePicture(frame.rgb, options.size, 'jpeg');
      await writeWhole(join(folder, 'labels', split, `${name}.txt`), labelText(frame.objects, options.size));
      await writeWhole(join(folder, 'images', split, `${name}.jpg`), jpeg);
      const { camera, light, weather, seed } = options;
      rows.push([split, `${name}.jpg`, camera, light, weather, seed, time, frame.objects.length].join(','));
      for (const object of frame.objects) objects[object.className] += 1;
      pictures[split] += 1;
      count += 1;
      onPicture(count);
    }
  }
  await writeWhole(join(folder, 'frames.csv'), `${rows.join('\n')}\n`);
  await writeWhole(join(folder, 'data.yaml'), dataYaml());
  return { pictures, objects };
}

function nameOf({ camera, light, seed }: SceneOptions, time: number): string {
  return `camera${camera}_${light}_${seed}_${time.toFixed(1).replace('.', '-')}`;
}

/** One line an object: class, then centre and size as shares of the picture. */
function labelText(objects: readonly WorldObject[], { width, height }: Size): string {
  return objects
    .map(({ className, x1, y1, x2, y2 }) => {
      const shares = [(x1 + x2) / 2 / width, (y1 + y2) / 2 / height, (x2 - x1) / width, (y2 - y1) / height];
      return `${CLASS_NAMES.indexOf(className)} ${shares.map((share) => share.toFixed(6)).join(' ')}\n`;
    })
    .join('');
}

function dataYaml(): string {
  const names = CLASS_NAMES.map((name, index) => `  ${index}: ${name}\n`).join('');
  return `train: images/train\nval: images/val\ntest: images/test\nnames:\n${names}`;
}

async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.part`, content);
  await rename(`${path}.part`, path);
}
