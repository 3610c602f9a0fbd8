// Which cameras a seed does not see, and the data file that says so to a training.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, DataError } from 'edge-detect/core';
import { countGroups, type Dataset, type LabelledPicture, loadDataset, makeSplits } from 'edge-detect/data';
import type { FoundOptions } from './options.ts';

export interface HeldOut {
  /** The two groups that are held out. */
  readonly groups: readonly [string, string];
  /** The data.yaml of this split. */
  readonly file: string;
  readonly classNames: readonly string[];
  /** Held-out pictures, in the order in which a training validates them. */
  readonly pictures: readonly LabelledPicture[];
}

/** @throws DataError, ConfigError where the data cannot be read or has too few groups */
export async function loadStudyData({ data }: FoundOptions): Promise<Dataset> {
  const dataset = await loadDataset(data);
  if (dataset.format === 'yolo') return dataset;
  throw new DataError(`${data}: labels in ${dataset.format} format, a study reads YOLO labels`, {
    hint: 'name a set with one .txt of labels per picture',
  });
}

/** Writes list files and a data.yaml into `folder`. */
export async function holdOut(
  dataset: Dataset,
  options: FoundOptions,
  seed: number,
  folder: string,
): Promise<HeldOut> {
  const groups = chooseGroups([...countGroups(dataset).keys()], options, seed);
  const { train = [], val = [] } = makeSplits(dataset, { groups }).splits;
  await mkdir(folder, { recursive: true });
  const list = (pictures: readonly LabelledPicture[]) => pictures.map(({ path }) => `${path}\n`).join('');
  await writeFile(join(folder, 'train.txt'), list(train));
  await writeFile(join(folder, 'val.txt'), list(val));
  const file = join(folder, 'data.yaml');
  const names = dataset.classNames.map((name) => JSON.stringify(name)).join(', ');
  await writeFile(file, `path: .\ntrain: train.txt\nval: val.txt\nnames: [${names}]\n`);
  const read = await loadDataset(file, options.classes === 'one' ? { mapClasses: 'single' } : {});
  return { groups, file, classNames: read.classNames, pictures: read.splits.val ?? [] };
}

function chooseGroups(
  known: readonly string[],
  { holdOut, data }: FoundOptions,
  seed: number,
): readonly [string, string] {
  const drawn = holdOut ?? [known[(2 * seed) % known.length], known[(2 * seed + 1) % known.length]];
  const [first, second] = drawn;
  if (first !== undefined && second !== undefined && first !== second && drawn.length === 2) {
    if (known.length > 2) return [first, second];
    throw new DataError(
      `${data}: ${known.length} groups of pictures, a study holds out 2 and trains on the rest`,
      {
        hint: 'name pictures camera-time.jpg, with three cameras or more',
      },
    );
  }
  throw new ConfigError(`two different groups are held out, found ${drawn.join(', ')}`, {
    hint: `name two of ${known.join(', ')}`,
  });
}
