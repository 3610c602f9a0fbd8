// The command line of a study: `key=value` words, and `--json` for lines that programs read.
import { ConfigError, nearest } from 'edge-detect/core';

export interface StudyOptions {
  /**
   * Labelled data: data.yaml or a folder. Its pictures belong to groups (cameras), named before the first `-`. Absent
   * as `model`: the study finds its own.
   */
  readonly data?: string;
  /** ONNX file of the frozen host. */
  readonly model?: string;
  /** Repetitions: each has its own start, its own order of pictures and its own held-out groups. */
  readonly seeds: number;
  readonly epochs: number;
  readonly batch: number;
  /** Augmented variants of every training picture in the cache, beside the picture as it is. */
  readonly variants: number;
  /** Groups that every seed holds out; absent: seed k holds out the groups 2k and 2k + 1 of the sorted ones. */
  readonly holdOut?: readonly string[];
  /** `one`: all objects are one class, so the head has no class branch. `all`: the classes of the data. */
  readonly classes: 'one' | 'all';
  /** Names of the arms to run; absent: all. */
  readonly arms?: readonly string[];
  /** `out`: file for the results, `page`: for a page of them, `check`: committed results to compare with. */
  readonly results: ReadonlyMap<string, string>;
  readonly json: boolean;
}

/** With data and host found. */
export interface FoundOptions extends StudyOptions {
  readonly data: string;
  readonly model: string;
}

const KEYS = [
  'data',
  'model',
  'seeds',
  'epochs',
  'batch',
  'variants',
  'hold',
  'classes',
  'arms',
  'out',
  'page',
  'check',
] as const;

/** @throws ConfigError naming the word, what was found and what is allowed */
export function readStudyOptions(
  words: readonly string[],
  defaults: { readonly classes: StudyOptions['classes'] },
): StudyOptions {
  const values = readWords(words);
  const classes = values.get('classes') ?? defaults.classes;
  if (classes !== 'one' && classes !== 'all') {
    throw new ConfigError(`classes=${classes}: expected one or all`, { hint: 'write classes=one' });
  }
  const [holdOut, arms] = [listOf(values, 'hold'), listOf(values, 'arms')];
  return {
    ...bothOrNone(values),
    seeds: countOf(values, 'seeds', 5, 1),
    epochs: countOf(values, 'epochs', 8, 1),
    batch: countOf(values, 'batch', 8, 1),
    variants: countOf(values, 'variants', 1, 0),
    classes,
    ...(holdOut && { holdOut }),
    ...(arms && { arms }),
    results: values,
    json: words.includes('--json'),
  };
}

function readWords(words: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const word of words) {
    if (word === '--json') continue;
    const equals = word.indexOf('=');
    const key = equals < 0 ? word : word.slice(0, equals);
    if (equals < 0 || !(KEYS as readonly string[]).includes(key)) {
      const near = nearest(key, KEYS);
      throw new ConfigError(`"${word}" is not understood; known: ${KEYS.join('=, ')}=, --json`, {
        hint: near === undefined ? 'without any option the whole study runs' : `did you mean ${near}=…?`,
      });
    }
    values.set(key, word.slice(equals + 1));
  }
  return values;
}

function bothOrNone(values: ReadonlyMap<string, string>): Pick<StudyOptions, 'data' | 'model'> {
  const [data, model] = [values.get('data') || undefined, values.get('model') || undefined];
  if (data !== undefined && model !== undefined) return { data, model };
  if (data === undefined && model === undefined) return {};
  throw new ConfigError(`${data === undefined ? 'data' : 'model'}= is missing`, {
    hint: 'write data=<data.yaml or folder> model=<host.onnx>, or neither: then the study finds its data',
  });
}

function listOf(values: ReadonlyMap<string, string>, key: string): readonly string[] | undefined {
  return values
    .get(key)
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function countOf(values: ReadonlyMap<string, string>, key: string, standard: number, least: number): number {
  const text = values.get(key);
  if (text === undefined) return standard;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new ConfigError(`${key}=${text}: expected a whole number of ${least} or more`, {
    hint: `write ${key}=${standard}`,
  });
}
