// Finds the pictures and clips that a folder, a pattern or a list file stands for.
import { type Dirent, readdirSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { DataError, nearest, SourceError } from '#core';
import { isPicturePath, isUnreadablePicturePath, pictureExtensions } from '#data/images';
import { entryKind, globFiles, isGlob } from './glob.ts';
import { readListFile, resolveList } from './list-file.ts';

export interface Listing {
  /** Pictures and clips, in the order in which they are read. */
  readonly paths: readonly string[];
  /** What the user should know: formats that cannot be read, a fallback that was taken. */
  readonly notices: readonly string[];
  /** Entries that lead nowhere: dangling links, lines without a file. */
  readonly missing: readonly { readonly source: string; readonly reason: string }[];
}

/** Tells the clips among file names; a parameter, so that listing needs no video code. */
export type IsVideoPath = (path: string) => boolean;

/**
 * Lists a file, a folder (not its subfolders), a pattern, or the lines of a `.txt` or `.csv` list. Folders and
 * patterns are sorted by code units, as Python's sorted() has it; lists keep their order.
 * @throws SourceError where nothing of that name exists
 * @throws DataError where it holds nothing that can be read, naming what it holds
 */
export async function listMedia(spec: string, isVideoPath: IsVideoPath): Promise<Listing> {
  const kind = kindOf(spec);
  if (kind === 'file') return isListFile(spec) ? listLines(spec, isVideoPath) : onlyPath(spec);
  if (kind === 'folder') return listFolder(spec, isVideoPath);
  if (isGlob(spec)) return listPattern(spec, isVideoPath);
  throw missingSource(spec);
}

function onlyPath(path: string): Listing {
  return { paths: [path], notices: [], missing: [] };
}

export function isListFile(path: string): boolean {
  return ['.txt', '.csv'].includes(extname(path).toLowerCase());
}

/** What stands there, links followed; undefined for nothing, a loop of links, or a name that no disk can hold. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function kindOf(path: string): 'file' | 'folder' | 'nothing' {
  const found = statOf(path);
  return found === undefined ? 'nothing' : found.isDirectory() ? 'folder' : 'file';
}

function listFolder(folder: string, isVideoPath: IsVideoPath): Listing {
  const names: string[] = [];
  const missing: { source: string; reason: string }[] = [];
  let subfolders = 0;
  for (const entry of entriesOf(folder)) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    const kind = entryKind(entry, path);
    if (kind === 'file') names.push(entry.name);
    else if (kind === 'folder') subfolders++;
    else if (kind === 'dangling') missing.push({ source: path, reason: 'the link leads nowhere' });
  }
  const paths = names.sort().map((name) => join(folder, name));
  const listing = { ...keepMedia(folder, paths, isVideoPath), missing };
  if (listing.paths.length === 0) throw nothingReadable(`the folder ${folder}`, paths, subfolders, folder);
  return listing;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw new SourceError(
      `the folder ${folder} cannot be read: ${cause instanceof Error ? cause.message : cause}`,
      {
        hint: 'check its permissions',
        cause,
      },
    );
  }
}

function listPattern(pattern: string, isVideoPath: IsVideoPath): Listing {
  const { paths, unreadable } = globFiles(pattern);
  const listing = keepMedia(pattern, paths, isVideoPath);
  if (listing.paths.length === 0) throw nothingReadable(`the pattern ${pattern}`, paths, 0, undefined);
  return { ...listing, missing: unreadable.map(({ path, reason }) => ({ source: path, reason })) };
}

async function listLines(listPath: string, isVideoPath: IsVideoPath): Promise<Listing> {
  const list = resolveList(listPath, await readListFile(listPath));
  const paths: string[] = [];
  const notices = [...list.notices];
  const missing = [...list.missing];
  for (const spec of list.specs) {
    const found = listLine(spec, isVideoPath);
    for (const path of found.paths) paths.push(path);
    notices.push(...found.notices);
    missing.push(...found.missing);
  }
  if (paths.length === 0) {
    throw new DataError(missing[0]?.reason ?? `${listPath}: the list has no entry`, {
      hint: 'a list has one path on each line, relative to the list file or absolute; `#` starts a comment',
    });
  }
  return { paths, notices, missing };
}

/** A line that stands for nothing is reported, and the others are read. */
function listLine(spec: string, isVideoPath: IsVideoPath): Listing {
  if (spec.includes('://')) return onlyPath(spec);
  const kind = kindOf(spec);
  try {
    if (kind === 'folder') return listFolder(spec, isVideoPath);
    if (kind === 'nothing' && isGlob(spec)) return listPattern(spec, isVideoPath);
  } catch (fault) {
    if (!(fault instanceof DataError || fault instanceof SourceError)) throw fault;
    return { paths: [], notices: [], missing: [{ source: spec, reason: fault.message }] };
  }
  // A file's name is taken as it is, also where the file is gone: it is reported when its turn comes.
  return onlyPath(spec);
}

function keepMedia(
  name: string,
  paths: readonly string[],
  isVideoPath: IsVideoPath,
): Omit<Listing, 'missing'> {
  const kept = paths.filter((path) => isPicturePath(path) || isVideoPath(path));
  const unreadable = paths.filter(isUnreadablePicturePath);
  if (unreadable.length === 0) return { paths: kept, notices: [] };
  const kinds = countByExtension(unreadable);
  const notice = `${name}: left out ${unreadable.length} pictures of formats that cannot be read: ${kinds}`;
  return { paths: kept, notices: [notice] };
}

function countByExtension(paths: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const extension = extname(path).toLowerCase() || 'no ending';
    counts.set(extension, (counts.get(extension) ?? 0) + 1);
  }
  return [...counts].map(([extension, count]) => `${count} ${extension}`).join(', ');
}

function nothingReadable(
  what: string,
  paths: readonly string[],
  subfolders: number,
  folder: string | undefined,
): DataError {
  const files = paths.length > 0 ? [`${countByExtension(paths)}`] : [];
  const folders = subfolders > 0 ? [`${subfolders} folders`] : [];
  const found = [...files, ...folders].join(', ') || 'nothing';
  return new DataError(`${what} holds no picture or clip that can be read; found ${found}`, {
    hint:
      subfolders > 0 && folder !== undefined
        ? `name a pattern to look into subfolders: source='${join(folder, '**/*.jpg')}'`
        : `expected pictures (${pictureExtensions()}) or clips (mp4, avi, mkv, mov, …)`,
  });
}

/** The error for a name behind which nothing stands, with the name that was probably meant. */
export function missingSource(spec: string): SourceError {
  const folder = dirname(spec);
  if (isLink(spec)) {
    return new SourceError(
      `source ${spec} is a link that leads nowhere, or into a folder without permission`,
      {
        hint: 'repair the link or name its target',
      },
    );
  }
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (cause) {
    return new SourceError(`source ${spec} does not exist: the folder ${folder} cannot be read`, {
      hint: 'check the path; relative paths start at the working directory',
      cause,
    });
  }
  const near = nearest(basename(spec), names);
  return new SourceError(`source ${spec} does not exist`, {
    hint:
      near === undefined
        ? 'check the path; relative paths start at the working directory'
        : `did you mean ${join(folder, near)}?`,
  });
}

function isLink(path: string): boolean {
  try {
    readlinkSync(path);
    return true;
  } catch {
    return false;
  }
}
