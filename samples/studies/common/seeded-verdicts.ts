// Figures and differences of rows under several seeds, with their intervals, for verdicts.
import { differencesOf, type SeededFigures, valuesOf } from './seeded-tables.ts';
import { seedRow } from './study-file.ts';
import type { Interval } from './verdict-rules.ts';

export function figureOf(found: SeededFigures, table: string, row: string, figure: string): Interval {
  const place = { table, row, figure };
  return seedRow(place, valuesOf(found, place));
}

/** Under the same seed. */
export function differenceOf(
  found: SeededFigures,
  table: string,
  [row, base]: readonly [string, string],
  figure: string,
): Interval {
  const place = { table, row, figure };
  return seedRow(place, differencesOf(found, place, base));
}
