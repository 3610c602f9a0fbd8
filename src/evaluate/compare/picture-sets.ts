// What a comparison is given: labelled data sets, or folders of pictures without labels.
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { DataError } from '#core';
import { expectSoundDataset, type LabelledPicture, loadDataset, type SplitName } from '#data/datasets';
import { isPicturePath } from '#data/images';
import { chooseSplit } from '../val/validate-model.ts';

export type PictureSetRequest =
  /** data.yaml, COCO JSON, or the folder of a YOLO or VOC set. */
  | { readonly kind: 'dataset'; readonly path: string; readonly split?: SplitName }
  /** Folder of pictures, with those in its subfolders; labels are not looked for. */
  | { readonly kind: 'pictures'; readonly path: string };

export interface PictureSet {
  readonly source: string;
  readonly pictures: readonly LabelledPicture[];
  /** Absent where there are no labels. */
  readonly classNames?: readonly string[];
  readonly split?: SplitName;
}

/** @throws DataError where it cannot be read, has errors, or holds no picture */
export async function loadPictureSet(request: PictureSetRequest): Promise<PictureSet> {
  if (request.kind === 'pictures') return loadFolder(request.path);
  const dataset = await loadDataset(request.path);
  expectSoundDataset(dataset);
  const { split, pictures } = chooseSplit(dataset, request.split);
  return { source: request.path, split, pictures, classNames: dataset.classNames };
}

async function loadFolder(path: string): Promise<PictureSet> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    throw new DataError(`source=${path}: it does not exist`, {
      hint: 'name a folder of pictures, or a clip',
    });
  }
  if (!found.isDirectory()) {
    throw new DataError(`${path}: not a folder; single pictures are not compared, nor a clip with pictures`, {
      hint: 'compare two folders of pictures, or two clips: source=day.mp4 against=dusk.mp4',
    });
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const pictures = entries
    .filter((entry) => entry.isFile() && isPicturePath(entry.name))
    .map((entry) => resolve(join(entry.parentPath, entry.name)))
    .sort();
  if (pictures.length > 0) {
    return {
      source: path,
      pictures: pictures.map((picture) => ({ path: picture, id: picture, objects: [] })),
    };
  }
  throw new DataError(`source=${path}: no picture in the folder`, {
    hint: 'name a folder of JPEG, PNG, WebP or other pictures',
  });
}

/** Short names that tell two sets apart: of the file or folder, else with the folder above it. */
export function setNames(first: string, second: string): readonly [first: string, second: string] {
  const own = ([first, second] as const).map((path) => basename(path, dataEnding(path)));
  const above = [first, second].map((path) => basename(dirname(resolve(path))));
  for (const [one = '', two = ''] of [own, above, above.map((folder, place) => `${folder}/${own[place]}`)]) {
    if (one !== two && one !== '' && two !== '') return [one, two];
  }
  return [first, second];
}

function dataEnding(path: string): string {
  const ending = extname(path);
  return ['.yaml', '.yml', '.json', '.data'].includes(ending.toLowerCase()) ? ending : '';
}

/**
 * The second set with the class numbers of the first.
 * @throws DataError where one is labelled and the other not, or the names of the classes differ
 */
export function withClassesOf(first: PictureSet, second: PictureSet): PictureSet {
  if (first.classNames === undefined && second.classNames === undefined) return second;
  const [names = [], others = []] = [first.classNames, second.classNames];
  const stray = [
    ...names.filter((name) => !others.includes(name)),
    ...others.filter((name) => !names.includes(name)),
  ];
  if (stray.length > 0) {
    throw new DataError(
      `${first.source} is labelled with ${names.join(', ')}, but ${second.source} with ${others.join(', ')}`,
      {
        hint: `use the same class names in both; ${stray.slice(0, 5).join(', ')} ${stray.length === 1 ? 'is' : 'are'} in one only`,
      },
    );
  }
  const ids = others.map((name) => names.indexOf(name));
  const pictures = second.pictures.map((picture) => ({
    ...picture,
    objects: picture.objects.map((object) => ({ ...object, classId: ids[object.classId] ?? object.classId })),
  }));
  return { ...second, classNames: names, pictures };
}
