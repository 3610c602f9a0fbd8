// Turns what a label file lists into pictures: finds each, measures it where need be, and places its objects.
import { join } from 'node:path';
import { mapBounded, stemOf } from './files.ts';
import { type NamedFile, namesOf, reportNames, toObjects } from './named-objects.ts';
import {
  absentPicture,
  createPictureFinder,
  missingPicture,
  noPictures,
  type PictureFinder,
} from './picture-places.ts';
import { sizeFromPicture } from './pictures.ts';
import type {
  Dataset,
  DatasetFault,
  DatasetFormat,
  LabelledPicture,
  LoadDatasetOptions,
  SplitName,
} from './types.ts';

/** One picture that a label file lists, with its objects. */
export interface ListedPicture extends NamedFile {
  /** As written: with folders of another machine, or without ending. */
  readonly fileName: string;
  readonly line?: number;
  /** What the corners count in. */
  readonly unit: 'px' | 'share';
  /** px, where the file states it. */
  readonly size?: { readonly width: number; readonly height: number };
  readonly split: SplitName;
  /** Where the picture may lie. */
  readonly folders: readonly string[];
}

export interface ListedSet {
  readonly format: DatasetFormat;
  readonly source: string;
  readonly pictures: readonly ListedPicture[];
  /** In the order of the set, where it says one; else those that occur. */
  readonly classNames?: readonly string[];
}

/** @throws DataError where none of the pictures is there */
export async function loadListed(
  { format, source, pictures, classNames: ownNames }: ListedSet,
  options: LoadDatasetOptions,
  faults: DatasetFault[],
): Promise<Dataset> {
  const classNames = options.classNames ?? ownNames ?? namesOf(pictures);
  reportNames(source, pictures, classNames, faults);
  const classIds = new Map(classNames.map((name, index) => [name, index]));
  const find = createPictureFinder();
  const located = await mapBounded(pictures, (one) => locate(one, find, options));
  for (const { fault } of located) if (fault !== undefined) faults.push(fault);
  const found = located.flatMap(({ listed, path }) => (path === undefined ? [] : [{ listed, path }]));
  const there = withoutRepeats(found, faults);
  if (there.length === 0) {
    throw noPictures(
      source,
      pictures.map(({ fileName }) => fileName),
      pictures[0]?.folders ?? [],
    );
  }
  const placed = await mapBounded(there, ({ listed, path }) => place(listed, path, classIds), 8);
  const splits: Partial<Record<SplitName, LabelledPicture[]>> = {};
  for (const { picture, split, own } of placed) {
    for (const fault of own) faults.push(fault);
    if (picture === undefined) continue;
    splits[split] ??= [];
    splits[split].push(picture);
  }
  return { format, source, classNames, classKeys: [...classNames.keys()], splits, faults };
}

interface Located {
  readonly listed: ListedPicture;
  readonly path: string;
}

async function locate(
  listed: ListedPicture,
  find: PictureFinder,
  { picturesFolder, labelsOnly = false }: LoadDatasetOptions,
): Promise<Pick<Located, 'listed'> & { readonly path?: string; readonly fault?: DatasetFault }> {
  const { path: file, fileName, line, size, folders } = listed;
  const places = picturesFolder === undefined ? folders : [picturesFolder];
  const path = await find(fileName, places);
  if (path !== undefined) return { listed, path };
  const at = { file, ...(line === undefined ? {} : { line }) };
  if (!labelsOnly || size === undefined) return { listed, fault: missingPicture(at, fileName, places) };
  return { listed, path: join(places[0] ?? '', fileName), fault: absentPicture(at, fileName) };
}

/** Of two lists of objects for one picture it is not known which holds. */
function withoutRepeats(pictures: readonly Located[], faults: DatasetFault[]): readonly Located[] {
  const seen = new Map<string, ListedPicture>();
  return pictures.filter(({ listed, path }) => {
    const before = seen.get(path);
    seen.set(path, before ?? listed);
    if (before === undefined) return true;
    const { path: file, line, fileName } = listed;
    const other = before.path === file ? `line ${before.line}` : before.path;
    faults.push({
      severity: 'error',
      kind: 'repeated-picture',
      file,
      ...(line === undefined ? {} : { line }),
      message: `${fileName} is the picture of ${other}, too`,
      hint: 'its second objects were left out; merge the two, or correct the name of the picture',
    });
    return false;
  });
}

async function place(
  listed: ListedPicture,
  path: string,
  classIds: ReadonlyMap<string, number>,
): Promise<{
  readonly picture?: LabelledPicture;
  readonly split: SplitName;
  readonly own: readonly DatasetFault[];
}> {
  const own: DatasetFault[] = [];
  const { split, unit } = listed;
  const size = listed.size ?? (unit === 'px' ? await sizeFromPicture(path, listed.path, own) : undefined);
  if (unit === 'px' && size === undefined) return { split, own };
  const objects = toObjects(listed, unit === 'px' ? size : undefined, classIds, own);
  const picture = { path, id: stemOf(path), objects, labelPath: listed.path, ...(size && { size }) };
  return { picture, split, own };
}
