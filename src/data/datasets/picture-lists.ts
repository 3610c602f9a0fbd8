// Text files that name one picture per line. Lines that start with ./ or ../ are relative to the list, others to the
// data set's folder; blank lines and lines that start with # are passed over.
import { dirname, isAbsolute, resolve } from 'node:path';
import { isPicturePath } from '#data/images';
import { kindOf, linesOf, mapBounded, readText, stemOf } from './files.ts';
import {
  type DatasetFault,
  type DatasetSplits,
  type LabelledPicture,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';

export interface ListEntry {
  readonly text: string;
  readonly line: number;
}

export async function readListEntries(list: string): Promise<readonly ListEntry[]> {
  return linesOf(await readText(list))
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'));
}

/**
 * Pictures of a list, in its order, each once.
 * @param root the folder to which entries without ./ are relative
 */
export async function readPictureList(list: string, root: string, faults: DatasetFault[]): Promise<string[]> {
  const entries = await readListEntries(list);
  const located = await mapBounded(entries, ({ text }) => locate(text, list, root));
  const pictures = new Map<string, number>();
  const fallbacks: { readonly entry: ListEntry; readonly path: string }[] = [];
  for (const [index, entry] of entries.entries()) {
    const found = located[index];
    const fault =
      found === undefined ? missing(list, entry, root) : repeated(list, entry, pictures.get(found.path));
    if (fault !== undefined) faults.push(fault);
    if (found === undefined || fault !== undefined) continue;
    pictures.set(found.path, entry.line);
    if (found.fallback) fallbacks.push({ entry, path: found.path });
  }
  const [first] = fallbacks;
  if (first !== undefined) {
    faults.push({
      severity: 'warning',
      kind: 'list-fallback',
      file: list,
      line: first.entry.line,
      message: `${fallbacks.length} of ${entries.length} entries are not where they say, relative to ${root}; first: ${first.entry.text}`,
      hint: `they were found elsewhere, the first as ${first.path}; write ./ before entries relative to the list`,
    });
  }
  return [...pictures.keys()];
}

async function locate(
  text: string,
  list: string,
  root: string,
): Promise<{ readonly path: string; readonly fallback: boolean } | undefined> {
  const slashed = text.replaceAll('\\', '/');
  const folders = /^\.\.?\//.test(slashed) ? [dirname(list), root] : [root, dirname(list)];
  const [first, ...others] = isAbsolute(slashed)
    ? [slashed]
    : folders.map((folder) => resolve(folder, slashed));
  const candidates = [resolve(root, text), first ?? '', ...others, resolve(root, '..', slashed)];
  for (const path of new Set(candidates)) {
    if (path === candidates[0] && path !== first) continue;
    if (isPicturePath(path) && (await kindOf(path)) === 'file') return { path, fallback: path !== first };
  }
  return undefined;
}

function missing(file: string, { text, line }: ListEntry, root: string): DatasetFault {
  const quoted = /["']/.test(text);
  const why = isPicturePath(text) || quoted ? 'is not there' : 'does not name a picture';
  return {
    severity: 'error',
    kind: 'missing-picture',
    file,
    line,
    message: `${text} ${why}`,
    hint: quoted
      ? 'left out; remove the stray quote'
      : `left out; paths are relative to ${root}, ./ to the list`,
  };
}

function repeated(
  file: string,
  { text, line }: ListEntry,
  before: number | undefined,
): DatasetFault | undefined {
  if (before === undefined) return undefined;
  const message = `${text} is the same picture as in line ${before}`;
  return {
    severity: 'warning',
    kind: 'repeated-picture',
    file,
    line,
    message,
    hint: 'used once; remove the line',
  };
}

/**
 * Sorts pictures into splits by lists of paths, file names or ids. A split whose list is not given is absent.
 * @param root the folder to which paths in the lists may be relative
 */
export async function splitByLists(
  pictures: readonly LabelledPicture[],
  lists: Readonly<Partial<Record<SplitName, string>>>,
  root: string,
  faults: DatasetFault[],
): Promise<DatasetSplits> {
  const byStem = new Map<string, LabelledPicture[]>();
  for (const picture of pictures) {
    for (const key of new Set([stemOf(picture.path), String(picture.id)])) {
      byStem.set(key, [...(byStem.get(key) ?? []), picture]);
    }
  }
  const splits: Partial<Record<SplitName, readonly LabelledPicture[]>> = {};
  for (const name of SPLIT_NAMES) {
    const list = lists[name];
    if (list === undefined) continue;
    const chosen = new Map<LabelledPicture, number>();
    for (const entry of await readListEntries(list)) {
      const found = matchEntry(entry.text, list, root, byStem);
      const fault =
        found === undefined ? missing(list, entry, root) : repeated(list, entry, chosen.get(found));
      if (fault !== undefined) faults.push(fault);
      if (found !== undefined && fault === undefined) chosen.set(found, entry.line);
    }
    splits[name] = [...chosen.keys()];
  }
  return splits;
}

function matchEntry(
  text: string,
  list: string,
  root: string,
  byStem: ReadonlyMap<string, readonly LabelledPicture[]>,
): LabelledPicture | undefined {
  // VOC's own lists may carry a second column: 1, 0 or -1.
  const name = text.replace(/\s+-?[01]$/, '');
  const candidates = byStem.get(isPicturePath(name) ? stemOf(name) : (name.split('/').at(-1) ?? name)) ?? [];
  if (candidates.length <= 1) return candidates[0];
  const paths = [resolve(dirname(list), name), resolve(root, name)];
  const exact = candidates.find(({ path }) =>
    paths.some((wanted) => path === wanted || path.startsWith(`${wanted}.`)),
  );
  return exact ?? candidates.find(({ path }) => path.endsWith(`/${name}`));
}

/** A picture on both sides of a split makes the figures of the held-out side too good. */
export function reportSplitOverlap(splits: DatasetSplits, source: string, faults: DatasetFault[]): void {
  for (const [index, one] of SPLIT_NAMES.entries()) {
    const paths = new Set(splits[one]?.map(({ path }) => path));
    for (const other of SPLIT_NAMES.slice(index + 1)) {
      const shared = splits[other]?.filter(({ path }) => paths.has(path)) ?? [];
      if (shared.length === 0) continue;
      faults.push({
        severity: 'warning',
        kind: 'split-overlap',
        file: source,
        message: `${shared.length} pictures are in ${one} and in ${other}; first: ${shared[0]?.path}`,
        hint: `figures on ${other} will be too good; hold other pictures out`,
      });
    }
  }
}
