// Runs of trained arms as a file of results: every figure of every arm, and its difference from the first arm.
import type { Study } from './study.ts';
import { STUDENT_INTERVAL, type StudyColumn, type StudyFile, type StudyRow, seedRow } from './study-file.ts';
import type { Run } from './summary.ts';
import type { Column } from './table.ts';

/** What a run costs is no figure of the study: another machine needs another time. */
const COSTS: readonly string[] = ['seconds', 'cpuSeconds', 'minutes'];

export function fileOfArms(
  { name: study, question, arms, columns }: Pick<Study, 'name' | 'question' | 'arms' | 'columns'>,
  runs: readonly Run[],
  { setting, data: [data], cost }: Pick<StudyFile, 'setting' | 'data' | 'cost'>,
): StudyFile {
  const names = [...new Set(runs.map(({ arm }) => arm))];
  const figures = [...new Set(runs.flatMap((run) => Object.keys(run.figures)))].filter(
    (figure) => !COSTS.includes(figure),
  );
  const shown = shownColumns(columns, figures);
  const texts = arms.map(({ name, text }) => `${name}: ${text}`).join('; ');
  const [first = '', ...others] = names;
  const differences = {
    table: 'differences',
    title: `Difference from ${first}`,
    text: 'Under the same seed.',
    columns: shown,
  };
  return {
    study,
    question,
    data: data === undefined ? [] : [noteOf(data)],
    setting,
    interval: STUDENT_INTERVAL,
    tables: [
      { table: 'arms', title: 'Arms', text: `${texts}.`, columns: shown },
      ...(others.length > 0 ? [differences] : []),
    ],
    rows: [
      ...names.flatMap((arm) => figures.map((figure) => armRow(runs, arm, figure))),
      ...others.flatMap((arm) => figures.map((figure) => differenceRow(runs, [arm, first], figure))),
    ],
    verdicts: [],
    cost,
  };
}

/** Without what belongs to this machine. */
function noteOf({ name, kind, host, weaker }: StudyFile['data'][number]): StudyFile['data'][number] {
  return { name, kind, ...(host !== undefined && { host }), ...(weaker !== undefined && { weaker }) };
}

function shownColumns(
  columns: readonly Column[] | undefined,
  figures: readonly string[],
): readonly StudyColumn[] {
  const all: readonly Column[] = columns ?? figures.map((figure) => ({ figure, title: figure }));
  return all
    .filter(({ figure }) => figures.includes(figure))
    .map(({ figure, title, digits = 3 }) => ({ figure, title, digits, plot: '' }));
}

function valuesOf(runs: readonly Run[], arm: string, figure: string): readonly (number | null)[] {
  return runs.filter((run) => run.arm === arm).map(({ figures }) => figures[figure] ?? null);
}

function armRow(runs: readonly Run[], arm: string, figure: string): StudyRow {
  return seedRow({ table: 'arms', row: arm, figure }, valuesOf(runs, arm, figure));
}

function differenceRow(
  runs: readonly Run[],
  [arm, first]: readonly [string, string],
  figure: string,
): StudyRow {
  const base = valuesOf(runs, first, figure);
  const values = valuesOf(runs, arm, figure).map((value, seed) =>
    value === null || base[seed] == null ? null : value - base[seed],
  );
  return seedRow({ table: 'differences', row: arm, figure }, values);
}
