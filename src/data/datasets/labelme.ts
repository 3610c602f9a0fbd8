// labelme sets: one JSON file per picture, beside it or in a folder of its own; folders called train, val or test are
// splits.
import { dirname, extname, relative } from 'node:path';
import { DataError } from '#core';
import { listFiles, mapBounded } from './files.ts';
import { readLabelmeFile } from './labelme-file.ts';
import { loadListed } from './listed-pictures.ts';
import { pictureFolders } from './picture-places.ts';
import { splitOf } from './split-names.ts';
import type { Dataset, DatasetFault, LoadDatasetOptions } from './types.ts';
import { reportUnlisted } from './unlisted.ts';

/** @throws DataError where the folder holds no JSON file of labelme, or none of their pictures is there */
export async function loadLabelmeFolder(folder: string, options: LoadDatasetOptions): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const listed = await listFiles(folder, faults);
  const paths = listed.filter((path) => extname(path).toLowerCase() === '.json');
  return loadFiles(folder, folder, paths, options, faults);
}

/** One picture. */
export async function loadLabelmeFile(path: string, options: LoadDatasetOptions): Promise<Dataset> {
  return loadFiles(path, dirname(path), [path], options, []);
}

async function loadFiles(
  source: string,
  root: string,
  paths: readonly string[],
  options: LoadDatasetOptions,
  faults: DatasetFault[],
): Promise<Dataset> {
  const read = await mapBounded(paths, async (path) => {
    const own: DatasetFault[] = [];
    return { file: await readLabelmeFile(path, own), own };
  });
  for (const { own } of read) for (const fault of own) faults.push(fault);
  const files = read.flatMap(({ file }) => file ?? []);
  if (files.length === 0) {
    throw new DataError(`${source}: no JSON file of labelme that can be read${firstOf(faults)}`, {
      hint: 'expected one .json per picture, with imagePath and shapes',
    });
  }
  const pictures = files.map(({ imagePath, ...file }) => ({
    ...file,
    fileName: imagePath,
    unit: 'px' as const,
    split: splitOf(splitFolder(root, file.path)),
    folders: pictureFolders(file.path),
  }));
  const dataset = await loadListed({ format: 'labelme', source, pictures }, options, faults);
  await reportUnlisted(
    dataset,
    'left out; save a file without shapes for a picture that shows nothing',
    faults,
  );
  return dataset;
}

function firstOf([first]: readonly DatasetFault[]): string {
  return first === undefined ? '' : `; ${first.file}: ${first.message}`;
}

/** The folder below the set that names a split, whatever stands above and below it. */
function splitFolder(root: string, path: string): string {
  const folders = relative(root, dirname(path)).split(/[\\/]/);
  return folders.find((name) => /^(train|val|valid|validation|test)$/i.test(name)) ?? '';
}
