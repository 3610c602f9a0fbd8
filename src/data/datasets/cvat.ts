// CVAT sets ("CVAT for images 1.1"): one or more annotations.xml; the subsets of a project are splits.
import { join } from 'node:path';
import { type CvatFile, readCvatFile } from './cvat-file.ts';
import { loadListed } from './listed-pictures.ts';
import { pictureFolders } from './picture-places.ts';
import { splitOf } from './split-names.ts';
import type { Dataset, DatasetFault, LoadDatasetOptions } from './types.ts';

/**
 * @param source what the user named, for messages
 * @throws DataError where a file is of another form, or none of its pictures is there
 */
export async function loadCvat(
  source: string,
  paths: readonly string[],
  options: LoadDatasetOptions,
): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const files: CvatFile[] = [];
  for (const path of paths) files.push(await readCvatFile(path, faults));
  const pictures = files.flatMap(({ path, pictures: listed }) =>
    listed.map(({ name, subset, ...picture }) => ({
      ...picture,
      path,
      fileName: name,
      unit: 'px' as const,
      split: subset === undefined ? ('train' as const) : splitOf(subset),
      folders: pictureFolders(path, subset === undefined ? [] : [subset, join('images', subset)]),
    })),
  );
  // A file without labels would make those of the others look complete.
  const labels = files.every((file) => file.labels !== undefined)
    ? [...new Set(files.flatMap((file) => file.labels ?? []))]
    : undefined;
  return loadListed(
    { format: 'cvat', source, pictures, ...(labels && { classNames: labels }) },
    options,
    faults,
  );
}
