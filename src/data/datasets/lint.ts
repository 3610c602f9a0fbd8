// Looks for what reading alone does not show: damaged pictures, sizes that disagree, the same picture twice, classes
// that are never seen, boxes too small to learn from.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { DataError, type Size } from '#core';
import { openPicture } from '#data/images';
import { mapBounded } from './files.ts';
import { describeSplits, type SplitStatistics } from './statistics.ts';
import {
  type Dataset,
  type DatasetFault,
  type LabelledPicture,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';

export interface LintOptions {
  /** Read every picture: its header against the labels, and its content against that of the others. */
  readonly openPictures?: boolean;
  /** Decode them, too, which finds files that are cut off; costs most of the time. */
  readonly decodePictures?: boolean;
}

export interface LintReport {
  readonly splits: readonly SplitStatistics[];
  /** Those of the set, then what was found here. */
  readonly faults: readonly DatasetFault[];
}

interface Opened {
  readonly picture: LabelledPicture;
  readonly split: SplitName;
  /** As displayed, after the EXIF turn; absent where it cannot be opened. */
  readonly size?: Size;
  readonly hash?: string;
}

const PICTURES_AT_ONCE = 8;
const DECODED_SIDE_PX = 32;
/** Narrower than this in the picture itself, a box is a slip of the hand rather than an object; 2 px but for rounding. */
const TINY_PX = 1.99;

export async function lintDataset(
  dataset: Dataset,
  { openPictures = false, decodePictures = false }: LintOptions = {},
): Promise<LintReport> {
  const faults = [...dataset.faults];
  const splits = describeSplits(dataset);
  reportUnseenClasses(dataset, splits, faults);
  const listed = SPLIT_NAMES.flatMap((split) =>
    (dataset.splits[split] ?? []).map((picture) => ({ picture, split })),
  );
  let opened: readonly Opened[] = listed;
  if (openPictures || decodePictures) {
    const read = await mapBounded(listed, (entry) => openOne(entry, decodePictures), PICTURES_AT_ONCE);
    for (const { own } of read) for (const fault of own) faults.push(fault);
    opened = read.map(({ entry }) => entry);
    reportDuplicates(opened, faults);
  }
  for (const entry of opened) reportTinyBoxes(dataset, entry, faults);
  return { splits, faults };
}

async function openOne(
  { picture, split }: Pick<Opened, 'picture' | 'split'>,
  decode: boolean,
): Promise<{ readonly entry: Opened; readonly own: readonly DatasetFault[] }> {
  const own: DatasetFault[] = [];
  const file = picture.path;
  try {
    const bytes = await readFile(file);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const open = await openPicture(bytes, { name: file });
    const pixels = decode
      ? await open.resizeTo({ width: DECODED_SIDE_PX, height: DECODED_SIDE_PX })
      : undefined;
    for (const message of pixels?.warnings ?? []) {
      own.push({
        severity: 'warning',
        kind: 'picture-warning',
        file,
        message,
        hint: 'read all the same; look at it',
      });
    }
    reportSize(picture, open.size, own);
    return { entry: { picture, split, size: open.size, hash }, own };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const hint = error instanceof DataError ? error.hint : 'check the file and its permissions';
    own.push({ severity: 'error', kind: 'damaged-picture', file, message, hint });
    return { entry: { picture, split }, own };
  }
}

function reportSize({ path, labelPath, size }: LabelledPicture, found: Size, faults: DatasetFault[]): void {
  if (size === undefined || (size.width === found.width && size.height === found.height)) return;
  const turned = size.width === found.height && size.height === found.width;
  faults.push({
    severity: 'error',
    kind: 'size-differs',
    file: labelPath ?? path,
    message: `it says ${size.width}x${size.height} for ${path}, which is ${found.width}x${found.height}`,
    hint: turned
      ? 'the boxes were drawn on the picture before its EXIF turn; turn the boxes, or remove the EXIF orientation'
      : 'the labels belong to another version of the picture; its boxes will lie elsewhere than its objects',
  });
}

/** The same content twice; across splits the held-out figures come out too good. */
function reportDuplicates(opened: readonly Opened[], faults: DatasetFault[]): void {
  const first = new Map<string, Opened>();
  for (const entry of opened) {
    const { hash, picture, split } = entry;
    const before = hash === undefined ? undefined : first.get(hash);
    if (before === undefined && hash !== undefined) first.set(hash, entry);
    if (before === undefined || before.picture.path === picture.path) continue; // told as split-overlap
    const leak = before.split !== split;
    faults.push({
      severity: 'warning',
      kind: leak ? 'leak' : 'duplicate-picture',
      file: picture.path,
      message: `the same content as ${before.picture.path}${leak ? `: in ${before.split} and in ${split}` : ''}`,
      hint: leak
        ? `remove it from one of the two; figures on ${split} come out too good`
        : 'kept; remove one of them',
    });
  }
}

function reportTinyBoxes(
  dataset: Dataset,
  { picture, size = picture.size }: Opened,
  faults: DatasetFault[],
): void {
  if (size === undefined) return;
  for (const { classId, x1, y1, x2, y2 } of picture.objects) {
    const [width, height] = [(x2 - x1) * size.width, (y2 - y1) * size.height];
    if (Math.min(width, height) >= TINY_PX) continue;
    faults.push({
      severity: 'warning',
      kind: 'tiny-box',
      file: picture.labelPath ?? picture.path,
      message:
        `a ${dataset.classNames[classId]} of ${width.toFixed(1)}x${height.toFixed(1)} px ` +
        `at ${Math.round(x1 * size.width)},${Math.round(y1 * size.height)} of ${picture.path}`,
      hint: 'kept; probably a slip while drawing',
    });
  }
}

/** A class without objects is never learnt; one that is only in val cannot be found. */
function reportUnseenClasses(
  { source, classNames }: Dataset,
  splits: readonly SplitStatistics[],
  faults: DatasetFault[],
): void {
  const nowhere = classNames.filter((_, id) => splits.every(({ perClass }) => perClass[id] === 0));
  const train = splits.find(({ name }) => name === 'train');
  const onlyHeldOut = classNames.filter(
    (name, id) => train !== undefined && train.perClass[id] === 0 && !nowhere.includes(name),
  );
  const at = { file: source };
  if (nowhere.length > 0) {
    const message = `${nowhere.length} of ${classNames.length} classes have no objects: ${shortened(nowhere)}`;
    faults.push({
      severity: 'notice',
      kind: 'unused-class',
      ...at,
      message,
      hint: 'remove the names, or add pictures',
    });
  }
  if (onlyHeldOut.length > 0) {
    const message = `${onlyHeldOut.length} classes have no objects in train, but in another split: ${shortened(onlyHeldOut)}`;
    faults.push({
      severity: 'warning',
      kind: 'untrained-class',
      ...at,
      message,
      hint: 'move pictures of them to train',
    });
  }
}

function shortened(names: readonly string[]): string {
  return names.slice(0, 8).join(', ') + (names.length > 8 ? ', …' : '');
}
