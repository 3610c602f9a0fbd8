// What a study found, as one small JSON: every figure with its value per seed and the interval of its mean, and
// whether another run finds the same.
import { readFile, writeFile } from 'node:fs/promises';
import { DataError, type Figure } from 'edge-detect/core';

/** One figure of one row of one table. */
export interface StudyRow {
  readonly table: string;
  readonly row: string;
  /** What stands beside it under the same name, such as `loss` and `gradient`. */
  readonly series?: string;
  readonly figure: string;
  /** One per seed, or the one that an interval of resampled pictures belongs to; null: nothing to measure. */
  readonly values: readonly (number | null)[];
  readonly mean: number | null;
  /** 95 % interval of the mean; both the mean itself where there is a single value without an interval. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface StudyColumn {
  readonly figure: string;
  readonly title: string;
  /** Digits after the point. Default 3. */
  readonly digits?: number;
  /** Drawn, too, with this note: the unit and which way is good. */
  readonly plot?: string;
}

/** How a table is shown. */
export interface StudyTable {
  readonly table: string;
  readonly title: string;
  /** Section of the page that it belongs to; its own without. */
  readonly section?: string;
  /** Opened by the reader: long, or for few. */
  readonly folded?: boolean;
  /** How to read it. */
  readonly text: string;
  /** Title of the one panel in which all drawn columns stand beside each other; without, each has its own. */
  readonly together?: string;
  /** None: its figures are for programs, and `words` shows them. */
  readonly columns: readonly StudyColumn[];
  /** What is said in words, row by row. */
  readonly words?: { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

export interface StudyVerdict {
  readonly claim: string;
  /** Where the claim was made. */
  readonly source: string;
  readonly verdict: 'holds' | 'holds in part' | 'does not hold' | 'not measured';
  /** With the figures. */
  readonly because: string;
  /** What the product does because of it. */
  readonly default: string;
  /** Options that `default` is about, as they stand where nothing is said: a test holds them to the code. */
  readonly options?: readonly StudyOption[];
}

/** An option of a command, under its name on the command line. */
export interface StudyOption {
  readonly command: string;
  readonly key: string;
  /** `not set` where the option is off until it is named. */
  readonly value: string | number | boolean;
}

/** A set and the host whose features were taken from it. */
export interface StudyDataNote {
  readonly name: string;
  readonly kind: 'real' | 'given' | 'sample world';
  readonly host?: string;
  /** What is weaker about it. */
  readonly weaker?: string;
}

export interface StudyFile {
  readonly study: string;
  readonly question: string;
  readonly data: readonly StudyDataNote[];
  /** Everything that a repetition must share. */
  readonly setting: Readonly<Record<string, string | number | boolean>>;
  /** What `low` and `high` are. */
  readonly interval: string;
  readonly tables: readonly StudyTable[];
  readonly rows: readonly StudyRow[];
  readonly verdicts: readonly StudyVerdict[];
  /** Of the run that wrote the file; never compared. */
  readonly cost: { readonly seconds: number; readonly cpuSeconds: number };
}

export const STUDENT_INTERVAL =
  "95 % interval of the mean over the seeds by Student's t; the value alone where it is exact";

export interface RowPlace {
  readonly table: string;
  readonly row: string;
  readonly series?: string;
  readonly figure: string;
}

/** @param values one per seed, in the order of the seeds */
export function seedRow(place: RowPlace, values: readonly (number | null)[]): StudyRow {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const count = known.length;
  if (count === 0) return { ...place, values: values.map(() => null), mean: null, low: null, high: null };
  const mean = known.reduce((sum, value) => sum + value, 0) / count;
  const squares = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = count < 2 ? 0 : studentQuantile(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { ...place, values, mean, low: mean - half, high: mean + half };
}

/** A figure whose interval comes from resampled pictures. */
export function resampledRow(
  place: RowPlace,
  value: number,
  [low, high]: readonly [low: number, high: number],
): StudyRow {
  return { ...place, values: [value], mean: value, low, high };
}

/** A figure of `bootstrapFigures`; nothing where it found nothing to measure, or too few pictures to resample. */
export function figureRow(place: RowPlace, figure: Figure): StudyRow {
  return figure.kind === 'none'
    ? seedRow(place, [null])
    : resampledRow(place, figure.value, [figure.low, figure.high]);
}

/** 97.5 % quantiles of Student's t for 1 to 20 degrees of freedom. */
const STUDENT = [
  12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604,
  2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086,
];
const NORMAL = 1.959964;

/** 97.5 % quantile; above 20 degrees by the series of Fisher and Cornish (1960), good to 4 digits. */
export function studentQuantile(freedom: number): number {
  const listed = STUDENT[freedom - 1];
  if (listed !== undefined) return listed;
  const [first, second] = [
    (NORMAL ** 3 + NORMAL) / 4,
    (5 * NORMAL ** 5 + 16 * NORMAL ** 3 + 3 * NORMAL) / 96,
  ];
  return NORMAL + first / freedom + second / freedom ** 2;
}

/** Digits that a file keeps: more would be noise, and other machines round differently. */
const FILE_DIGITS = 5;

/** Figures of one row of one table, as the file has them: intervals that follow from the values are left out. */
interface StoredRow extends Omit<RowPlace, 'figure'> {
  readonly figures: Readonly<Record<string, StudyRow['values'] | Omit<StudyRow, keyof RowPlace>>>;
}

/** One row a line, so that changes can be read. */
export function formatStudyFile({ rows, ...rest }: StudyFile): string {
  const short = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(FILE_DIGITS)) : value;
  const head = JSON.stringify(rest, short, 1).replace(/\n\}$/, '');
  const lines = storedRows(rows).map((row) => `  ${JSON.stringify(row, short)}`);
  return `${head},\n "rows": [\n${lines.join(',\n')}\n ]\n}\n`;
}

function storedRows(rows: readonly StudyRow[]): readonly StoredRow[] {
  const groups = new Map<string, { place: Omit<RowPlace, 'figure'>; figures: Record<string, unknown> }>();
  for (const { table, row, series, figure, values, mean, low, high } of rows) {
    const key = JSON.stringify([table, row, series]);
    const place = { table, row, ...(series !== undefined && { series }) };
    const group = groups.get(key) ?? { place, figures: {} };
    const plain = seedRow({ ...place, figure }, values);
    const follows = plain.mean === mean && plain.low === low && plain.high === high;
    group.figures[figure] = follows ? values : { values, mean, low, high };
    groups.set(key, group);
  }
  return [...groups.values()].map(({ place, figures }) => ({ ...place, figures }) as StoredRow);
}

/** @throws SyntaxError, DataError where the text is no result of a study */
export function parseStudyFile(text: string, name: string): StudyFile {
  const file = JSON.parse(text) as Partial<Omit<StudyFile, 'rows'>> & {
    readonly rows?: readonly StoredRow[];
  };
  if (!Array.isArray(file.rows) || typeof file.study !== 'string' || !file.setting)
    throw new DataError(`${name}: has no study, setting and rows`, { hint: RESULTS_HINT });
  const rows = (file.rows as readonly StoredRow[]).flatMap(({ figures, ...place }) =>
    Object.entries(figures).map(([figure, found]): StudyRow => {
      const at = { ...place, figure };
      return 'values' in found && !Array.isArray(found)
        ? { ...at, ...(found as Omit<StudyRow, keyof RowPlace>) }
        : seedRow(at, found as StudyRow['values']);
    }),
  );
  return { ...(file as Omit<StudyFile, 'rows'>), rows };
}

const RESULTS_HINT = 'name a results.json that a study wrote with out=';

export async function writeStudyFile(path: string, file: StudyFile): Promise<void> {
  await writeFile(path, formatStudyFile(file));
}

/** @throws DataError where it cannot be read or is no result of a study */
export async function readStudyFile(path: string): Promise<StudyFile> {
  try {
    return parseStudyFile(await readFile(path, 'utf8'), path);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(`${path}: cannot be read as JSON: ${String(cause)}`, { hint: RESULTS_HINT, cause });
  }
}

/** What other kernels of another machine may add beside the interval: a thousandth of the mean, and 1e-6. */
const TOLERANCE_SHARE = 1e-3;
const TOLERANCE = 1e-6;

export const CHECK_RULE =
  'a figure is reproduced where its new mean lies inside the committed interval, widened by a thousandth of the committed mean and by 1e-6';

/**
 * Whether `found` reproduces `committed`.
 * @returns what differs, one line each; empty where all of it is reproduced
 */
export function differencesFrom(committed: StudyFile, found: StudyFile): readonly string[] {
  const lines: string[] = [];
  if (committed.study !== found.study) lines.push(`study: ${committed.study}, now ${found.study}`);
  for (const key of new Set([...Object.keys(committed.setting), ...Object.keys(found.setting)])) {
    const [before, now] = [committed.setting[key], found.setting[key]];
    if (before !== now) lines.push(`setting ${key}: ${before ?? 'none'}, now ${now ?? 'none'}`);
  }
  const [oldData, newData] = [committed, found].map(({ data }) =>
    data.map(({ name, kind, host = 'no host' }) => `${name} (${kind}, ${host})`).join(', '),
  );
  if (oldData !== newData) lines.push(`data: ${oldData}, now ${newData}`);
  const now = new Map(found.rows.map((row) => [nameOf(row), row]));
  for (const row of committed.rows) {
    const name = nameOf(row);
    const other = now.get(name);
    now.delete(name);
    const fault = other === undefined ? 'is no longer there' : faultOf(row, other);
    if (fault !== undefined) lines.push(`${name}: ${fault}`);
  }
  for (const name of now.keys()) lines.push(`${name}: is new`);
  return lines;
}

function nameOf({ table, row, series, figure }: StudyRow): string {
  return [table, row, ...(series === undefined ? [] : [series]), figure].join(' / ');
}

function faultOf(before: StudyRow, { mean }: StudyRow): string | undefined {
  if (before.mean === null || mean === null)
    return before.mean === mean ? undefined : `${before.mean ?? 'nothing'}, now ${mean ?? 'nothing'}`;
  const room = TOLERANCE + TOLERANCE_SHARE * Math.abs(before.mean);
  const [low, high] = [(before.low ?? before.mean) - room, (before.high ?? before.mean) + room];
  if (mean >= low && mean <= high) return undefined;
  const short = (value: number) => String(Number(value.toPrecision(4)));
  return `${short(before.mean)} (${short(low)} to ${short(high)}), now ${short(mean)}`;
}
