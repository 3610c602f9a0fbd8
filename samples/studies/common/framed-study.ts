// A study that one command runs whole: it finds its data, measures, prints, and writes (`out=`), draws (`page=`) or
// compares (`check=`) what it found.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, EdgeDetectError, nearest } from 'edge-detect/core';
import { print, say } from './output.ts';
import { findStudyData, type StudyData, type WantedData } from './study-data.ts';
import {
  CHECK_RULE,
  differencesFrom,
  readStudyFile,
  STUDENT_INTERVAL,
  type StudyFile,
  writeStudyFile,
} from './study-file.ts';
import { cellOf, namesOf, writeStudyPage } from './study-page.ts';
import { markdownTable } from './table.ts';

export interface StudyContext {
  readonly data: readonly StudyData[];
  /** 1 for a study without seeds. */
  readonly seeds: number;
  /** Options of this study alone, as they were given or as they stand in `options`. */
  readonly values: ReadonlyMap<string, string>;
  /** A folder that goes away with the run. */
  readonly scratch: string;
  readonly signal: AbortSignal;
}

export interface FramedStudy {
  readonly name: string;
  readonly question: string;
  /** Real sets that it wants; without any of them the sample world stands in. */
  readonly wants: readonly WantedData[];
  /** Options of its own and their standard values. */
  readonly options?: Readonly<Record<string, string>>;
  /** False: nothing is drawn or trained, so it has no seeds and refuses `seeds=`. Default true. */
  readonly seeded?: boolean;
  /** False: it looks at pictures alone, so it takes no model and refuses `model=`. Default true. */
  readonly hosted?: boolean;
  /** How `low` and `high` of its rows came about; Student's t over the seeds without. */
  readonly interval?: string;
  measure(context: StudyContext): Promise<Pick<StudyFile, 'setting' | 'tables' | 'rows' | 'verdicts'>>;
}

const COMMON = { seeds: '5', data: '', model: '', pictures: '210', out: '', check: '', page: '' };
const STOPPED = 130;

/** Reads the command line, runs, and sets the exit code: 1 where `check=` found something else. */
export async function runFramedStudy(study: FramedStudy, words: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  try {
    const values = readValues(words, study);
    const committed = await committedFile(values);
    const file = await runStudy(study, values, interrupt.signal);
    printStudy(file);
    await finishStudy(file, values, committed);
  } catch (error) {
    if (interrupt.signal.aborted) process.exitCode = STOPPED;
    else if (error instanceof EdgeDetectError) {
      say(`${error.message}\n${error.hint}`);
      process.exitCode = error.exitCode;
    } else throw error;
  }
}

/** Writes, draws and compares as the options say; the older studies end with it, too. */
export async function finishStudy(
  file: StudyFile,
  values: ReadonlyMap<string, string>,
  committed: StudyFile | undefined,
): Promise<void> {
  const [out, page, check] = ['out', 'page', 'check'].map((key) => values.get(key) || undefined);
  if (out !== undefined) await writeStudyFile(out, file);
  if (page !== undefined) await writeStudyPage(page, file);
  if (committed === undefined) return;
  const differences = differencesFrom(committed, file);
  for (const line of differences) print(`differs: ${line}`);
  const verdict = differences.length === 0 ? 'reproduced' : `${differences.length} of them differ`;
  print(`${check}: ${committed.rows.length} figures, ${verdict} (${CHECK_RULE})`);
  if (differences.length > 0) process.exitCode = 1;
}

/** Read before anything runs: a wrong path should not cost half an hour. */
export async function committedFile(values: ReadonlyMap<string, string>): Promise<StudyFile | undefined> {
  const path = values.get('check') || undefined;
  return path === undefined ? undefined : readStudyFile(path);
}

