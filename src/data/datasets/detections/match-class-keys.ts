// What the classes of saved detections are called: numbers mean nothing by themselves, names must be those of the set.
import { ConfigError, nearest } from '#core';
import type { Dataset, DatasetFault } from '../types.ts';
import { rowFault, type SavedFile, type SavedRow } from './saved-row.ts';

export interface ClassKeyOptions {
  /** Names by class number. */
  readonly classNames?: readonly string[];
  /** Whether other names than those of the data set may occur, because they are mapped or joined. */
  readonly otherNames?: boolean;
}

/**
 * @returns the classes that the detections may have, and the name of each row's class (undefined: reported)
 * @throws ConfigError where numbers have no names
 */
export function matchClassKeys(
  path: string,
  { format, rows, names: ownNames }: SavedFile,
  dataset: Pick<Dataset, 'format' | 'classNames' | 'classKeys' | 'source'>,
  { classNames, otherNames = false }: ClassKeyOptions,
  faults: DatasetFault[],
): { readonly classNames: readonly string[]; readonly nameOf: (row: SavedRow) => string | undefined } {
  const names = ownNames ?? namesByKey(format, dataset, classNames);
  const nameOf = ({ classKey }: SavedRow) =>
    typeof classKey === 'string' && ownNames === undefined ? classKey : names?.get(classKey);
  const nameless =
    names === undefined ? rows.find(({ classKey }) => typeof classKey === 'number') : undefined;
  if (nameless !== undefined) throw unnamed(path, nameless, dataset);
  const known = classNames ?? (otherNames ? undefined : dataset.classNames);
  const unknown = new Map<string, { readonly first: SavedRow; count: number; readonly isNumber: boolean }>();
  const found = new Set<string>();
  for (const row of rows) {
    const name = nameOf(row);
    if (name !== undefined) found.add(name);
    if (name !== undefined && (known === undefined || known.includes(name))) continue;
    const key = name ?? String(row.classKey);
    const before = unknown.get(key);
    if (before === undefined) unknown.set(key, { first: row, count: 1, isNumber: name === undefined });
    else before.count++;
  }
  for (const [key, one] of unknown)
    faults.push(unknownClass(key, one, known ?? [...(names?.values() ?? [])]));
  return { classNames: known ?? [...found].sort(), nameOf };
}

function namesByKey(
  format: SavedFile['format'],
  { format: labels, classNames, classKeys }: Pick<Dataset, 'format' | 'classNames' | 'classKeys'>,
  given: readonly string[] | undefined,
): ReadonlyMap<string | number, string> | undefined {
  if (given !== undefined) return new Map(given.entries());
  // Only here do both sides speak of the same list by definition.
  if (format !== 'coco-results' || labels !== 'coco') return undefined;
  return new Map(classKeys.map((key, index) => [key, classNames[index] ?? '']));
}

function unnamed(
  path: string,
  { place, classKey }: SavedRow,
  { source }: Pick<Dataset, 'source'>,
): ConfigError {
  const at = place.line === undefined ? `${place.name}` : `${place.file}:${place.line}`;
  return new ConfigError(
    `predictions=${path}: class ${classKey} (${at}) is a number, and nothing says its name`,
    {
      hint: `write names= with the classes of the tool in its order: a file or a list (names=${source} where it is a data.yaml of the same order)`,
    },
  );
}

function unknownClass(
  key: string,
  {
    first,
    count,
    isNumber,
  }: { readonly first: SavedRow; readonly count: number; readonly isNumber: boolean },
  known: readonly string[],
): DatasetFault {
  const rows = `${count} ${count === 1 ? 'detection' : 'detections'}`;
  const near = isNumber ? undefined : nearest(key, known);
  const list = known.slice(0, 12).join(', ') + (known.length > 12 ? `, and ${known.length - 12} more` : '');
  return rowFault(
    first.place,
    'unknown-class',
    `${isNumber ? `class number ${key}` : `class "${key}"`} in ${rows}; the classes are ${list}`,
    near === undefined
      ? 'give a class map from the names of the tool to those of the data set, or names='
      : `did you mean "${near}"? give a class map from the names of the tool to those of the data set`,
  );
}
