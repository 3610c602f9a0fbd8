// Class names of YOLO sets, from wherever people keep them. Names decide; a count must agree or be absent.
import { dirname, join, resolve } from 'node:path';
import { DataError } from '#core';
import { createFolderCache, kindOf, lineOfKey, linesOf, readText } from './files.ts';
import type { DatasetFault } from './types.ts';

export interface ClassList {
  /** By class number; absent where the set does not say. */
  readonly names?: readonly string[];
}

/** `nc: 300000` is a typing error, not a set. */
const MOST_CLASSES = 100_000;

/**
 * `names` as list, map or file name, and `nc`.
 * @throws DataError where names are of a form that is not known
 */
export async function readClassList(
  file: string,
  text: string,
  document: Readonly<Record<string, unknown>>,
  faults: DatasetFault[],
): Promise<ClassList> {
  const count = document['nc'] == null ? undefined : Number(document['nc']);
  const listed = document['names'];
  const at = { file, ...lineOfKey(text, 'nc') };
  if (count !== undefined && !(Number.isInteger(count) && count > 0 && count <= MOST_CLASSES)) {
    throw new DataError(`${file}: nc: ${document['nc']} is no count of classes`, {
      hint: 'remove nc; names suffice',
    });
  }
  if (listed == null) {
    if (count === undefined) return {};
    faults.push({
      severity: 'warning',
      kind: 'neutral-names',
      ...at,
      message: `nc: ${count} without names`,
      hint: 'the classes are called class0, class1, …; write names: with one name per class',
    });
    return { names: neutralNames(count) };
  }
  const names =
    typeof listed === 'string' ? await namesFromFile(file, listed) : namesOf(file, text, listed, faults);
  if (count !== undefined && count !== names.length) {
    faults.push({
      severity: 'error',
      kind: 'class-count',
      ...at,
      message: `nc: ${count}, but names has ${names.length}: ${names.join(', ')}`,
      hint: 'names decide; correct nc or remove it',
    });
  }
  return { names };
}

/** Two classes of one name cannot be told apart in anything that people read. */
export function reportRepeatedNames(file: string, names: readonly string[], faults: DatasetFault[]): void {
  const seen = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const before = seen.get(name);
    seen.set(name, index);
    if (before === undefined) continue;
    faults.push({
      severity: 'error',
      kind: 'repeated-name',
      file,
      message: `classes ${before} and ${index} are both called "${name}"`,
      hint: 'give each class a name of its own, or merge the two in the labels',
    });
  }
}

export function neutralNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `class${index}`);
}

function namesOf(file: string, text: string, listed: object, faults: DatasetFault[]): readonly string[] {
  if (Array.isArray(listed)) return listed.map((name) => String(name).trim());
  const byNumber = new Map(Object.entries(listed).map(([key, name]) => [Number(key), String(name).trim()]));
  const wrong = Object.keys(listed).find((key) => !/^\d+$/.test(key) || Number(key) >= MOST_CLASSES);
  if (wrong !== undefined) {
    throw new DataError(`${file}: names: the key ${wrong} is no class number`, {
      hint: 'write a list of names, or a map from 0 such as `0: car`',
    });
  }
  const names = neutralNames(Math.max(...byNumber.keys(), -1) + 1).map(
    (name, index) => byNumber.get(index) ?? name,
  );
  const missing = names.map((_, index) => index).filter((index) => !byNumber.has(index));
  if (missing.length > 0) {
    faults.push({
      severity: 'warning',
      kind: 'names-gap',
      file,
      ...lineOfKey(text, 'names'),
      message: `names has no entry for ${missing.length === 1 ? 'class' : 'classes'} ${missing.slice(0, 8).join(', ')}`,
      hint: `called ${names[missing[0] ?? 0]} and so on; number the names from 0 without gaps`,
    });
  }
  return names;
}

async function namesFromFile(file: string, listed: string): Promise<readonly string[]> {
  // Darknet writes paths as seen from the folder above its data folder.
  for (const path of [resolve(dirname(file), listed), resolve(dirname(file), '..', listed)]) {
    if ((await kindOf(path)) === 'file') return readNamesFile(path);
  }
  throw new DataError(`${file}: names: ${listed} is neither a list nor a file that exists`, {
    hint: 'write `names: [car, bus]`, or the name of a file with one name per line',
  });
}

/** One name per line; blank lines are passed over. */
async function readNamesFile(path: string): Promise<readonly string[]> {
  return linesOf(await readText(path)).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

/**
 * Looks for `classes.txt` or one `*.names` in the folders.
 * @throws DataError where there are several to choose from
 */
export async function findNames(folders: readonly string[], faults: DatasetFault[]): Promise<ClassList> {
  const cache = createFolderCache();
  for (const folder of [...new Set(folders)]) {
    const found = [...(await cache.names(folder))].filter(
      (name) => name === 'classes.txt' || /^[^.].*\.names$/i.test(name),
    );
    const [first] = found;
    if (first === undefined) continue;
    if (found.length > 1) {
      throw new DataError(`${folder}: several files could hold the class names: ${found.sort().join(', ')}`, {
        hint: 'say which with names=, or write a data.yaml',
      });
    }
    const file = join(folder, first);
    const names = await readNamesFile(file);
    faults.push({
      severity: 'notice',
      kind: 'names-file',
      file,
      message: `${names.length} class names were found in it`,
      hint: 'they are used because no data.yaml names the classes',
    });
    return { names };
  }
  return {};
}
