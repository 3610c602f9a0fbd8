// Turns the words of a command line into values, the way people from the Python tools write them:
// True/False/None, [0,2], 0,2, 640 or 384,640.
import { ConfigError, nearest } from '#core/basics';

export type OptionType = 'string' | 'number' | 'integer' | 'boolean' | 'size' | 'list';

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  /** Shown in the help; the value itself is applied where the option is used. */
  readonly defaultText?: string;
}

export type OptionValue = string | number | boolean | readonly string[] | readonly [number, number];

/**
 * @param key as the user would write it, for the message
 * @returns undefined for `None`, which means "as if it were not given"
 * @throws ConfigError naming key, what was found and what is expected
 */
export function parseValue(
  key: string,
  text: string,
  type: OptionType,
  bounds: Bounds,
): OptionValue | undefined {
  const word = unquote(text.trim());
  if (word === 'None' || word === 'null') return undefined;
  switch (type) {
    case 'string':
      return parseChoice(key, word, bounds.choices);
    case 'boolean':
      return parseBoolean(key, word);
    case 'number':
    case 'integer':
      return parseNumber(key, word, type, bounds);
    case 'size':
      return parseSize(key, word, bounds);
    case 'list':
      return parseList(word);
    default:
      return type satisfies never;
  }
}

function unquote(word: string): string {
  const quoted = /^(['"])(.*)\1$/s.exec(word);
  return quoted?.[2] ?? word;
}

function parseChoice(key: string, word: string, choices: readonly string[] | undefined): string {
  if (choices !== undefined && !choices.includes(word)) {
    const near = nearest(word, choices);
    throw new ConfigError(`${key}=${word}: not one of ${choices.join(', ')}`, {
      hint: near === undefined ? `write ${key}=${choices[0]}, for example` : `did you mean ${key}=${near} ?`,
    });
  }
  return word;
}

function parseBoolean(key: string, word: string): boolean {
  if (/^(true|yes|on|1)$/i.test(word)) return true;
  if (/^(false|no|off|0)$/i.test(word)) return false;
  throw new ConfigError(`${key}=${word}: expected True or False`, {
    hint: `write ${key}=True or ${key}=False`,
  });
}

function parseNumber(key: string, word: string, type: 'number' | 'integer', bounds: Bounds): number {
  const value = word === '' ? Number.NaN : Number(word);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, defaultText } = bounds;
  const whole = type === 'number' || Number.isInteger(value);
  if (!Number.isFinite(value) || !whole || value < min || value > max) {
    throw new ConfigError(`${key}=${word}: expected ${describeNumber(type, bounds)}`, {
      hint: `write ${key}=${usual(defaultText) ?? Math.max(min, Math.min(max, 1))}, for example`,
    });
  }
  return value;
}

/** The default, where it begins with a number: that of the first command that is named. */
function usual(defaultText: string | undefined): number | undefined {
  const value = Number.parseFloat(defaultText ?? '');
  return Number.isFinite(value) ? value : undefined;
}

function describeNumber(type: 'number' | 'integer', { min, max }: Bounds): string {
  const noun = type === 'integer' ? 'a whole number' : 'a number';
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`;
  return min === undefined ? noun : `${noun} of at least ${min}`;
}

/** `640`, `384,640`, `[384, 640]` or `384x640`: height before width, as the Python tools have it. */
function parseSize(key: string, word: string, bounds: Bounds): readonly [number, number] {
  const parts = parseList(word.replace(/^(\d+)x(\d+)$/, '$1,$2'));
  const numbers = parts.map((part) => parseNumber(key, part, 'integer', bounds));
  const [height, width = height] = numbers;
  if (height === undefined || width === undefined || numbers.length > 2) {
    throw new ConfigError(`${key}=${word}: expected one size, or height,width`, {
      hint: `write ${key}=640 or ${key}=384,640`,
    });
  }
  return [height, width];
}

/** `0,2`, `[0, 2]`, `(person, car)` or one word. */
export function parseList(word: string): string[] {
  const bare = word.trim().replace(/^[[(](.*)[\])]$/s, '$1');
  return bare
    .split(',')
    .map((part) => unquote(part.trim()))
    .filter((part) => part !== '');
}