async function runStudy(
  study: FramedStudy,
  values: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<StudyFile> {
  const scratch = await mkdtemp(join(tmpdir(), 'edge-detect-study-'));
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  try {
    const [given, model] = [values.get('data') || undefined, values.get('model') || undefined];
    const data = await findStudyData(study.wants, {
      ...(given && { data: given }),
      ...(model && { model }),
      scratch,
      worldPictures: wholeNumber(values, 'pictures', 14),
    });
    for (const { name, kind, weaker } of data) say(`data: ${name} (${kind})${weaker ? `: ${weaker}` : ''}`);
    const seeds = values.has('seeds') ? wholeNumber(values, 'seeds', 1) : 1;
    const found = await study.measure({ data, seeds, values, scratch, signal });
    const { user, system } = process.cpuUsage(cpu);
    return {
      study: study.name,
      question: study.question,
      data: data.map(({ name, kind, host, weaker }) => ({
        name,
        kind,
        ...(host && { host }),
        ...(weaker && { weaker }),
      })),
      ...found,
      setting: { ...(values.has('seeds') && { seeds }), ...found.setting },
      interval: study.interval ?? STUDENT_INTERVAL,
      cost: { seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 },
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function readValues(
  words: readonly string[],
  { options = {}, name, seeded = true, hosted = true }: FramedStudy,
): ReadonlyMap<string, string> {
  const values = new Map(Object.entries({ ...COMMON, ...options }));
  if (!seeded) values.delete('seeds');
  if (!hosted) values.delete('model');
  const keys = [...values.keys()];
  for (const word of words) {
    const equals = word.indexOf('=');
    const key = equals < 0 ? word : word.slice(0, equals);
    if (equals < 0 || !values.has(key)) {
      const near = nearest(key, keys);
      throw new ConfigError(`"${word}" is not understood by ${name}; known: ${keys.join('=, ')}=`, {
        hint: near === undefined ? 'without any option the whole study runs' : `did you mean ${near}=…?`,
      });
    }
    values.set(key, word.slice(equals + 1));
  }
  if (hosted && (values.get('data') === '') !== (values.get('model') === '')) {
    throw new ConfigError('data= and model= belong together, and one of them is missing', {
      hint: 'name both, or neither: then the study finds its data',
    });
  }
  return values;
}

/** @throws ConfigError naming the key, what was found and what is allowed */
export function wholeNumber(values: ReadonlyMap<string, string>, key: string, least: number): number {
  const text = values.get(key) ?? '';
  const value = Number(text);
  if (text !== '' && Number.isInteger(value) && value >= least) return value;
  throw new ConfigError(`${key}=${text}: expected a whole number of ${least} or more`, {
    hint: `leave ${key}= away`,
  });
}

/** Tables and verdicts for people. */
export function printStudy({
  question,
  setting,
  data,
  tables,
  rows,
  verdicts,
  interval,
  cost,
}: StudyFile): void {
  print(`${question}\n`);
  print(
    `${Object.entries(setting)
      .map(([key, value]) => `${key} ${value}`)
      .join(', ')}`,
  );
  for (const { name, host, weaker } of data)
    print(`data: ${name}${host ? `, host ${host}` : ''}${weaker ? ` (${weaker})` : ''}`);
  print(
    `${'seeds' in setting ? 'mean' : 'value'} (${interval}); ${cost.seconds.toFixed(0)} s, ${cost.cpuSeconds.toFixed(0)} s of CPU`,
  );
  for (const { table, title, text, columns, words } of tables) {
    print(`\n## ${title}${text === '' ? '' : `\n\n${text}`}`);
    const lines = namesOf(rows.filter((row) => row.table === table)).map(({ label, of }) => [
      label,
      ...columns.map((column) => cellOf(column, of)),
    ]);
    if (columns.length > 0)
      print(`\n${markdownTable(['', ...columns.map((column) => column.title)], lines)}`);
    if (words !== undefined) print(`\n${markdownTable(words.columns, words.rows)}`);
  }
  for (const { claim, source, verdict, because, default: chosen } of verdicts)
    print(`\n**${claim}** (${source}): ${verdict}. ${because} Default: ${chosen}`);
}
