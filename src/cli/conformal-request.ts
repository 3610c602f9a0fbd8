// `conformal=recall:0.8 by=frames.csv:period` as what a calibration is asked for.
import { ConfigError, nearest } from '#core';
import type { CalibrateRequest } from '#evaluate';
import type { Config } from './config.ts';
import { defined } from './open.ts';

const TARGETS = { recall: 'object-recall', 'picture-recall': 'miss-rate', precision: 'precision' } as const;
const NAMES = Object.keys(TARGETS) as (keyof typeof TARGETS)[];

type Conformal = NonNullable<CalibrateRequest['conformal']>;

/**
 * @returns undefined where it is not asked for
 * @throws ConfigError for a target or level that is none, and for words that act only beside it
 */
export function readConformal(config: Config): Conformal | undefined {
  const text = config.text('conformal');
  const [by, delta] = [config.text('by'), config.number('delta')];
  if (text === undefined) {
    const stray = by === undefined ? (delta === undefined ? undefined : 'delta') : 'by';
    if (stray === undefined) return undefined;
    throw new ConfigError(`${stray}= has no effect here: it acts with conformal=`, {
      hint: 'add conformal=recall:0.8, or leave it away',
    });
  }
  const target = readTarget(text);
  if (delta !== undefined && target.target !== 'precision') {
    throw new ConfigError(`delta= has no effect beside conformal=${text}`, {
      hint: 'it is the chance that a promise of precision fails; those of recall hold on average',
    });
  }
  return {
    ...target,
    ...defined('delta', delta),
    ...defined('by', by === undefined ? undefined : readRule(by)),
  };
}

function readTarget(text: string): Pick<Conformal, 'target' | 'level'> {
  const [name = '', share = ''] = text.split(':');
  const level = share.trim() === '' ? Number.NaN : Number(share);
  if (!Object.hasOwn(TARGETS, name)) {
    const near = nearest(name, NAMES);
    throw new ConfigError(`conformal=${text}: '${name}' is not one of ${NAMES.join(', ')}`, {
      hint: `write conformal=${near ?? 'recall'}:0.8, for example`,
    });
  }
  if (!(level > 0 && level < 1)) {
    throw new ConfigError(`conformal=${text}: expected a share between 0 and 1 behind the colon`, {
      hint: `write conformal=${name}:0.8, for example`,
    });
  }
  return { target: TARGETS[name as keyof typeof TARGETS], level };
}

function readRule(by: string): NonNullable<Conformal['by']> {
  if (by === 'light') return { kind: 'light' };
  const at = by.lastIndexOf(':');
  const [table, column] = [by.slice(0, at), by.slice(at + 1)];
  if (at > 0 && column !== '') return { kind: 'column', table, column };
  throw new ConfigError(`by=${by}: neither TABLE.csv:COLUMN nor light`, {
    hint: 'write by=frames.csv:period or by=light',
  });
}
