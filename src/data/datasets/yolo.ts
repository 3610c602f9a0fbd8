// YOLO sets: pictures with one text file of boxes each, described by a data.yaml or by nothing but their folders.
import { basename, dirname, join } from 'node:path';
import { DataError } from '#core';
import { isPicturePath, pictureExtensions } from '#data/images';
import type { DataFile } from './data-file.ts';
import { createFolderCache, kindOf, mapBounded, readText, stemOf } from './files.ts';
import { findNames, neutralNames, reportRepeatedNames } from './names.ts';
import { readPictureList } from './picture-lists.ts';
import { listPictures } from './pictures.ts';
import {
  type Dataset,
  type DatasetFault,
  type DatasetSplits,
  type LabelledPicture,
  type LoadDatasetOptions,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';
import { reportClassesOutside, reportScoreColumn } from './yolo-faults.ts';
import { findLabels, labelFoldersOf, reportOrphans, reportSharedLabels } from './yolo-labels.ts';
import { parseYoloLabels, type YoloLabels, type YoloRow } from './yolo-rows.ts';

type Paths = Readonly<Partial<Record<SplitName, readonly string[]>>>;

interface Plan {
  readonly source: string;
  readonly splits: Paths;
  readonly names?: readonly string[];
  readonly keypointColumns: number;
}

/** @param faults those of the data file; the set takes them over */
export async function loadYoloFile(
  data: DataFile,
  options: LoadDatasetOptions,
  faults: DatasetFault[],
): Promise<Dataset> {
  const splits: Partial<Record<SplitName, readonly string[]>> = {};
  for (const name of SPLIT_NAMES) {
    const entries = data.splits[name];
    if (entries === undefined) continue;
    const lists: string[][] = [];
    for (const entry of entries) lists.push(await picturesOf(entry, data.root, faults));
    splits[name] = [...new Set(lists.flat())];
    if (splits[name].length === 0) throw noPictures(entries.join(', '), name);
  }
  const names =
    options.classNames ?? data.names ?? (await findNames([data.root, dirname(data.file)], faults)).names;
  const plan = { source: data.file, splits, keypointColumns: data.keypointColumns };
  return readYolo(names === undefined ? plan : { ...plan, names }, faults);
}

/** @param folder pictures with labels beside them or in a `labels` folder; splits where folders are named so */
export async function loadYoloFolder(folder: string, options: LoadDatasetOptions): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const splits = await splitsOfFolder(folder, faults);
  const all = SPLIT_NAMES.flatMap((name) => splits[name] ?? []);
  if (all.length === 0) throw noPictures(folder);
  const places = [folder, join(folder, 'labels'), dirname(folder), ...labelFoldersOf(all[0] ?? folder)];
  const names = options.classNames ?? (await findNames(places, faults)).names;
  const plan = { source: folder, splits, keypointColumns: 0 };
  return readYolo(names === undefined ? plan : { ...plan, names }, faults);
}

async function picturesOf(entry: string, root: string, faults: DatasetFault[]): Promise<string[]> {
  if ((await kindOf(entry)) === 'folder') return listPictures(entry, faults);
  if (isPicturePath(entry)) return [entry];
  return readPictureList(entry, root, faults);
}

async function splitsOfFolder(folder: string, faults: DatasetFault[]): Promise<Paths> {
  const pictures = await listPictures(folder, faults);
  const splits: Partial<Record<SplitName, string[]>> = {};
  const outside: string[] = [];
  for (const picture of pictures) {
    const name = splitOfPath(picture.slice(folder.length));
    const list = name === undefined ? outside : (splits[name] ?? []);
    if (name !== undefined) splits[name] = list;
    list.push(picture);
  }
  const [first] = outside;
  if (first === undefined) return splits;
  const whole = outside.length === pictures.length;
  faults.push({
    severity: whole ? 'notice' : 'warning',
    kind: whole ? 'no-splits' : 'outside-splits',
    file: whole ? folder : first,
    message: whole
      ? 'no data.yaml and no folders train and val'
      : `${outside.length} of ${pictures.length} pictures lie in no folder train, val or test`,
    hint: whole
      ? `all ${pictures.length} pictures count as train`
      : 'left out; move them, or write a data.yaml',
  });
  return whole ? { train: outside } : splits;
}

/** `images/train/…`, `valid/images/…`, `train2017/…` */
function splitOfPath(path: string): SplitName | undefined {
  for (const part of path.split('/').slice(0, -1)) {
    const [, name] = /^(train|val|valid|test)\d*$/.exec(part) ?? [];
    if (name !== undefined) return name === 'valid' ? 'val' : (name as SplitName);
  }
  return undefined;
}

