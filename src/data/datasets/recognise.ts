// Which form a label file has, by what stands in it, and which label files a folder holds.
import { open } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { createFolderCache } from './files.ts';
import { isOpenImagesHeader } from './openimages-rows.ts';
import { splitOf } from './split-names.ts';
import type { DatasetFormat, SplitName } from './types.ts';

export type FileSplits = Readonly<Partial<Record<SplitName, readonly string[]>>>;

/** Label files of a folder by form; a form that it does not have is absent. */
export interface FolderLabels {
  readonly voc?: true;
  readonly labelme?: true;
  readonly cvat?: readonly string[];
  readonly coco?: FileSplits;
  readonly openimages?: FileSplits;
}

/** `labels` and `labelme` hold JSON files of labelme at times; YOLO has text files in the former. */
const PARTS = ['', 'annotations', 'Annotations', 'labels', 'labelme', 'train', 'val', 'valid', 'test'];

export async function findLabels(folder: string): Promise<FolderLabels> {
  const cache = createFolderCache();
  const found = new Map<DatasetFormat, string[]>();
  for (const part of PARTS) {
    const names = [...(await cache.names(join(folder, part)))].sort();
    for (const extension of ['.json', '.csv', '.xml']) {
      for (const name of names) {
        if (name.startsWith('.') || extname(name).toLowerCase() !== extension) continue;
        const form = await formOf(join(folder, part, name));
        if (form !== undefined) found.set(form, [...(found.get(form) ?? []), join(part, name)]);
        // These come by the thousand, one per picture, and one tells what the others are.
        if (form === 'voc' || form === 'labelme') break;
      }
    }
  }
  const paths = (form: DatasetFormat) => found.get(form)?.map((path) => join(folder, path));
  const cvat = paths('cvat');
  return {
    ...(found.has('voc') && isVocPlace(found.get('voc')) && { voc: true }),
    ...(found.has('labelme') && { labelme: true }),
    ...(cvat && { cvat }),
    ...(found.has('coco') && { coco: bySplit(folder, found.get('coco') ?? []) }),
    ...(found.has('openimages') && { openimages: bySplit(folder, found.get('openimages') ?? []) }),
  };
}

/** Beside the pictures, or in `Annotations`. */
function isVocPlace(paths: readonly string[] = []): boolean {
  return paths.some((path) => path === basename(path) || path.startsWith('Annotations'));
}

function bySplit(folder: string, paths: readonly string[]): FileSplits {
  const splits: Partial<Record<SplitName, string[]>> = {};
  for (const path of paths) {
    const split = splitOf(path);
    splits[split] = [...(splits[split] ?? []), join(folder, path)];
  }
  return splits;
}

const SAMPLE_BYTES = 65_536;

/** By the first and last part of a file; undefined where it is none of these. */
export async function formOf(path: string): Promise<Exclude<DatasetFormat, 'yolo'> | undefined> {
  const extension = extname(path).toLowerCase();
  if (!['.json', '.csv', '.xml'].includes(extension)) return undefined;
  const { head, tail } = await sampleOf(path);
  if (extension === '.csv') {
    return isOpenImagesHeader(/^[^\r\n]*/.exec(head)?.[0] ?? '') ? 'openimages' : undefined;
  }
  if (extension === '.xml') {
    const root = /<(annotations?)[\s>]/.exec(head)?.[1];
    if (root === 'annotations') return 'cvat';
    return root === undefined ? undefined : 'voc';
  }
  const text = head + tail;
  if (/"(categories|annotations)"\s*:\s*\[/.test(text)) return 'coco';
  return /"shapes"\s*:\s*\[/.test(text) && /"imagePath"\s*:/.test(text) ? 'labelme' : undefined;
}

/** Without a byte order mark, which would read as three letters. */
async function sampleOf(path: string): Promise<{ readonly head: string; readonly tail: string }> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const sample = Buffer.alloc(Math.min(size, SAMPLE_BYTES));
    const first = await file.read(sample, 0, sample.length, 0);
    const head = sample.toString('latin1', 0, first.bytesRead).replace(/^\xEF\xBB\xBF/, '');
    const last = await file.read(sample, 0, sample.length, Math.max(0, size - sample.length));
    return { head, tail: sample.toString('latin1', 0, last.bytesRead) };
  } finally {
    await file.close();
  }
}
