// Which cameras train, which fit and choose, and which judge: never one camera for two of these.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataError } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import type { PlacedPicture } from '../logit-range/pictures.ts';

export interface ChainParts {
  /** Trains; its pictures also judge the exports against their source (the gate), which chooses nothing. */
  readonly train: readonly PlacedPicture[];
  /** Fits calibrators, distils, measures the ranges of int8, and chooses thresholds. */
  readonly fit: readonly PlacedPicture[];
  /** Judges, and does nothing else. */
  readonly judge: readonly PlacedPicture[];
  readonly judging: readonly [string, string];
}

const FEWEST_CAMERAS = 5;

/**
 * Seed k judges by the cameras 2k and 2k + 1 of the sorted ones, as the other studies do; 2k + 2 and 2k + 3 fit, the
 * others train.
 * @throws DataError for fewer than five cameras, or where a part has no objects
 */
export function partsOfSeed(all: readonly PlacedPicture[], seed: number): ChainParts {
  const cameras = [...new Set(all.map(({ camera }) => camera))].sort();
  if (cameras.length < FEWEST_CAMERAS) {
    throw new DataError(
      `the pictures come from ${cameras.length} cameras, this study needs ${FEWEST_CAMERAS}`,
      { hint: 'two judge, two fit, and the others train' },
    );
  }
  const turned = cameras.map((_, place) => cameras[(2 * seed + place) % cameras.length]!);
  const [first = '', second = '', third = '', fourth = '', ...others] = turned;
  const of = (chosen: readonly string[]) => all.filter(({ camera }) => chosen.includes(camera));
  const parts = {
    train: of(others),
    fit: of([third, fourth]),
    judge: of([first, second]),
    judging: [first, second],
  } as const;
  for (const name of ['train', 'fit', 'judge'] as const) {
    if (parts[name].some(({ picture }) => picture.objects.length > 0)) continue;
    throw new DataError(`seed ${seed} leaves no labelled picture to ${name}`, {
      hint: 'every camera needs labelled pictures',
    });
  }
  return parts;
}

/** The gate runs for every file that is exported. */
const MOST_GATE_PICTURES = 32;

export interface PartFiles {
  /** data.yaml with the training pictures alone: nothing is chosen by a validation. */
  readonly training: string;
  /** data.yaml whose `train` fits and whose `val` is what the gate judges by, as `export` and `calibrate` take it. */
  readonly exporting: string;
  /** Lists of pictures, as `stream source=` takes them. */
  readonly fit: string;
  readonly judge: string;
}

/** Writes lists and data files into `folder`. */
export async function writeParts(
  { train, fit, judge }: ChainParts,
  classNames: readonly string[],
  folder: string,
): Promise<PartFiles> {
  await mkdir(folder, { recursive: true });
  const pictures = (placed: readonly PlacedPicture[]) => placed.map(({ picture }) => picture);
  const list = async (name: string, some: readonly LabelledPicture[]) => {
    const path = join(folder, name);
    await writeFile(path, some.map(({ path: picture }) => `${picture}\n`).join(''));
    return path;
  };
  const names = `names: [${classNames.map((name) => JSON.stringify(name)).join(', ')}]\n`;
  const data = async (name: string, splits: string) => {
    const path = join(folder, name);
    await writeFile(path, `path: .\n${splits}\n${names}`);
    return path;
  };
  await list('train.txt', pictures(train));
  await list('gate.txt', thinned(pictures(train), MOST_GATE_PICTURES));
  return {
    fit: await list('fit.txt', pictures(fit)),
    judge: await list('judge.txt', pictures(judge)),
    training: await data('training.yaml', 'train: train.txt'),
    exporting: await data('exporting.yaml', 'train: fit.txt\nval: gate.txt'),
  };
}

/** Spread over the list. */
export function thinned<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, place) => items[Math.floor((place * items.length) / most)]!);
}
