// Where the pictures are that a label file names: people move them, and exports keep the folders of another machine.
import { basename, dirname, extname, isAbsolute, join } from 'node:path';
import { DataError } from '#core';
import { isPicturePath } from '#data/images';
import { createFolderCache, stemOf } from './files.ts';
import type { DatasetFault } from './types.ts';

/** Beside the file, in `images`, or in a folder called as the split: `annotations/instances_val2017.json` → `val2017`. */
export function pictureFolders(file: string, further: readonly string[] = []): readonly string[] {
  const folder = dirname(file);
  const above = dirname(folder);
  const split = stemOf(file).replace(/^(instances|annotations|person_keypoints)_/, '');
  return [folder, above].flatMap((root) => [
    root,
    join(root, 'images'),
    join(root, split),
    join(root, 'images', split),
    ...further.map((name) => join(root, name)),
  ]);
}

/** @returns the path of a picture as a label file names it, with or without folder and ending; undefined where none is there */
export type PictureFinder = (fileName: string, folders: readonly string[]) => Promise<string | undefined>;

/** Each folder is listed once. */
export function createPictureFinder(): PictureFinder {
  const cache = createFolderCache();
  const stems = new Map<string, Promise<ReadonlyMap<string, string>>>();
  const stemsOf = (folder: string) => {
    const known = stems.get(folder) ?? cache.names(folder).then(pictureStems);
    stems.set(folder, known);
    return known;
  };
  return async (fileName, folders) => {
    const name = fileName.replaceAll('\\', '/');
    const wanted = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name));
    // Exports often keep the folders of the machine that made them.
    const byName = folders.map((folder) => join(folder, basename(name)));
    const paths = [...new Set([...wanted, ...byName])];
    for (const path of paths) if ((await cache.names(dirname(path))).has(basename(path))) return path;
    if (isPicturePath(name)) return undefined;
    for (const path of paths) {
      const found = (await stemsOf(dirname(path))).get(basename(path));
      if (found !== undefined) return join(dirname(path), found);
    }
    return undefined;
  };
}

function pictureStems(names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const pictures = [...names].filter(isPicturePath).sort();
  return new Map(pictures.map((name) => [basename(name, extname(name)), name]));
}

/** @param what the picture as the user finds it in the file: `image 7: a.jpg` */
export function missingPicture(
  at: { readonly file: string; readonly line?: number },
  what: string,
  folders: readonly string[],
): DatasetFault {
  const hint = `left out with its objects; looked in ${[...new Set(folders)].join(', ')}`;
  return { severity: 'error', kind: 'missing-picture', ...at, message: `${what} is not there`, hint };
}

/** Where saved detections are judged, no picture is opened, and its size is all that is needed of it. */
export function absentPicture(
  at: { readonly file: string; readonly line?: number },
  what: string,
): DatasetFault {
  const message = `${what} is not there`;
  const hint = 'its labels were read all the same: nothing here opens pictures whose size is stated';
  return { severity: 'notice', kind: 'absent-picture', ...at, message, hint };
}

export function noPictures(path: string, names: readonly string[], folders: readonly string[]): DataError {
  const [first] = names;
  if (first === undefined) {
    return new DataError(`${path}: it lists no images`, { hint: 'export the set again' });
  }
  return new DataError(`${path}: none of its ${names.length} pictures is there; the first is ${first}`, {
    hint: `looked in ${[...new Set(folders)].join(', ')}`,
  });
}
