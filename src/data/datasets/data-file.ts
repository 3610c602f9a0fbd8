// A `data.yaml` (or darknet's `.data`): names, and where the splits lie. `path` is relative to the file, splits are
// relative to `path`; nothing depends on the working directory.
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { DataError } from '#core';
import { kindOf, lineOfKey, linesOf, readText } from './files.ts';
import { type ClassList, readClassList } from './names.ts';
import { type DatasetFault, SPLIT_NAMES, type SplitName } from './types.ts';

export interface DataFile extends ClassList {
  readonly file: string;
  /** Absolute folder to which splits are relative. */
  readonly root: string;
  /** Absolute paths, each of which exists. */
  readonly splits: Readonly<Partial<Record<SplitName, readonly string[]>>>;
  /** Values after the box in each row, from `kpt_shape`. */
  readonly keypointColumns: number;
}

type Document = Readonly<Record<string, unknown>>;

const OTHER_NAMES: Readonly<Record<SplitName, readonly string[]>> = {
  train: [],
  val: ['valid', 'validation'],
  test: [],
};

/** @throws DataError where the file is no data file or a split is not found */
export async function readDataFile(file: string, faults: DatasetFault[]): Promise<DataFile> {
  const text = await readText(file);
  const document = file.toLowerCase().endsWith('.data') ? parseDarknet(text) : parseYaml(file, text);
  const root = await findRoot(file, text, document, faults);
  const splits: Partial<Record<SplitName, readonly string[]>> = {};
  for (const name of SPLIT_NAMES) {
    const key = [name, ...OTHER_NAMES[name]].find((candidate) => document[candidate] != null);
    if (key === undefined) continue;
    const entries = [document[key]].flat().filter((entry) => entry !== '');
    if (entries.length === 0) continue;
    splits[name] = await Promise.all(
      entries.map((entry) => findSplit(String(entry), { file, text, key, root, faults })),
    );
  }
  if (Object.keys(splits).length === 0) {
    throw new DataError(`${file}: no train, val or test in it`, {
      hint: 'write train: images/train, for example, relative to path:',
    });
  }
  return {
    file,
    root,
    splits,
    ...(await readClassList(file, text, document, faults)),
    keypointColumns: keypointColumnsOf(document['kpt_shape']),
  };
}

function parseYaml(file: string, text: string): Document {
  let document: unknown;
  try {
    document = parse(text);
  } catch (cause) {
    throw new DataError(`${file}: not valid YAML (${(cause as Error).message.split('\n', 1)[0]})`, {
      hint: 'correct the line that is named',
      cause,
    });
  }
  if (typeof document === 'object' && document !== null && !Array.isArray(document))
    return document as Document;
  throw new DataError(`${file}: expected keys such as path, train, val and names`, {
    hint: 'write `train: images/train` and `names:` with a list or a map from 0',
  });
}

function parseDarknet(text: string): Document {
  const pairs = linesOf(text).map((line) => /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line));
  const document = Object.fromEntries(
    pairs.flatMap((pair) => (pair ? [[pair[1] ?? '', pair[2] ?? '']] : [])),
  );
  const { classes, ...rest } = document;
  return classes === undefined ? rest : { ...rest, nc: Number(classes) };
}

async function findRoot(
  file: string,
  text: string,
  document: Document,
  faults: DatasetFault[],
): Promise<string> {
  const folder = dirname(file);
  const path = document['path'];
  if (path == null || path === '') return folder;
  const root = resolve(folder, String(path));
  if ((await kindOf(root)) === 'folder') return root;
  faults.push({
    severity: 'warning',
    kind: 'path-fallback',
    file,
    ...lineOfKey(text, 'path'),
    message: `path: ${path} is not there (looked at ${root}; path is relative to this file)`,
    hint: `the folder of this file was taken instead, ${folder}; write path: .`,
  });
  return folder;
}

interface SplitContext {
  readonly file: string;
  readonly text: string;
  readonly key: string;
  readonly root: string;
  readonly faults: DatasetFault[];
}

async function findSplit(entry: string, { file, text, key, root, faults }: SplitContext): Promise<string> {
  const wanted = resolve(root, entry);
  if ((await kindOf(wanted)) !== undefined) return wanted;
  // Archives of labelling sites write ../train/images where train lies beside the file.
  const others = isAbsolute(entry)
    ? []
    : [
        join(root, entry.replace(/^(\.\.?\/)+/, '')),
        resolve(dirname(file), entry),
        resolve(root, '..', entry),
      ];
  const tried = [...new Set([wanted, ...others])];
  for (const other of tried) {
    if ((await kindOf(other)) === undefined) continue;
    faults.push({
      severity: 'warning',
      kind: 'split-fallback',
      file,
      ...lineOfKey(text, key),
      message: `${key}: ${entry} is not there (looked at ${wanted})`,
      hint: `${other} was taken instead; correct the entry`,
    });
    return other;
  }
  const { line } = lineOfKey(text, key);
  throw new DataError(
    `${file}${line === undefined ? '' : `:${line}`}: ${key}: ${entry} is not there; looked at ${tried.join(', ')}`,
    { hint: `correct ${key}:, which is relative to path: (${root})` },
  );
}

function keypointColumnsOf(shape: unknown): number {
  if (!Array.isArray(shape)) return 0;
  const [points, dimensions] = shape.map(Number);
  return (points ?? 0) * (dimensions ?? 0) || 0;
}
