// The classes of COCO sets: a contiguous index by ascending category id, so that holes in the ids shift nothing.
import { DataError } from '#core';
import type { CocoCategory, CocoFile } from './coco-file.ts';
import { reportRepeatedNames } from './names.ts';
import type { DatasetFault } from './types.ts';

export interface CocoClasses {
  readonly names: readonly string[];
  /** Category ids, parallel to `names`. */
  readonly keys: readonly (number | string)[];
}

/**
 * @param wanted names in the order to use, instead of that of the ids
 * @throws DataError where `wanted` names a category that the files lack
 */
export function collectClasses(
  files: readonly CocoFile[],
  wanted: readonly string[] | undefined,
  faults: DatasetFault[],
): CocoClasses {
  const byId = new Map<number | string, CocoCategory>();
  for (const { path, categories } of files) {
    for (const category of categories) {
      const before = byId.get(category.id);
      byId.set(category.id, before ?? category);
      if (before !== undefined && (before.name !== category.name || files[0]?.path === path)) {
        faults.push(contradiction(path, before, category));
      }
    }
  }
  const source = files[0]?.path ?? '';
  const sorted = [...byId.values()].sort((a, b) => compareIds(a.id, b.id));
  const kept = withoutUnusedParents(source, sorted, files, faults);
  reportRepeatedNames(
    source,
    kept.map(({ name }) => name),
    faults,
  );
  if (wanted === undefined) return { names: kept.map(({ name }) => name), keys: kept.map(({ id }) => id) };
  const keys = wanted.map((name) => {
    const category = kept.find((candidate) => candidate.name === name);
    if (category !== undefined) return category.id;
    throw new DataError(`${source}: no category is called "${name}"`, {
      hint: `its categories are ${kept.map((candidate) => candidate.name).join(', ')}`,
    });
  });
  return { names: wanted, keys };
}

function contradiction(file: string, before: CocoCategory, category: CocoCategory): DatasetFault {
  return {
    severity: 'error',
    kind: 'repeated-category',
    file,
    message: `category id ${category.id} is "${category.name}" here and "${before.name}" before`,
    hint: `"${before.name}" was kept; give each category an id of its own, the same in all files`,
  };
}

/** Labelling sites add a category that only groups the others; as a class it would never be seen. */
function withoutUnusedParents(
  source: string,
  categories: readonly CocoCategory[],
  files: readonly CocoFile[],
  faults: DatasetFault[],
): readonly CocoCategory[] {
  const used = new Set(files.flatMap(({ annotations }) => annotations.map(({ categoryId }) => categoryId)));
  const isParent = (category: CocoCategory) =>
    !used.has(category.id) &&
    categories.some(({ id, supercategory }) => id !== category.id && supercategory === category.name);
  for (const category of categories.filter(isParent)) {
    faults.push({
      severity: 'notice',
      kind: 'category-left-out',
      file: source,
      message: `no box uses the category "${category.name}" (id ${category.id}), which only groups others`,
      hint: 'it is no class of this set',
    });
  }
  return categories.filter((category) => !isParent(category));
}

function compareIds(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}
