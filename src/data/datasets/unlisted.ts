// Pictures that lie among those of a set whose labels never mention them: not background, for nobody said so.
import { dirname, join } from 'node:path';
import { isPicturePath } from '#data/images';
import { createFolderCache } from './files.ts';
import type { Dataset, DatasetFault } from './types.ts';

/** @param hint what was done about them, and how a picture that shows nothing can be listed */
export async function reportUnlisted(
  { splits, source }: Dataset,
  hint: string,
  faults: DatasetFault[],
): Promise<void> {
  const cache = createFolderCache();
  const used = new Set(Object.values(splits).flatMap((split) => split.map(({ path }) => path)));
  const unlisted: string[] = [];
  for (const folder of new Set([...used].map((path) => dirname(path)))) {
    const paths = [...(await cache.names(folder))].map((name) => join(folder, name));
    unlisted.push(...paths.filter((path) => isPicturePath(path) && !used.has(path)));
  }
  const first = unlisted.sort()[0];
  if (first === undefined) return;
  const message = `${unlisted.length} pictures beside those of the set have no labels; first: ${first}`;
  faults.push({ severity: 'notice', kind: 'unlisted-picture', file: source, message, hint });
}
