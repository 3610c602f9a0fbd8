// Detections that any tool saved, as one typed value beside the pictures of a data set.
import { extname } from 'node:path';
import { ConfigError, DataError, type Detection, type Size } from '#core';
import { openPicture } from '#data/images';
import { formatFault, summarizeFaults } from '../faults.ts';
import { createFolderCache, kindOf, mapBounded } from '../files.ts';
import type { Dataset, DatasetFault, LabelledPicture } from '../types.ts';
import { readJsonDetections } from './json-rows.ts';
import { type ClassKeyOptions, matchClassKeys } from './match-class-keys.ts';
import { createPictureMatcher } from './match-pictures.ts';
import type { SavedFile, SavedRow } from './saved-row.ts';
import { readTextDetections, type TextForm } from './text-rows.ts';

export type LoadDetectionsOptions = Partial<TextForm> & ClassKeyOptions;

export interface SavedDetections {
  /** The file or folder that was named. */
  readonly source: string;
  readonly format: SavedFile['format'];
  readonly classNames: readonly string[];
  /** One per picture that was asked for, in that order; boxes are in px of it, as written and not clipped. */
  readonly pictures: readonly { readonly detections: readonly Detection[]; readonly size: Size }[];
  /** What a person should know before believing the figures. */
  readonly remarks: readonly string[];
}

/**
 * Reads a folder of text files (one per picture), COCO results, or a whole COCO file with scores.
 * @param pictures of the split that is judged; detections of other splits are counted in `remarks` and left out
 * @throws ConfigError where a form of text or the names of class numbers are not said; DataError that names every kind of
 * row that cannot be read, and pictures and classes that the data set does not have
 */
export async function loadDetections(
  path: string,
  dataset: Dataset,
  pictures: readonly LabelledPicture[],
  options: LoadDetectionsOptions = {},
): Promise<SavedDetections> {
  const faults: DatasetFault[] = [];
  const file = await readAny(path, options, faults);
  const { classNames, nameOf } = matchClassKeys(path, file, dataset, options, faults);
  const rows = groupByPicture(file, dataset, faults);
  expectOneUnit(file, faults);
  refuse(path, faults);
  const sizes = await mapBounded(pictures, sizeOf, 8);
  expectSameSizes(file, dataset, pictures, sizes, faults);
  refuse(path, faults);
  const classIds = new Map(classNames.map((name, index) => [name, index]));
  const read = pictures.map((picture, place) => {
    const size = sizes[place] ?? { width: 0, height: 0 };
    const own = rows.get(picture) ?? [];
    return { size, detections: own.map((row) => toDetection(row, size, nameOf(row) ?? '', classIds)) };
  });
  return {
    source: path,
    format: file.format,
    classNames,
    pictures: read,
    remarks: remarksOn(path, read, rows, pictures),
  };
}

async function readAny(
  path: string,
  options: LoadDetectionsOptions,
  faults: DatasetFault[],
): Promise<SavedFile> {
  const kind = await kindOf(path);
  if (kind === undefined) {
    throw new DataError(`predictions=${path}: it does not exist`, {
      hint: 'name a folder or a file of detections',
    });
  }
  const json =
    kind === 'file' ? (extname(path).toLowerCase() === '.json' ? path : undefined) : await onlyJson(path);
  if (json === undefined) return readTextDetections(path, options, faults);
  const odd = options.box === undefined ? (options.score === undefined ? undefined : 'score') : 'box';
  if (odd === undefined) return readJsonDetections(json, faults);
  throw new ConfigError(`predictions_${odd}= says how rows of text are written, and ${json} is JSON`, {
    hint: `leave it out: boxes of COCO results are left, top, width and height in px`,
  });
}

/** The JSON file of a folder without text files. */
async function onlyJson(folder: string): Promise<string | undefined> {
  const names = [...(await createFolderCache().names(folder))].filter((name) => !name.startsWith('.'));
  const files = names.filter((name) => /\.json$/i.test(name)).sort();
  const [first, second] = files;
  if (first === undefined) return undefined;
  if (second === undefined && !names.some((name) => /\.txt$/i.test(name))) return `${folder}/${first}`;
  throw new DataError(
    `predictions=${folder}: several files could be meant: ${names.sort().slice(0, 8).join(', ')}`,
    {
      hint: `name one: predictions=${folder}/${first}`,
    },
  );
}

function groupByPicture(
  file: SavedFile,
  dataset: Dataset,
  faults: DatasetFault[],
): ReadonlyMap<LabelledPicture, readonly SavedRow[]> {
  const match = createPictureMatcher(dataset);
  const groups = new Map<LabelledPicture, SavedRow[]>();
  const told = new Set<string>();
  const find = (key: SavedRow['picture'], at: { readonly file: string; readonly line?: number }) => {
    const found = match(key);
    if ('picture' in found) return found.picture;
    if (!told.has(found.problem)) {
      const message = `${found.problem}`;
      const hint = 'judge these with the data set that they were made on, or remove them';
      faults.push({ severity: 'error', kind: 'unknown-picture', file: at.file, message, hint });
    }
    told.add(found.problem);
    return undefined;
  };
  for (const picture of file.pictures) find(picture, { file: picture.file });
  for (const row of file.rows) {
    const picture = find(row.picture, row.place);
    if (picture === undefined) continue;
    const group = groups.get(picture);
    if (group === undefined) groups.set(picture, [row]);
    else group.push(row);
  }
  return groups;
}

