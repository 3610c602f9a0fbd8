// Files of a data set: each folder is listed once, files are read a few at a time, links are followed but not in circles.
import { readFile } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { DataError } from '#core';
import type { DatasetFault } from './types.ts';

/** Reads that wait on the disk at once; more gains nothing, libuv has four threads. */
const FILES_AT_ONCE = 32;

/** Takes half the CPU time of the same function of `node:fs/promises`, which counts with a hundred thousand label files. */
const readWhole = promisify(readFile);

/** Runs `work` over the items, a bounded number at a time; results keep the order of the items. */
export async function mapBounded<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  limit = FILES_AT_ONCE,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const queue = items.entries();
  async function worker(): Promise<void> {
    for (const [index, item] of queue) results[index] = await work(item, index);
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/**
 * @returns the text without a byte order mark
 * @throws DataError naming the file
 */
export async function readText(path: string): Promise<string> {
  try {
    return (await readWhole(path, 'utf8')).replace(/^\uFEFF/, '');
  } catch (cause) {
    throw new DataError(`${path}: cannot be read (${cause instanceof Error ? cause.message : cause})`, {
      hint: 'check the path and its permissions',
      cause,
    });
  }
}

export function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

/** 1-based line of the first `key:` or `key =` in a text. */
export function lineOfKey(text: string, key: string): { readonly line?: number } {
  const index = linesOf(text).findIndex((line) => new RegExp(`^\\s*${key}\\s*[:=]`).test(line));
  return index < 0 ? {} : { line: index + 1 };
}

/** File name without folder and ending. */
export function stemOf(path: string): string {
  return basename(path, extname(path));
}

export async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  return found.isDirectory() ? 'folder' : 'file';
}

/** Answers from one listing per folder, so that ten thousand pictures do not cost as many look-ups. */
export interface FolderCache {
  /** Names in a folder; empty where it does not exist. */
  names(folder: string): Promise<ReadonlySet<string>>;
}

export function createFolderCache(): FolderCache {
  const known = new Map<string, Promise<ReadonlySet<string>>>();
  return {
    names(folder) {
      const before = known.get(folder);
      if (before !== undefined) return before;
      const listing = readdir(folder).then(
        (names) => new Set(names),
        () => new Set<string>(),
      );
      known.set(folder, listing);
      return listing;
    },
  };
}

/**
 * Every file below a folder, sorted by path. Hidden files and the clutter of other systems are passed over; links that
 * lead nowhere or in a circle are reported.
 */
export async function listFiles(folder: string, faults: DatasetFault[]): Promise<string[]> {
  const files: string[] = [];
  await walk(folder, [await realpath(folder)], files, faults);
  return files.sort(byCodeUnits);
}

export function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** @param trail real paths of the folders that lead here */
async function walk(
  folder: string,
  trail: readonly string[],
  files: string[],
  faults: DatasetFault[],
): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || entry.name === '__MACOSX') continue;
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await followLink(path, faults) : entry;
    if (kind?.isFile()) files.push(path);
    if (!kind?.isDirectory()) continue;
    const real = await realpath(path);
    if (trail.includes(real)) {
      faults.push({
        severity: 'warning',
        kind: 'link-loop',
        file: path,
        message: `this link leads back to ${real}, which holds it`,
        hint: 'it was not followed; remove the link',
      });
    } else await walk(path, [...trail, real], files, faults);
  }
}

async function followLink(path: string, faults: DatasetFault[]) {
  try {
    return await stat(path);
  } catch (error) {
    const circle = (error as NodeJS.ErrnoException).code === 'ELOOP';
    faults.push({
      severity: 'warning',
      kind: circle ? 'link-loop' : 'dangling-link',
      file: path,
      message: circle ? 'this link leads in a circle' : 'this link leads to nothing',
      hint: 'it was passed over; restore what it pointed to, or remove it',
    });
    return undefined;
  }
}
