// Reads a labelled data set, recognising its format: a data.yaml, a label file of another form, or a folder of one of the
// layouts.
import { dirname, extname, join, resolve } from 'node:path';
import { DataError } from '#core';
import { loadCoco } from './coco.ts';
import { loadCvat } from './cvat.ts';
import { readDataFile } from './data-file.ts';
import { createFolderCache, kindOf } from './files.ts';
import { loadLabelmeFile, loadLabelmeFolder } from './labelme.ts';
import { mapClasses } from './map-classes.ts';
import { loadOpenImages } from './openimages.ts';
import { reportSplitOverlap, splitByLists } from './picture-lists.ts';
import { type FolderLabels, findLabels, formOf } from './recognise.ts';
import {
  type Dataset,
  type DatasetFault,
  type DatasetFormat,
  type LoadDatasetOptions,
  SPLIT_NAMES,
} from './types.ts';
import { loadVoc } from './voc.ts';
import { loadYoloFile, loadYoloFolder } from './yolo.ts';

/**
 * Reads all labels; pictures are not opened (but for those whose labels are in px and state no size). Nothing is cached
 * and nothing is written. What was left out, clipped or converted stands in `faults`; `expectSoundDataset` refuses a
 * set with errors.
 * @param path data.yaml, darknet `.data`, COCO or labelme JSON, OpenImages CSV, CVAT XML, or a folder
 * @throws DataError where the set, a split or its names cannot be found
 * @throws ConfigError where `mapClasses` names an unknown class
 */
export async function loadDataset(path: string, options: LoadDatasetOptions = {}): Promise<Dataset> {
  const read = await readAny(resolve(path), options);
  const faults = [...read.faults];
  const { splitLists } = options;
  const splits = splitLists === undefined ? read.splits : await relist(read, splitLists, faults);
  reportSplitOverlap(splits, read.source, faults);
  const dataset = { ...read, source: path, splits, faults };
  return options.mapClasses === undefined
    ? dataset
    : mapClasses(dataset, options.mapClasses, options.singleName);
}

async function relist(
  { splits, source }: Dataset,
  lists: NonNullable<LoadDatasetOptions['splitLists']>,
  faults: DatasetFault[],
) {
  const all = new Map(
    SPLIT_NAMES.flatMap((name) => splits[name] ?? []).map((picture) => [
      `${picture.path}\n${picture.id}`,
      picture,
    ]),
  );
  const root = (await kindOf(source)) === 'folder' ? source : dirname(source);
  return splitByLists([...all.values()], lists, root, faults);
}

async function readAny(path: string, options: LoadDatasetOptions): Promise<Dataset> {
  const kind = await kindOf(path);
  if (kind === 'folder') return readFolder(path, options);
  const extension = extname(path).toLowerCase();
  if (kind === 'file') {
    if (['.yaml', '.yml', '.data'].includes(extension)) return readByFile(path, options);
    const form = await formOf(path);
    if (form === 'labelme') return loadLabelmeFile(path, options);
    if (form === 'cvat') return loadCvat(path, [path], options);
    if (form === 'openimages') return loadOpenImages(path, { train: [path] }, options);
    if (form === 'voc') throw oneOfMany(path);
    if (extension === '.json') return loadCoco(path, { train: [path] }, options);
  }
  throw new DataError(
    `data=${path}: ${kind === undefined ? 'it does not exist' : 'neither a folder nor a file of a form that is known here'}`,
    {
      hint: 'name a data.yaml (YOLO), a COCO or labelme .json, an OpenImages .csv, a CVAT .xml, or a folder with pictures and labels',
    },
  );
}

function oneOfMany(path: string): DataError {
  return new DataError(`data=${path}: the Pascal VOC annotation of one picture`, {
    hint: 'name the folder that holds Annotations and JPEGImages',
  });
}

