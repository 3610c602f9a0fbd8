// OpenImages sets: one CSV of boxes per split, names of classes beside it where labels are codes.
import { dirname, join } from 'node:path';
import { parseCsv } from './csv.ts';
import { createFolderCache, readText } from './files.ts';
import { type ListedPicture, loadListed } from './listed-pictures.ts';
import { parseOpenImages } from './openimages-rows.ts';
import { pictureFolders } from './picture-places.ts';
import {
  type Dataset,
  type DatasetFault,
  type LoadDatasetOptions,
  SPLIT_NAMES,
  type SplitName,
} from './types.ts';
import { reportUnlisted } from './unlisted.ts';

/** Codes of the knowledge graph, as the original files have them: `/m/01g317`. */
const CODE = /^\/[mgt]\//;

/**
 * @param source what the user named, for messages
 * @param splits CSV files per split
 * @throws DataError where a file is not well-formed, or none of its pictures is there
 */
export async function loadOpenImages(
  source: string,
  splits: Readonly<Partial<Record<SplitName, readonly string[]>>>,
  options: LoadDatasetOptions,
): Promise<Dataset> {
  const faults: DatasetFault[] = [];
  const pictures: ListedPicture[] = [];
  const names = new Set<string>();
  for (const split of SPLIT_NAMES) {
    for (const path of splits[split] ?? []) {
      const nameOf = await findDescriptions(path, faults);
      for (const name of nameOf.values()) names.add(name);
      pictures.push(...(await listPictures(path, split, nameOf, faults)));
    }
  }
  reportCodes(pictures, faults);
  const set = {
    format: 'openimages',
    source,
    pictures,
    ...(names.size > 0 && { classNames: [...names] }),
  } as const;
  const dataset = await loadListed(set, options, faults);
  const hint = 'left out: the format cannot say that a picture shows nothing';
  await reportUnlisted(dataset, hint, faults);
  return dataset;
}

async function listPictures(
  path: string,
  split: SplitName,
  nameOf: ReadonlyMap<string, string>,
  faults: DatasetFault[],
): Promise<ListedPicture[]> {
  const folders = pictureFolders(path, ['data', split, join('images', split)]);
  return parseOpenImages(await readText(path), path, faults).map(({ imageId, line, objects }) => ({
    ...{ path, fileName: imageId, line, unit: 'share', split, folders },
    objects: objects.map((object) => ({
      ...object,
      className: nameOf.get(object.className) ?? object.className,
    })),
  }));
}

/** `class-descriptions-boxable.csv` and its like, `/m/011k07,Tortoise` per line; empty where there is none. */
async function findDescriptions(path: string, faults: DatasetFault[]): Promise<ReadonlyMap<string, string>> {
  const cache = createFolderCache();
  const above = dirname(dirname(path));
  for (const folder of [dirname(path), above, join(above, 'metadata')]) {
    const name = [...(await cache.names(folder))]
      .sort()
      .find((one) => /class-descriptions.*\.csv$/i.test(one));
    if (name === undefined) continue;
    const file = join(folder, name);
    const rows = parseCsv(await readText(file), file).map(({ fields }) =>
      fields.map((field) => field.trim()),
    );
    const pairs = rows.flatMap(([code, shown]) =>
      code === undefined || code === 'LabelName' || !shown ? [] : [[code, shown] as const],
    );
    const message = `${pairs.length} names of classes were found in it`;
    const hint = 'they stand for the codes of the labels';
    faults.push({ severity: 'notice', kind: 'names-file', file, message, hint });
    return new Map(pairs);
  }
  return new Map();
}

function reportCodes(pictures: readonly ListedPicture[], faults: DatasetFault[]): void {
  const coded = pictures.flatMap(({ path, objects }) =>
    objects.filter(({ className }) => CODE.test(className)).map((object) => ({ path, ...object })),
  );
  const [first] = coded;
  if (first === undefined) return;
  faults.push({
    severity: 'warning',
    kind: 'class-codes',
    file: first.path,
    ...(first.line === undefined ? {} : { line: first.line }),
    message: `${coded.length} objects have a code without a name, the first ${first.className}`,
    hint: 'the code is used as the name; put class-descriptions-boxable.csv beside the file of boxes',
  });
}
