// The words of `preprocess=`, such as `rgb,0-1,letterbox` or `bgr,mean=103.53/116.28/123.675,std=57.375/57.12/58.395,stretch`.
import type { PreprocessContract } from '#core';
import { ConfigError } from '#core';
import type { KnownFamily } from './contracts.ts';
import { CONTRACTS } from './contracts.ts';

const FAMILIES = Object.keys(CONTRACTS).filter((family) => family !== 'unknown');

const ALLOWED = [
  'rgb or bgr',
  '0-1 or 0-255',
  'letterbox or stretch',
  'center or top-left',
  'enlarge or no-enlarge',
  'mean=R/G/B and std=R/G/B (in the order of the channels, of values 0..255)',
  'pad=0..255',
  `or a family: ${FAMILIES.join(', ')}`,
].join('; ');

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A contract from words separated by commas. What is not said is as Ultralytics has it: rgb, 0-1, letterbox, center,
 * pad=114. A family's name may come first and is then changed by the words after it: `yolox,stretch`.
 * @throws ConfigError naming the word that is wrong and the words allowed
 */
export function parsePreprocess(text: string): PreprocessContract {
  const contract: Mutable<PreprocessContract> = { ...CONTRACTS.ultralytics };
  const words = splitWords(text);
  if (words.length === 0) throw wrong(text, text, 'it is empty');
  for (const word of words) applyWord(text, contract, word);
  return contract;
}

/** `mean=0.1,0.2,0.3` keeps its numbers: a word that begins with a digit belongs to the list before it. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const part of text.split(',').map((word) => word.trim().toLowerCase())) {
    const previous = words.at(-1);
    const isNumber = /^-?[\d.]+$/.test(part);
    if (isNumber && previous !== undefined && /^(mean|std)=/.test(previous))
      words[words.length - 1] = `${previous}/${part}`;
    else if (part !== '') words.push(part);
  }
  return words;
}

function applyWord(text: string, contract: Mutable<PreprocessContract>, word: string): void {
  const [key = '', value] = word.split('=', 2);
  if (value !== undefined) {
    applyValue(text, contract, key, value);
    return;
  }
  switch (word) {
    case 'rgb':
    case 'bgr':
      contract.channels = word;
      return;
    case '0-1':
      Object.assign(contract, { mean: [0, 0, 0], std: [255, 255, 255] });
      return;
    case '0-255':
      Object.assign(contract, { mean: [0, 0, 0], std: [1, 1, 1] });
      return;
    case 'letterbox':
    case 'stretch':
      contract.fit = { ...contract.fit, mode: word };
      return;
    case 'center':
    case 'top-left':
      contract.fit = { ...contract.fit, align: word };
      return;
    case 'enlarge':
    case 'no-enlarge':
      contract.fit = { ...contract.fit, enlarge: word === 'enlarge' };
      return;
    default:
      if (!FAMILIES.includes(word)) throw wrong(text, word, 'this word is not known');
      Object.assign(contract, CONTRACTS[word as KnownFamily]);
  }
}

function applyValue(text: string, contract: Mutable<PreprocessContract>, key: string, value: string): void {
  const numbers = value.split('/').map((item) => (item.trim() === '' ? Number.NaN : Number(item)));
  const given = `${key}=${value}`;
  if (key !== 'mean' && key !== 'std' && key !== 'pad') throw wrong(text, given, `${key}= is not known`);
  if (!numbers.every(Number.isFinite)) throw wrong(text, given, 'expected numbers');
  const [first = 0, second = first, third = first] = numbers;
  if (key === 'pad') {
    if (numbers.length !== 1 || first < 0 || first > 255)
      throw wrong(text, given, 'expected one number of 0..255');
    contract.pad = first;
    return;
  }
  if (numbers.length !== 1 && numbers.length !== 3) throw wrong(text, given, 'expected one number or three');
  if (key === 'std' && numbers.includes(0)) throw wrong(text, given, 'a std of 0 would divide by zero');
  contract[key] = [first, second, third];
}

function wrong(text: string, word: string, reason: string): ConfigError {
  return new ConfigError(`preprocess=${text}: '${word}': ${reason}`, { hint: `allowed: ${ALLOWED}` });
}
