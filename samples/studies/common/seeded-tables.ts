// What was measured under every seed, as rows of tables with one value per seed, and their differences seed by seed.
import { type RowPlace, type StudyColumn, type StudyRow, type StudyTable, seedRow } from './study-file.ts';

/** Figures by name; null where there was nothing to measure. */
export type Figures = Readonly<Record<string, number | null>>;

/** One row of one table under one seed. */
export interface Measured {
  readonly table: string;
  readonly row: string;
  readonly seed: number;
  readonly figures: Figures;
}

export interface SeededFigures {
  readonly seeds: number;
  readonly measured: readonly Measured[];
}

export interface StudyPart {
  readonly tables: readonly StudyTable[];
  readonly rows: readonly StudyRow[];
}

/** A table of figures, and where it has a base, a second one of the differences from it under the same seed. */
export interface TableForm {
  readonly table: string;
  readonly title: string;
  readonly section: string;
  readonly text: string;
  readonly columns: readonly StudyColumn[];
  readonly base?: string;
  readonly folded?: boolean;
}

/** In the tables of differences these are drawn. */
const DRAWN: Readonly<Record<string, string>> = {
  ap50: 'difference under the same seed; larger is better',
  laEce0: 'difference under the same seed; smaller is better',
};

/** Figures of a row under every seed. */
export function valuesOf(
  { measured, seeds }: SeededFigures,
  { table, row, figure }: RowPlace,
): readonly (number | null)[] {
  return Array.from({ length: seeds }, (_, seed) => {
    const one = measured.find((run) => run.table === table && run.row === row && run.seed === seed);
    return one?.figures[figure] ?? null;
  });
}

export function differencesOf(
  found: SeededFigures,
  place: RowPlace,
  base: string,
): readonly (number | null)[] {
  const other = valuesOf(found, { ...place, row: base });
  return valuesOf(found, place).map((value, seed) =>
    value === null || other[seed] == null ? null : value - other[seed],
  );
}

/** Figures that no seed could measure are left out. */
export function formTables(
  found: SeededFigures,
  { table, base, columns, ...shown }: TableForm,
): readonly StudyPart[] {
  const names = [...new Set(found.measured.filter((run) => run.table === table).map(({ row }) => row))];
  if (names.length === 0) return [];
  const known = (rows: readonly StudyRow[]) => rows.filter(({ mean }) => mean !== null);
  const figures = known(
    names.flatMap((row) =>
      columns.map(({ figure }) => seedRow({ table, row, figure }, valuesOf(found, { table, row, figure }))),
    ),
  );
  const own: StudyPart = {
    tables: [{ table, columns: drawable(columns, figures), ...shown }],
    rows: figures,
  };
  if (base === undefined) return [own];
  const differences = `${table}, minus ${base}`;
  const rows = known(
    names
      .filter((row) => row !== base)
      .flatMap((row) =>
        columns.map(({ figure }) =>
          seedRow({ table: differences, row, figure }, differencesOf(found, { table, row, figure }, base)),
        ),
      ),
  );
  if (rows.length === 0) return [own];
  const drawn = drawable(
    columns.map((column) => {
      const plot = DRAWN[column.figure];
      return plot === undefined ? column : { ...column, plot };
    }),
    rows,
  );
  const title = `${shown.title}: minus ${base}`;
  return [
    own,
    { tables: [{ table: differences, title, section: shown.section, text: '', columns: drawn }], rows },
  ];
}

/** Parts of a study one after the other. */
export function joined(parts: readonly StudyPart[]): StudyPart {
  return { tables: parts.flatMap(({ tables }) => tables), rows: parts.flatMap(({ rows }) => rows) };
}

/** Few pictures can leave a column without a figure: it is not drawn then. */
function drawable(columns: readonly StudyColumn[], rows: readonly StudyRow[]): readonly StudyColumn[] {
  return columns.map(({ plot, ...column }) => {
    const hasFigures = rows.some(({ figure }) => figure === column.figure);
    return plot !== undefined && hasFigures ? { ...column, plot } : column;
  });
}