function noPictures(place: string, split?: SplitName): DataError {
  return new DataError(`${place}: no pictures${split === undefined ? '' : ` for ${split}`}`, {
    hint: `looked for ${pictureExtensions()}, in any case`,
  });
}

async function readYolo(plan: Plan, faults: DatasetFault[]): Promise<Dataset> {
  const pictures = [...new Set(SPLIT_NAMES.flatMap((name) => plan.splits[name] ?? []))];
  const cache = createFolderCache();
  const labelPaths = await findLabels(pictures, cache);
  reportSharedLabels(pictures, labelPaths, faults);
  const labels = await mapBounded(labelPaths, (path) => readLabels(path, plan.keypointColumns, faults));
  const counted = new Map<string, YoloLabels>(); // a shared label file speaks once
  for (const [index, path] of labelPaths.entries()) {
    const read = labels[index];
    if (path === undefined || read === undefined || counted.has(path)) continue;
    counted.set(path, read);
    for (const fault of read.faults) faults.push(fault);
  }
  await reportOrphans(pictures, labelPaths, cache, faults);
  const rows = [...counted].flatMap(([file, read]) => read.rows.map((row) => ({ file, row })));
  const names =
    plan.names ??
    namesFromRows(
      plan.source,
      rows.map(({ row }) => row),
      faults,
    );
  reportRepeatedNames(plan.source, names, faults);
  reportScoreColumn([...counted], faults);
  reportClassesOutside(rows, names, faults);
  const byPath = new Map(
    pictures.map((path, index) => [path, toPicture(path, labelPaths[index], labels[index], names.length)]),
  );
  const splits = toSplits(plan.splits, byPath);
  for (const name of SPLIT_NAMES) reportMissingLabels(name, splits[name] ?? [], faults);
  return {
    format: 'yolo',
    source: plan.source,
    classNames: names,
    classKeys: [...names.keys()],
    splits,
    faults,
  };
}

async function readLabels(
  path: string | undefined,
  keypointColumns: number,
  faults: DatasetFault[],
): Promise<YoloLabels | undefined> {
  if (path === undefined) return undefined;
  try {
    return parseYoloLabels(await readText(path), path, keypointColumns);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { message, hint } = error;
    faults.push({ severity: 'error', kind: 'unreadable-label', file: path, message, hint });
    return { rows: [], faults: [], scoreLines: [] };
  }
}

function namesFromRows(source: string, rows: readonly YoloRow[], faults: DatasetFault[]): string[] {
  const count = rows.reduce((most, { classId }) => Math.max(most, classId + 1), 0);
  faults.push({
    severity: 'warning',
    kind: 'neutral-names',
    file: source,
    message: `no class names: looked for names: in a data.yaml, classes.txt and *.names`,
    hint: `called class0 to class${Math.max(0, count - 1)} after the labels; give names`,
  });
  return neutralNames(count);
}

function toPicture(
  path: string,
  labelPath: string | undefined,
  labels: YoloLabels | undefined,
  classCount: number,
): LabelledPicture {
  const objects = (labels?.rows ?? [])
    .filter(({ classId }) => classId >= 0 && classId < classCount)
    .map(({ line: _, ...object }) => object);
  return { path, id: stemOf(basename(path)), objects, ...(labelPath === undefined ? {} : { labelPath }) };
}

function toSplits(paths: Paths, byPath: ReadonlyMap<string, LabelledPicture>): DatasetSplits {
  const splits: Partial<Record<SplitName, readonly LabelledPicture[]>> = {};
  for (const name of SPLIT_NAMES) {
    const found = paths[name]?.flatMap((path) => byPath.get(path) ?? []);
    if (found !== undefined) splits[name] = found;
  }
  return splits;
}

function reportMissingLabels(
  split: SplitName,
  pictures: readonly LabelledPicture[],
  faults: DatasetFault[],
): void {
  const without = pictures.filter(({ labelPath }) => labelPath === undefined);
  const [first] = without;
  if (first === undefined) return;
  const places = labelFoldersOf(first.path).join(', ');
  if (without.length === pictures.length) {
    faults.push({
      severity: 'error',
      kind: 'no-labels',
      file: first.path,
      message: `none of the ${pictures.length} pictures of ${split} has a label file`,
      hint: `looked for ${stemOf(first.path)}.txt in ${places}`,
    });
    return;
  }
  faults.push({
    severity: 'notice',
    kind: 'label-missing',
    file: first.path,
    message: `${without.length} of ${pictures.length} pictures of ${split} have no label file: ${shortList(without)}`,
    hint: `taken as pictures without objects; looked in ${places}`,
  });
}

function shortList(pictures: readonly LabelledPicture[]): string {
  const names = pictures.slice(0, 3).map(({ path }) => basename(path));
  return names.join(', ') + (pictures.length > 3 ? ', …' : '');
}
