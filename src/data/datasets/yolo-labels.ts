// Which label file belongs to which picture: `labels` in place of the last `images` folder, beside the picture (darknet),
// or in a `labels` folder next to or below the pictures' folder. Links are not resolved: labels lie beside the link.
import { basename, dirname, join } from 'node:path';
import { isPicturePath } from '#data/images';
import { byCodeUnits, type FolderCache, mapBounded, readText, stemOf } from './files.ts';
import type { DatasetFault } from './types.ts';

/** Folders whose last occurrence in a path is replaced, and by what. */
const MIRRORS: Readonly<Record<string, string>> = {
  images: 'labels',
  Images: 'Labels',
  JPEGImages: 'labels',
};

/** Folders where the label file of a picture may lie, in order. */
export function labelFoldersOf(picture: string): readonly string[] {
  const folder = dirname(picture);
  const parts = folder.split('/');
  const last = parts.findLastIndex((part) => part in MIRRORS);
  const mirrored = parts.map((part, index) => (index === last ? (MIRRORS[part] ?? part) : part)).join('/');
  const others = [folder, join(dirname(folder), 'labels'), join(folder, 'labels')];
  return [...new Set(last < 0 ? others : [mirrored, ...others])];
}

/**
 * @returns label file per picture, undefined where it has none
 */
export async function findLabels(
  pictures: readonly string[],
  cache: FolderCache,
): Promise<readonly (string | undefined)[]> {
  return mapBounded(pictures, async (picture) => {
    const name = `${stemOf(picture)}.txt`;
    for (const folder of labelFoldersOf(picture)) {
      if ((await cache.names(folder)).has(name)) return join(folder, name);
    }
    return undefined;
  });
}

/** Pictures that share one label file: the labels of one have probably overwritten those of the other. */
export function reportSharedLabels(
  pictures: readonly string[],
  labels: readonly (string | undefined)[],
  faults: DatasetFault[],
): void {
  const owners = new Map<string, string[]>();
  for (const [index, label] of labels.entries()) {
    if (label !== undefined) owners.set(label, [...(owners.get(label) ?? []), pictures[index] ?? '']);
  }
  for (const [file, found] of owners) {
    if (found.length === 1) continue;
    faults.push({
      severity: 'warning',
      kind: 'shared-label',
      file,
      message: `${found.length} pictures share this label file: ${found.map((path) => basename(path)).join(', ')}`,
      hint: 'all of them were given its boxes; rename the pictures so that each has labels of its own',
    });
  }
}

/** Label files to which no picture belongs. Text files that hold no rows of numbers are no labels. */
export async function reportOrphans(
  pictures: readonly string[],
  labels: readonly (string | undefined)[],
  cache: FolderCache,
  faults: DatasetFault[],
): Promise<void> {
  const pictureFolders = new Map<string, Set<string>>();
  for (const [index, label] of labels.entries()) {
    if (label === undefined) continue;
    const folders = pictureFolders.get(dirname(label)) ?? new Set();
    pictureFolders.set(dirname(label), folders.add(dirname(pictures[index] ?? '')));
  }
  const orphans: string[] = [];
  for (const [labelFolder, folders] of pictureFolders) {
    const stems = new Set<string>();
    for (const folder of folders) {
      for (const name of await cache.names(folder)) if (isPicturePath(name)) stems.add(stemOf(name));
    }
    for (const name of await cache.names(labelFolder)) {
      if (name.endsWith('.txt') && !name.startsWith('.') && !stems.has(stemOf(name)))
        orphans.push(join(labelFolder, name));
    }
  }
  const areLabels = await mapBounded(orphans, async (file) =>
    /^\s*\d+(\s+-?[\d.]+){4}/.test(await readText(file)),
  );
  for (const file of orphans.filter((_, index) => areLabels[index]).sort(byCodeUnits)) {
    faults.push({
      severity: 'warning',
      kind: 'orphan-label',
      file,
      message: 'no picture belongs to this label file',
      hint: 'its boxes are not used; restore the picture or remove the file',
    });
  }
}
