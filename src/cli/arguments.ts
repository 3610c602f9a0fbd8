// Rewrites the habitual spellings of a command line into the one that the program tree knows:
// `conf=0.5`, `--conf 0.5`, `--conf-thres=0.5` and `conf.person=0.5`.
import { nearest, UsageError } from '#core/basics';
import { canonical, findOption, OPTIONS } from './options.ts';

/** `conf.person=0.5` becomes `--conf.person=0.5`; commander sees it as `--class-conf person=0.5`. */
const PER_CLASS = /^(?:--)?conf\.(.+?)=(.*)$/s;
const KEY_VALUE = /^(?:-{1,2})?([A-Za-z][\w-]*)=(.*)$/s;
const FLAG = /^-{1,2}([A-Za-z][\w-]*)$/;
const PASSED_ON = new Set(['help', 'h', 'version', 'V']);

/**
 * @param words arguments behind the command's name
 * @throws UsageError for a key that does not exist, with the nearest that does
 */
export function normalizeArguments(words: readonly string[]): string[] {
  const result: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    const perClass = PER_CLASS.exec(word);
    const keyValue = KEY_VALUE.exec(word);
    const flag = FLAG.exec(word);
    if (perClass !== null) {
      result.push(`--class-conf=${perClass[1]}=${perClass[2]}`);
    } else if (keyValue !== null && !looksLikePath(word)) {
      result.push(`--${dashed(keyOf(keyValue[1] ?? ''))}=${keyValue[2]}`);
    } else if (flag !== null && !PASSED_ON.has(flag[1] ?? '')) {
      const key = keyOf(flag[1] ?? '');
      const next = words[index + 1];
      const value = next === undefined || takesNoValue(key, next) ? undefined : next;
      if (value !== undefined) index++;
      result.push(value === undefined ? `--${dashed(key)}` : `--${dashed(key)}=${value}`);
    } else if (PASSED_ON.has(flag?.[1] ?? '')) {
      result.push(word);
    } else {
      throw new UsageError(`'${word}' is not an option`, {
        hint: 'write key=value or --key value; for an input, source=…',
      });
    }
  }
  return result;
}

function looksLikePath(word: string): boolean {
  return /^[./]/.test(word);
}

/** A switch (`--save`) is not followed by a value unless the next word is one of True, False, None and so on. */
function takesNoValue(key: string, next: string): boolean {
  if (findOption(key)?.type === 'boolean') return !/^(true|false|yes|no|on|off|1|0|none)$/i.test(next);
  return FLAG.test(next);
}

function keyOf(word: string): string {
  const option = findOption(word);
  if (option !== undefined) return option.key;
  const names = OPTIONS.flatMap(({ key, aliases = [] }) => [key, ...aliases]).filter(
    (name) => name.length > 1,
  );
  const near = nearest(canonical(word), names);
  throw new UsageError(`there is no option '${word}'`, {
    hint: near === undefined ? 'see edge-detect --help for the options' : `did you mean ${near}= ?`,
  });
}

function dashed(key: string): string {
  return key.replaceAll('_', '-');
}