/** Shares of a picture that are taken for px would be specks in its corner. */
function expectOneUnit({ rows }: SavedFile, faults: DatasetFault[]): void {
  const [first] = rows;
  const isSpeck = ({ box, unit }: SavedRow) => unit === 'px' && Math.max(box.x2, box.y2) <= 1;
  if (first === undefined || !rows.every(isSpeck)) return;
  faults.push({
    severity: 'error',
    kind: 'relative-units',
    file: first.place.file,
    ...(first.place.line === undefined ? {} : { line: first.place.line }),
    message: `all ${rows.length} boxes lie within one px of the corner of their picture`,
    hint: 'shares of the picture? write predictions_box= with an n at its end, or multiply by the size of the picture',
  });
}

async function sizeOf({ path, size }: LabelledPicture): Promise<Size> {
  if (size !== undefined) return size;
  try {
    return (await openPicture(path)).size;
  } catch (cause) {
    const { message } = cause instanceof Error ? cause : new Error(String(cause));
    throw new DataError(`${path}: its size is not stated, and the picture cannot be opened: ${message}`, {
      hint: 'restore the picture, or take labels that state its width and height',
      cause,
    });
  }
}

/** Boxes of another size of the picture would lie elsewhere than its objects. */
function expectSameSizes(
  file: SavedFile,
  dataset: Dataset,
  pictures: readonly LabelledPicture[],
  sizes: readonly Size[],
  faults: DatasetFault[],
): void {
  const match = createPictureMatcher(dataset);
  const known = new Map(pictures.map((picture, place) => [picture, sizes[place]]));
  for (const { file: path, name, size } of file.pictures) {
    const found = size && match({ name });
    const own = found && 'picture' in found ? known.get(found.picture) : undefined;
    if (size === undefined || own === undefined) continue;
    if (own.width === size.width && own.height === size.height) continue;
    const message = `${name} is ${size.width}x${size.height} there, and ${own.width}x${own.height} in the data set`;
    const hint = 'detect on the pictures of the data set, or bring the boxes to their size';
    faults.push({ severity: 'error', kind: 'size-differs', file: path, message, hint });
  }
}

function toDetection(
  row: SavedRow,
  size: Size,
  className: string,
  classIds: ReadonlyMap<string, number>,
): Detection {
  const { score, box, unit, scoreVariance, scoreVarianceEpistemic, boxVariance } = row;
  const [x, y] = unit === 'px' ? [1, 1] : [size.width, size.height];
  return {
    box: { x1: box.x1 * x, y1: box.y1 * y, x2: box.x2 * x, y2: box.y2 * y },
    ...{ classId: classIds.get(className) ?? -1, className, score, rawScore: score },
    ...(scoreVariance !== undefined && { scoreVariance }),
    ...(scoreVarianceEpistemic !== undefined && { scoreVarianceEpistemic }),
    ...(boxVariance !== undefined && { boxVariance }),
  };
}

/** Share of boxes that may stick out, and by how much of the picture, before the form is in doubt. */
const SUSPICIOUS = { ofBoxes: 0.1, beyond: 0.1 };

function remarksOn(
  path: string,
  read: SavedDetections['pictures'],
  rows: ReadonlyMap<LabelledPicture, readonly SavedRow[]>,
  pictures: readonly LabelledPicture[],
): string[] {
  const silent = read.filter(({ detections }) => detections.length === 0).length;
  const asked = new Set(pictures);
  const elsewhere = [...rows].filter(([picture]) => !asked.has(picture));
  const others = elsewhere.reduce((sum, [, own]) => sum + own.length, 0);
  const all = read.reduce((sum, { detections }) => sum + detections.length, 0);
  const outside = read.reduce(
    (sum, { detections, size }) => sum + detections.filter((one) => sticksOut(one, size)).length,
    0,
  );
  return [
    ...(silent > 0
      ? [`${path} has no detections in ${silent} of ${pictures.length} pictures: nothing was found there`]
      : []),
    ...(others > 0
      ? [`${others} detections in ${elsewhere.length} pictures of other splits are left out`]
      : []),
    ...(outside > SUSPICIOUS.ofBoxes * all
      ? [
          `${outside} of ${all} boxes reach far beyond their picture: does predictions_box= say how they are written?`,
        ]
      : []),
  ];
}

function sticksOut({ box }: Detection, { width, height }: Size): boolean {
  const { beyond } = SUSPICIOUS;
  return Math.max(-box.x1 / width, -box.y1 / height, box.x2 / width - 1, box.y2 / height - 1) > beyond;
}

function refuse(path: string, faults: readonly DatasetFault[]): void {
  const errors = summarizeFaults({ faults }).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const lines = errors.map(
    ({ count, kind, faults: [first] }) =>
      `${count} × ${kind}${first === undefined ? '' : `, first: ${formatFault(first)}`}`,
  );
  const count = errors.reduce((sum, group) => sum + group.count, 0);
  throw new DataError(
    `predictions=${path}: ${count} ${count === 1 ? 'error' : 'errors'}\n  ${lines.join('\n  ')}`,
    {
      hint: 'correct what is listed; figures of a part of the detections would mislead',
    },
  );
}