/** A data.yaml may describe any of the formats: splits that are JSON files are COCO, a folder with Annotations is VOC. */
async function readByFile(file: string, options: LoadDatasetOptions): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const data = await readDataFile(file, faults);
  const entries = Object.values(data.splits).flat();
  const withNames = data.names === undefined ? options : { classNames: data.names, ...options };
  if (entries.some((entry) => entry.toLowerCase().endsWith('.json'))) {
    const read = await loadCoco(file, data.splits, withNames, [data.root, join(data.root, 'images')]);
    return { ...read, faults: [...faults, ...read.faults] };
  }
  const lists = entries.every((entry) => entry.toLowerCase().endsWith('.txt'));
  if (!lists || (await findLabels(data.root)).voc === undefined) return loadYoloFile(data, options, faults);
  const splitLists = Object.fromEntries(
    Object.entries(data.splits).map(([name, paths]) => [name, onlyOne(file, name, paths)]),
  );
  const read = await loadVoc(data.root, { ...withNames, splitLists });
  const all = [...faults, ...read.faults];
  const splits = await splitByLists(read.splits.train ?? [], splitLists, data.root, all);
  return { ...read, source: file, splits, faults: all };
}

function onlyOne(file: string, split: string, paths: readonly string[]): string {
  const [first, second] = paths;
  if (first !== undefined && second === undefined) return first;
  throw new DataError(`${file}: ${split}: ${paths.length} lists, a Pascal VOC set takes one`, {
    hint: 'put the ids into one list',
  });
}

async function readFolder(folder: string, options: LoadDatasetOptions): Promise<Dataset> {
  const yaml = await findDataFile(folder);
  if (yaml !== undefined && (options.format === undefined || options.format === 'yolo'))
    return readByFile(yaml, options);
  const labels = await findLabels(folder);
  const { coco, openimages, cvat } = labels;
  const format = options.format ?? (await onlyFormat(folder, labels));
  switch (format) {
    case 'voc':
      return loadVoc(folder, options);
    case 'yolo':
      return loadYoloFolder(folder, options);
    case 'labelme':
      return loadLabelmeFolder(folder, options);
    case 'coco':
      if (coco !== undefined) return loadCoco(folder, coco, options);
      break;
    case 'openimages':
      if (openimages !== undefined) return loadOpenImages(folder, openimages, options);
      break;
    case 'cvat':
      if (cvat !== undefined) return loadCvat(folder, cvat, options);
      break;
    default:
      format satisfies never;
  }
  throw new DataError(`${folder}: no ${format} file in it`, {
    hint: 'looked here, in annotations and in train, val, valid and test',
  });
}

/** @throws DataError where the folder could be read in two ways */
async function onlyFormat(folder: string, labels: FolderLabels): Promise<DatasetFormat> {
  const fitting = (['voc', 'coco', 'openimages', 'cvat', 'labelme'] as const).filter(
    (format) => labels[format] !== undefined,
  ) as DatasetFormat[];
  if (fitting.length === 0 || (await holdsYoloLabels(folder, labels))) fitting.push('yolo');
  const [first, second] = fitting;
  if (first !== undefined && second === undefined) return first;
  const { coco = {}, openimages = {}, cvat = [] } = labels;
  const files = [...Object.values(coco).flat(), ...Object.values(openimages).flat(), ...cvat];
  const places = [...files.slice(0, 1), join(folder, 'images')];
  throw new DataError(`${folder}: it can be read as ${fitting.join(' and as ')}`, {
    hint: `name one: ${places.join(' or ')}, or write a data.yaml`,
  });
}

/** A folder `labels` with anything but the JSON files of labelme. */
async function holdsYoloLabels(folder: string, { labelme }: FolderLabels): Promise<boolean> {
  const names = await createFolderCache().names(join(folder, 'labels'));
  if (labelme === undefined) return (await kindOf(join(folder, 'labels'))) === 'folder';
  return [...names].some((name) => name.endsWith('.txt'));
}

/** `data.yaml`, or the only YAML file. */
async function findDataFile(folder: string): Promise<string | undefined> {
  const names = [...(await createFolderCache().names(folder))];
  const files = names.filter((name) => /^[^.].*\.ya?ml$/i.test(name));
  const habitual = files.find((name) => /^(data|dataset)\.ya?ml$/i.test(name));
  const chosen = habitual ?? (files.length === 1 ? files[0] : undefined);
  return chosen === undefined ? undefined : join(folder, chosen);
}
