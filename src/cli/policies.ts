// Thresholds, suppression and class filter of a command line, once the model's classes are known.
import { readFile } from 'node:fs/promises';
import type { SuppressionPolicy, ThresholdPolicy } from '#core';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  ConfigError,
  HARD_SUPPRESSION,
  PUBLISHED_THRESHOLD,
  parseThresholdsFile,
  SOFT_SUPPRESSION,
  thresholdReach,
  toThresholdPolicy,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import type { Config } from './config.ts';
import { nearest } from './nearest.ts';
import { say } from './output.ts';

const DEFAULT_CONF = 0.25;
const DEFAULT_K = { variance: PUBLISHED_THRESHOLD.k, std: 0.1 } as const;
const DEFAULT_TAIL = 0.5;

export interface ModelClasses {
  readonly classNames: readonly string[];
  readonly sha256: string;
}

/** @throws ConfigError for contradicting keys, unknown classes, or a thresholds file that does not fit the model */
export async function readThreshold(config: Config, model: ModelClasses): Promise<ThresholdPolicy> {
  const path = config.text('thresholds');
  if (path !== undefined) return thresholdsFromFile(path, config, model);
  if (config.text('condition') !== undefined) throw withoutEffect('condition', 'needs thresholds=<file>');
  const published = config.text('preset') === 'published';
  const base = config.number('conf') ?? (published ? PUBLISHED_THRESHOLD.base : DEFAULT_CONF);
  const kind = config.text('threshold') ?? (published ? 'variance' : 'fixed');
  refuseWithoutEffect(config, kind);
  const perClass = perClassThresholds(config, model.classNames);
  const bases = perClass.size > 0 ? { base, perClass } : { base };
  const policy = thresholdOfKind(kind, bases, perClass, config);
  if (policy.kind !== 'fixed' && policy.kind !== 'per-class')
    say(`threshold=${kind}: ${thresholdReach(policy).text}`);
  return policy;
}

/** A number that nothing reads would be believed to act. */
function refuseWithoutEffect(config: Config, kind: string): void {
  if (config.number('k') !== undefined && kind !== 'variance' && kind !== 'std')
    throw withoutEffect('k', 'acts with threshold=variance or threshold=std');
  if (config.number('tail') !== undefined && kind !== 'tail-mass')
    throw withoutEffect('tail', 'acts with threshold=tail-mass');
}

function withoutEffect(key: string, needs: string): ConfigError {
  return new ConfigError(`${key}= has no effect here: it ${needs}`, {
    hint: `add what it needs, or leave ${key}= away`,
  });
}

function thresholdOfKind(
  kind: string,
  bases: { readonly base: number; readonly perClass?: ReadonlyMap<number, number> },
  perClass: ReadonlyMap<number, number>,
  config: Config,
): ThresholdPolicy {
  switch (kind) {
    case 'variance':
    case 'std':
      return { kind, ...bases, k: config.number('k') ?? DEFAULT_K[kind] };
    case 'tail-mass':
      return { kind, ...bases, probability: config.number('tail') ?? DEFAULT_TAIL };
    default:
      return perClass.size > 0
        ? { kind: 'per-class', base: bases.base, perClass }
        : { kind: 'fixed', base: bases.base };
  }
}

async function thresholdsFromFile(
  path: string,
  config: Config,
  model: ModelClasses,
): Promise<ThresholdPolicy> {
  const rivals = [
    ...['conf', 'threshold', 'k', 'tail', 'preset'].filter((key) => config.text(key) !== undefined),
    ...[...config.classConf.keys()].map((name) => `conf.${name}`),
  ];
  if (rivals.length > 0) {
    throw new ConfigError(`thresholds=${path} already decides what ${rivals[0]}= would`, {
      hint: 'give one or the other',
    });
  }
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`thresholds=${path}: the file cannot be read (${(cause as Error).message})`, {
      hint: 'check the path',
      cause,
    });
  }
  const file = parseThresholdsFile(text, path, { modelSha256: model.sha256 });
  const condition = config.text('condition');
  return toThresholdPolicy(file, {
    classNames: model.classNames,
    ...(condition === undefined ? {} : { condition }),
  });
}

function perClassThresholds({ classConf }: Config, classNames: readonly string[]): Map<number, number> {
  return new Map([...classConf].map(([name, value]) => [classId(`conf.${name}`, name, classNames), value]));
}

export function readSuppression(config: Config): SuppressionPolicy | 'auto' {
  switch (config.text('nms') ?? (config.text('preset') === 'published' ? 'uncertainty' : 'auto')) {
    case 'hard':
      return HARD_SUPPRESSION;
    case 'soft':
      return SOFT_SUPPRESSION;
    case 'uncertainty':
      return UNCERTAINTY_SUPPRESSION;
    case 'box-uncertainty':
      return BOX_UNCERTAINTY_SUPPRESSION;
    default:
      return 'auto';
  }
}

/** @returns class ids of `classes=`, or undefined for all */
export function readClasses(config: Config, classNames: readonly string[]): readonly number[] | undefined {
  return config.list('classes')?.map((word) => classId('classes', word, classNames));
}

function classId(key: string, word: string, classNames: readonly string[]): number {
  const byName = classNames.indexOf(word);
  if (byName >= 0) return byName;
  const number = /^\d+$/.test(word) ? Number(word) : -1;
  if (number >= 0 && number < classNames.length) return number;
  const near = nearest(word, classNames);
  throw new ConfigError(`${key}: the model has no class '${word}'`, {
    hint:
      near === undefined
        ? `its ${classNames.length} classes are ${classNames.slice(0, 10).join(', ')}${classNames.length > 10 ? ', …' : ''}`
        : `did you mean '${near}'?`,
  });
}
