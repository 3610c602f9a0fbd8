// Pascal VOC sets: one XML file per picture, in `Annotations` or beside it, and splits as lists of ids.
import { basename, dirname, extname, join, relative } from 'node:path';
import { DataError } from '#core';
import { kindOf, listFiles, mapBounded, stemOf } from './files.ts';
import { namesOf, reportNames, toObjects } from './named-objects.ts';
import { splitByLists } from './picture-lists.ts';
import { picturesAmong, sizeFromPicture } from './pictures.ts';
import type { Dataset, DatasetFault, DatasetSplits, LabelledPicture, LoadDatasetOptions } from './types.ts';
import { readVocFile, type VocFile } from './voc-file.ts';

interface Layout {
  readonly pictures: string;
  readonly annotations: string;
}

/**
 * @param folder holds `Annotations` and `JPEGImages`, or pictures with an XML file beside each
 * @throws DataError where it holds no annotations or no pictures
 */
export async function loadVoc(folder: string, options: LoadDatasetOptions): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const layout = await findLayout(folder, options.picturesFolder);
  const listed = await listFiles(layout.pictures, faults);
  const picturePaths = picturesAmong(listed, faults);
  if (picturePaths.length === 0) {
    throw new DataError(`${layout.pictures}: no pictures`, {
      hint: 'looked in JPEGImages, images and the folder itself',
    });
  }
  const besides =
    layout.annotations === layout.pictures ? listed : await listFiles(layout.annotations, faults);
  const xmlPaths = besides.filter((path) => extname(path).toLowerCase() === '.xml');
  if (xmlPaths.length === 0) {
    throw new DataError(`${layout.annotations}: no .xml files`, {
      hint: 'looked in Annotations and beside the pictures',
    });
  }
  const read = await mapBounded(xmlPaths, async (path) => {
    const own: DatasetFault[] = [];
    return { file: await readVocFile(path, own), own };
  });
  for (const { own } of read) for (const fault of own) faults.push(fault);
  const files = read.flatMap(({ file }) => file ?? []);
  const labelled = pairUp(picturePaths, xmlPaths, files, layout, faults);
  const classNames = options.classNames ?? namesOf(files);
  reportNames(folder, files, classNames, faults);
  const classIds = new Map(classNames.map((name, index) => [name, index]));
  const placed = await mapBounded(picturePaths, (path) => toPicture(path, labelled.get(path), classIds), 8);
  for (const { own } of placed) for (const fault of own) faults.push(fault);
  const kept = placed.flatMap(({ picture }) => picture ?? []);
  const splits = options.splitLists === undefined ? await readSplits(folder, kept, faults) : { train: kept };
  return { format: 'voc', source: folder, classNames, classKeys: [...classNames.keys()], splits, faults };
}

async function findLayout(folder: string, picturesFolder: string | undefined): Promise<Layout> {
  const annotations = join(folder, 'Annotations');
  const apart = (await kindOf(annotations)) === 'folder';
  if (picturesFolder !== undefined)
    return { pictures: picturesFolder, annotations: apart ? annotations : folder };
  if (!apart) return { pictures: folder, annotations: folder };
  for (const name of ['JPEGImages', 'images', 'Images']) {
    const pictures = join(folder, name);
    if ((await kindOf(pictures)) === 'folder') return { pictures, annotations };
  }
  return { pictures: folder, annotations };
}

/** @returns XML file by picture: of the same name, else the one whose `filename` says so */
function pairUp(
  pictures: readonly string[],
  xmlPaths: readonly string[],
  files: readonly VocFile[],
  layout: Layout,
  faults: DatasetFault[],
): ReadonlyMap<string, VocFile | 'unreadable'> {
  const withoutEnding = (root: string, path: string) => join(relative(root, dirname(path)), stemOf(path));
  const byPlace = new Map(pictures.map((path) => [withoutEnding(layout.pictures, path), path]));
  const byName = new Map(pictures.map((path) => [basename(path), path]));
  const byPath = new Map(files.map((file) => [file.path, file]));
  const paired = new Map<string, VocFile | 'unreadable'>();
  for (const path of xmlPaths) {
    const file = byPath.get(path);
    const said = file?.fileName === undefined ? undefined : byName.get(basename(file.fileName));
    const picture = byPlace.get(withoutEnding(layout.annotations, path)) ?? said;
    if (picture !== undefined) paired.set(picture, file ?? 'unreadable');
    else {
      faults.push({
        severity: 'warning',
        kind: 'orphan-label',
        file: path,
        message: `no picture ${stemOf(path)}${file?.fileName === undefined ? '' : ` or ${file.fileName}`} in ${layout.pictures}`,
        hint: 'its objects are not used; restore the picture or remove the file',
      });
    }
  }
  return paired;
}

/** @returns the picture, absent where it cannot be used, and the faults of its objects */
async function toPicture(
  path: string,
  file: VocFile | 'unreadable' | undefined,
  classIds: ReadonlyMap<string, number>,
): Promise<{ readonly picture?: LabelledPicture; readonly own: readonly DatasetFault[] }> {
  const own: DatasetFault[] = [];
  if (file === 'unreadable') return { own }; // reported; as background it would teach something wrong
  const bare = { path, id: stemOf(path), objects: [] };
  if (file === undefined) return { picture: bare, own };
  const size = file.size ?? (await sizeFromPicture(path, file.path, own));
  if (size === undefined) return { own };
  return {
    picture: { ...bare, objects: toObjects(file, size, classIds, own), labelPath: file.path, size },
    own,
  };
}

async function readSplits(
  folder: string,
  pictures: readonly LabelledPicture[],
  faults: DatasetFault[],
): Promise<DatasetSplits> {
  const list = (name: string) => join(folder, 'ImageSets', 'Main', `${name}.txt`);
  const exists = async (name: string) => (await kindOf(list(name))) === 'file';
  const lists: { train?: string; val?: string; test?: string } = {};
  for (const name of ['train', 'val', 'test'] as const) if (await exists(name)) lists[name] = list(name);
  if (lists.train === undefined && lists.val === undefined && (await exists('trainval'))) {
    lists.train = list('trainval');
  }
  if (Object.keys(lists).length > 0) {
    const splits = await splitByLists(pictures, lists, folder, faults);
    reportUnlisted(folder, pictures, splits, faults);
    return splits;
  }
  faults.push({
    severity: 'notice',
    kind: 'no-splits',
    file: folder,
    message: 'no lists train.txt, val.txt, test.txt or trainval.txt in ImageSets/Main',
    hint: `all ${pictures.length} pictures count as train`,
  });
  return { train: pictures };
}

function reportUnlisted(
  folder: string,
  pictures: readonly LabelledPicture[],
  splits: DatasetSplits,
  faults: DatasetFault[],
): void {
  const listed = new Set(Object.values(splits).flatMap((split) => split.map(({ path }) => path)));
  const others = pictures.filter(({ path }) => !listed.has(path));
  const [first] = others;
  if (first === undefined) return;
  faults.push({
    severity: 'notice',
    kind: 'outside-splits',
    file: folder,
    message: `${others.length} of ${pictures.length} pictures are in no list of ImageSets/Main; first: ${first.path}`,
    hint: 'left out; add them to a list',
  });
}
