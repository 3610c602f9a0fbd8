// Small YOLO data sets for training: coloured shapes on noise, drawn anew from a seed, with or without faults.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { createRandom, type Random } from '../../src/core/random.ts';

export interface ShapeSetOptions {
  readonly train: number;
  /** No val split where it is 0. */
  readonly val?: number;
  /** Default: square, disc, bar. */
  readonly classNames?: readonly string[];
  /** Side of the pictures in px. Default 64. */
  readonly side?: number;
  readonly seed?: number;
  /** Pictures of a split from this place on have no object and no label file. */
  readonly backgroundFrom?: number;
}

export const SHAPE_NAMES = ['square', 'disc', 'bar'] as const;

const COLOURS = [
  [220, 40, 40],
  [40, 200, 60],
  [50, 80, 230],
] as const;

interface Shape {
  readonly classId: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Writes pictures, labels and `data.yaml` into `folder`. @returns the path of `data.yaml` */
export async function writeShapeSet(folder: string, options: ShapeSetOptions): Promise<string> {
  const { train, val = 0, classNames = SHAPE_NAMES, side = 64, seed = 1 } = options;
  const random = createRandom(seed);
  for (const [split, count] of [
    ['train', train],
    ['val', val],
  ] as const) {
    for (let index = 0; index < count; index++) {
      const isBackground = index >= (options.backgroundFrom ?? Number.POSITIVE_INFINITY);
      const shapes = isBackground ? [] : drawShapes(random, classNames.length, side);
      const stem = `${split}${String(index).padStart(3, '0')}`;
      await writePicture(join(folder, 'images', split, `${stem}.png`), shapes, side, random);
      if (isBackground) continue;
      await writeLabels(
        folder,
        split,
        stem,
        shapes.map((shape) => labelRow(shape, side)),
      );
    }
  }
  return writeDataYaml(folder, { classNames, val: val > 0 });
}

/** Rows of one picture's label file. */
export async function writeLabels(
  folder: string,
  split: 'train' | 'val',
  stem: string,
  rows: readonly string[],
): Promise<void> {
  const path = join(folder, 'labels', split, `${stem}.txt`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, rows.map((row) => `${row}\n`).join(''));
}

export async function writeDataYaml(
  folder: string,
  { classNames, val }: { readonly classNames: readonly string[]; readonly val: boolean },
): Promise<string> {
  const path = join(folder, 'data.yaml');
  const names = classNames.map((name, index) => `  ${index}: ${name}`);
  const lines = ['path: .', 'train: images/train', ...(val ? ['val: images/val'] : []), 'names:', ...names];
  await mkdir(folder, { recursive: true });
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** PNG of one colour. */
export async function writeFlatPicture(path: string, side: number, grey: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const background = { r: grey, g: grey, b: grey };
  await sharp({ create: { width: side, height: side, channels: 3, background } })
    .png()
    .toFile(path);
}

/** One or two shapes, a third to a half of the picture's side, in halves of their own so that none hides another. */
function drawShapes(random: Random, classCount: number, side: number): Shape[] {
  const count = random.next() < 0.5 ? 1 : 2;
  return Array.from({ length: count }, (_, index) => {
    const size = Math.round(random.between(0.3, 0.45) * side);
    const classId = Math.min(classCount - 1, Math.floor(random.next() * classCount));
    const height = classId === 2 ? Math.round(size / 2) : size;
    const from = (index * side) / 2;
    return {
      classId,
      width: size,
      height,
      left: Math.round(random.between(from, from + (count === 1 ? side : side / 2) - size)),
      top: Math.round(random.between(0, side - height)),
    };
  });
}

async function writePicture(
  path: string,
  shapes: readonly Shape[],
  side: number,
  random: Random,
): Promise<void> {
  const pixels = new Uint8Array(3 * side * side);
  for (let index = 0; index < pixels.length; index++) pixels[index] = 90 + Math.floor(60 * random.next());
  for (const { classId, left, top, width, height } of shapes) {
    const colour = COLOURS[classId % COLOURS.length]!;
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const [x, y] = [(2 * column + 1) / width - 1, (2 * row + 1) / height - 1];
        if (classId === 1 && x * x + y * y > 1) continue;
        pixels.set(colour, 3 * ((top + row) * side + left + column));
      }
    }
  }
  await mkdir(dirname(path), { recursive: true });
  await sharp(pixels, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toFile(path);
}

function labelRow({ classId, left, top, width, height }: Shape, side: number): string {
  const numbers = [left + width / 2, top + height / 2, width, height].map((px) => px / side);
  return [classId, ...numbers.map((number) => number.toFixed(6))].join(' ');
}
