// Which cameras a seed does not see, and the data file that says so to a training.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataError } from 'edge-detect/core';
import { countGroups, type Dataset, type LabelledPicture, loadDataset, makeSplits } from 'edge-detect/data';

export interface HoldOutOptions {
  /** Labelled data: data.yaml or a folder. Its pictures belong to groups (cameras), named before the first `-`. */
  readonly data: string;
  /** `one`: all objects are one class, so a head has no class branch. `all`: the classes of the data. */
  readonly classes: 'one' | 'all';
}

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
export async function loadStudyData(data: string): Promise<Dataset> {
  const dataset = await loadDataset(data);
  if (dataset.format === 'yolo') return dataset;
  throw new DataError(`${data}: labels in ${dataset.format} format, a study reads YOLO labels`, {
    hint: 'name a set with one .txt of labels per picture',
  });
}

/** Writes list files and a data.yaml into `folder`. */
export async function holdOut(
  dataset: Dataset,
  options: HoldOutOptions,
  seed: number,
  folder: string,
): Promise<HeldOut> {
  const groups = chooseGroups([...countGroups(dataset).keys()], options.data, seed);
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

/** Seed k holds out the groups 2k and 2k + 1 of the sorted ones. */
function chooseGroups(known: readonly string[], data: string, seed: number): readonly [string, string] {
  const [first, second] = [known[(2 * seed) % known.length], known[(2 * seed + 1) % known.length]];
  if (known.length > 2 && first !== undefined && second !== undefined) return [first, second];
  throw new DataError(
    `${data}: ${known.length} groups of pictures, a study holds out 2 and trains on the rest`,
    { hint: 'name pictures camera-time.jpg, with three cameras or more' },
  );
}
