// COCO sets: one JSON file per split, pictures wherever people put them.
import { join } from 'node:path';
import { collectClasses } from './coco-classes.ts';
import { type CocoFile, type CocoImage, readCocoFile } from './coco-file.ts';
import { collectObjects } from './coco-objects.ts';
import { mapBounded } from './files.ts';
import {
  absentPicture,
  createPictureFinder,
  missingPicture,
  noPictures,
  type PictureFinder,
  pictureFolders,
} from './picture-places.ts';
import { sizeFromPicture } from './pictures.ts';
import {
  type Dataset,
  type DatasetFault,
  type LabelledPicture,
  type LoadDatasetOptions,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';

/** JSON files per split. */
export type CocoSplits = Readonly<Partial<Record<SplitName, readonly string[]>>>;

/**
 * @param source what the user named, for messages
 * @param folders where pictures may lie besides the usual places
 */
export async function loadCoco(
  source: string,
  splits: CocoSplits,
  options: LoadDatasetOptions,
  folders: readonly string[] = [],
): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const find = createPictureFinder();
  const paths = [...new Set(SPLIT_NAMES.flatMap((name) => splits[name] ?? []))];
  const files = await mapBounded(paths, readCocoFile, 2);
  const { names, keys } = collectClasses(files, options.classNames, faults);
  const pictures = new Map<string, readonly LabelledPicture[]>();
  for (const file of files) {
    const places =
      options.picturesFolder === undefined
        ? [...folders, ...pictureFolders(file.path)]
        : [options.picturesFolder];
    pictures.set(
      file.path,
      await readPictures(file, keys, places, { find, labelsOnly: options.labelsOnly ?? false }, faults),
    );
  }
  const read: Partial<Record<SplitName, readonly LabelledPicture[]>> = {};
  for (const name of SPLIT_NAMES) {
    if (splits[name] !== undefined) read[name] = splits[name].flatMap((path) => pictures.get(path) ?? []);
  }
  return { format: 'coco', source, classNames: names, classKeys: keys, splits: read, faults };
}

async function readPictures(
  file: CocoFile,
  classKeys: readonly (number | string)[],
  folders: readonly string[],
  { find, labelsOnly }: { readonly find: PictureFinder; readonly labelsOnly: boolean },
  faults: DatasetFault[],
): Promise<readonly LabelledPicture[]> {
  const images = withoutRepeats(file, faults);
  const paths = await mapBounded(images, ({ fileName }) => find(fileName, folders));
  const found = images.flatMap((image, index) => {
    const path = paths[index];
    if (path !== undefined) return [{ image, path }];
    const what = `image ${image.id}: ${image.fileName}`;
    const kept = labelsOnly && image.width !== undefined && image.height !== undefined;
    const at = { file: file.path };
    faults.push(kept ? absentPicture(at, what) : missingPicture(at, what, folders));
    return kept ? [{ image, path: join(folders[0] ?? '', image.fileName) }] : [];
  });
  if (found.length === 0) {
    throw noPictures(
      file.path,
      images.map(({ fileName }) => fileName),
      folders,
    );
  }
  const sizes = new Map<unknown, { readonly width: number; readonly height: number }>();
  const measured = await mapBounded(found, ({ image, path }) => sizeOf(image, path, file.path), 8);
  for (const [index, { size, own }] of measured.entries()) {
    if (size !== undefined) sizes.set(found[index]?.image.id, size);
    for (const fault of own) faults.push(fault);
  }
  const objects = collectObjects(file, classKeys, sizes, faults);
  return found.flatMap(({ image: { id }, path }) => {
    const size = sizes.get(id);
    return size === undefined
      ? []
      : [{ path, id, objects: objects.get(id) ?? [], labelPath: file.path, size }];
  });
}

function withoutRepeats(file: CocoFile, faults: DatasetFault[]): readonly CocoImage[] {
  const ids = new Set<number | string>();
  const names = new Map<string, number | string>();
  return file.images.filter(({ id, fileName }) => {
    if (ids.has(id)) {
      const message = `two images have the id ${id}; the second is ${fileName}`;
      const hint = 'the second was left out; give each image an id of its own';
      faults.push({ severity: 'error', kind: 'repeated-image-id', file: file.path, message, hint });
      return false;
    }
    ids.add(id);
    const before = names.get(fileName);
    names.set(fileName, before ?? id);
    if (before !== undefined) {
      const message = `images ${before} and ${id} are both ${fileName}`;
      faults.push({
        severity: 'warning',
        kind: 'repeated-picture',
        file: file.path,
        message,
        hint: 'both were kept; merge their annotations under one id',
      });
    }
    return true;
  });
}

async function sizeOf({ width, height }: CocoImage, path: string, file: string) {
  const own: DatasetFault[] = [];
  if (width !== undefined && height !== undefined) return { size: { width, height }, own };
  return { size: await sizeFromPicture(path, file, own), own };
}
