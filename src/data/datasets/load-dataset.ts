// Reads a labelled data set, recognising its format: a data.yaml, a COCO JSON file, or a folder of one of the layouts.
import { open } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { DataError } from '#core';
import { type CocoSplits, loadCoco } from './coco.ts';
import { readDataFile } from './data-file.ts';
import { createFolderCache, kindOf } from './files.ts';
import { mapClasses } from './map-classes.ts';
import { reportSplitOverlap, splitByLists } from './picture-lists.ts';
import {
  type Dataset,
  type DatasetFault,
  type DatasetFormat,
  type LoadDatasetOptions,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';
import { loadVoc } from './voc.ts';
import { loadYoloFile, loadYoloFolder } from './yolo.ts';

/**
 * Reads all labels; pictures are not opened (but for those whose labels are in px and state no size). Nothing is cached
 * and nothing is written. What was left out, clipped or converted stands in `faults`; `expectSoundDataset` refuses a
 * set with errors.
 * @param path data.yaml, darknet `.data`, COCO JSON, or a folder
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
    if (extension === '.json') return loadCoco(path, { train: [path] }, options);
  }
  throw new DataError(
    `data=${path}: ${kind === undefined ? 'it does not exist' : 'neither a data.yaml, a .json nor a folder'}`,
    {
      hint: 'name a data.yaml (YOLO), a COCO .json, or a folder with pictures and labels',
    },
  );
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
  if (!lists || !(await isVoc(data.root))) return loadYoloFile(data, options, faults);
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
  const coco = await findCocoFiles(folder);
  const fitting: DatasetFormat[] = options.format === undefined ? [] : [options.format];
  if (options.format === undefined) {
    if (await isVoc(folder)) fitting.push('voc');
    if (coco !== undefined) fitting.push('coco');
    if (fitting.length === 0 || (await kindOf(join(folder, 'labels'))) === 'folder') fitting.push('yolo');
  }
  if (fitting.length > 1) {
    const json = Object.values(coco ?? {}).flat()[0];
    throw new DataError(`${folder}: it can be read as ${fitting.join(' and as ')}`, {
      hint: `name one: ${[json, join(folder, 'images')].filter((place) => place !== undefined).join(' or ')}, or write a data.yaml`,
    });
  }
  if (fitting[0] === 'voc') return loadVoc(folder, options);
  if (fitting[0] === 'yolo') return loadYoloFolder(folder, options);
  if (coco !== undefined) return loadCoco(folder, coco, options);
  throw new DataError(`${folder}: no COCO file in it`, {
    hint: 'looked for *.json here, in annotations and in train, val, valid and test',
  });
}

/** `data.yaml`, or the only YAML file. */
async function findDataFile(folder: string): Promise<string | undefined> {
  const names = [...(await createFolderCache().names(folder))];
  const files = names.filter((name) => /^[^.].*\.ya?ml$/i.test(name));
  const habitual = files.find((name) => /^(data|dataset)\.ya?ml$/i.test(name));
  const chosen = habitual ?? (files.length === 1 ? files[0] : undefined);
  return chosen === undefined ? undefined : join(folder, chosen);
}

async function isVoc(folder: string): Promise<boolean> {
  const cache = createFolderCache();
  const hasXml = async (place: string) =>
    [...(await cache.names(place))].some((name) => /^[^.].*\.xml$/i.test(name));
  return (await hasXml(join(folder, 'Annotations'))) || (await hasXml(folder));
}

async function findCocoFiles(folder: string): Promise<CocoSplits | undefined> {
  const cache = createFolderCache();
  const splits: Partial<Record<SplitName, string[]>> = {};
  for (const part of ['', 'annotations', 'train', 'val', 'valid', 'test']) {
    for (const name of [...(await cache.names(join(folder, part)))].sort()) {
      const path = join(folder, part, name);
      if (!/^[^.].*\.json$/i.test(name) || !(await looksLikeCoco(path))) continue;
      const split = splitOf(`${part}/${basename(name)}`);
      splits[split] = [...(splits[split] ?? []), path];
    }
  }
  return Object.keys(splits).length === 0 ? undefined : splits;
}

function splitOf(name: string): SplitName {
  if (/val/i.test(name)) return 'val';
  return /test/i.test(name) ? 'test' : 'train';
}

const SAMPLE_BYTES = 65_536;

/** Whether the first or last part of a file has one of the keys of a COCO set at the top. */
async function looksLikeCoco(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const sample = Buffer.alloc(Math.min(size, SAMPLE_BYTES));
    const head = await file.read(sample, 0, sample.length, 0);
    const start = sample.toString('latin1', 0, head.bytesRead);
    const tail = await file.read(sample, 0, sample.length, Math.max(0, size - sample.length));
    const text = start + sample.toString('latin1', 0, tail.bytesRead);
    return /"(categories|annotations)"\s*:\s*\[/.test(text);
  } finally {
    await file.close();
  }
}
