// Makes train and val from a set: by camera or other groups in file names, by a seeded draw, or by any rule.
import { basename } from 'node:path';
import { createRandom, DataError } from '#core';
import type { Dataset, LabelledPicture } from './types.ts';

/** Which pictures are held out as `val`. */
export type SplitRule =
  | { readonly holdOut: (picture: LabelledPicture) => boolean }
  | { readonly groups: readonly string[]; readonly groupOf?: (picture: LabelledPicture) => string }
  | { readonly fraction: number; readonly seed: number };

/** What stands before the first `-` of a file name: the camera of `2703-2021_03_20_072817.jpg`. */
export function nameGroup({ path }: LabelledPicture): string {
  return basename(path).split('-', 1)[0] ?? '';
}

/** Pictures per group, sorted by name. */
export function countGroups(
  dataset: Dataset,
  groupOf: (picture: LabelledPicture) => string = nameGroup,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const picture of pool(dataset)) counts.set(groupOf(picture), (counts.get(groupOf(picture)) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The set with its `train` and `val` pictures divided anew; `test` stays as it is. Order within a split is kept.
 * @throws DataError where a group does not exist, or one side would be empty
 */
export function makeSplits(dataset: Dataset, rule: SplitRule): Dataset {
  const pictures = pool(dataset);
  const isHeldOut = toPredicate(dataset, pictures, rule);
  const train: LabelledPicture[] = [];
  const val: LabelledPicture[] = [];
  for (const picture of pictures) (isHeldOut(picture) ? val : train).push(picture);
  if (train.length === 0 || val.length === 0) {
    const side = train.length === 0 ? 'nothing to train on' : 'nothing held out';
    throw new DataError(`${dataset.source}: the split leaves ${side}, of ${pictures.length} pictures`, {
      hint: 'choose other groups, or another fraction',
    });
  }
  return { ...dataset, splits: { ...dataset.splits, train, val } };
}

function pool({ splits }: Dataset): readonly LabelledPicture[] {
  const all = new Map<string, LabelledPicture>();
  for (const picture of [...(splits.train ?? []), ...(splits.val ?? [])]) {
    const key = `${picture.path}\n${picture.id}`;
    if (!all.has(key)) all.set(key, picture);
  }
  return [...all.values()];
}

function toPredicate(
  dataset: Dataset,
  pictures: readonly LabelledPicture[],
  rule: SplitRule,
): (picture: LabelledPicture) => boolean {
  if ('holdOut' in rule) return rule.holdOut;
  if ('fraction' in rule) return drawFraction(pictures, rule.fraction, rule.seed);
  const { groups, groupOf = nameGroup } = rule;
  const known = countGroups(dataset, groupOf);
  const unknown = groups.find((group) => !known.has(group));
  if (unknown !== undefined) {
    throw new DataError(`${dataset.source}: no picture belongs to the group "${unknown}"`, {
      hint: `its groups are ${[...known].map(([group, count]) => `${group} (${count})`).join(', ')}`,
    });
  }
  return (picture) => groups.includes(groupOf(picture));
}

/** A fraction of (0, 1), rounded to whole pictures, but at least one on each side. */
function drawFraction(
  pictures: readonly LabelledPicture[],
  fraction: number,
  seed: number,
): (picture: LabelledPicture) => boolean {
  if (!(fraction > 0 && fraction < 1)) {
    throw new DataError(`a held-out fraction of ${fraction}; expected between 0 and 1`, { hint: 'take 0.2' });
  }
  const order = [...pictures.keys()];
  createRandom(seed).shuffle(order);
  const count = Math.min(pictures.length - 1, Math.max(1, Math.round(fraction * pictures.length)));
  const chosen = new Set(order.slice(0, count).map((index) => pictures[index]));
  return (picture) => chosen.has(picture);
}
