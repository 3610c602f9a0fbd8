// Thresholds, suppression and class filter of a command line, once the model's classes are known.
import { readFile } from 'node:fs/promises';
import type { SuppressionPolicy, ThresholdPolicy, ThresholdsFile } from '#core';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  ConfigError,
  HARD_SUPPRESSION,
  nearest,
  PUBLISHED_THRESHOLD,
  parseThresholdsFile,
  SOFT_SUPPRESSION,
  thresholdReach,
  toSuppression,
  toThresholdPolicy,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import type { DetectorOptions } from '#runtime';
import type { Config } from './config.ts';
import { say } from './output.ts';

const DEFAULT_CONF = 0.25;
const DEFAULT_K = { variance: PUBLISHED_THRESHOLD.k, std: 0.1 } as const;
const DEFAULT_TAIL = 0.5;

export interface ModelClasses {
  readonly classNames: readonly string[];
  readonly sha256: string;
}

/**
 * Threshold and, where a thresholds file decides them too, suppression.
 * @throws ConfigError for contradicting keys, unknown classes, or a thresholds file that does not fit the model
 */
export async function readPolicies(config: Config, model: ModelClasses): Promise<Partial<DetectorOptions>> {
  const path = config.text('thresholds');
  return path === undefined
    ? { threshold: readThreshold(config, model) }
    : policiesOfFile(path, config, await readThresholdsFile(path, config, model), model);
}

function readThreshold(config: Config, model: ModelClasses): ThresholdPolicy {
  for (const key of ['condition', 'camera']) {
    if (config.text(key) !== undefined) throw withoutEffect(key, 'needs thresholds=<file>');
  }
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

/** What a thresholds file decides, and the command line may not decide again. */
const DECIDED_BY_FILE = ['conf', 'threshold', 'k', 'tail', 'preset', 'nms', 'iou', 'agnostic_nms'];

async function readThresholdsFile(
  path: string,
  config: Config,
  { sha256 }: ModelClasses,
): Promise<ThresholdsFile> {
  const rivals = [
    ...DECIDED_BY_FILE.filter((key) => config.text(key) !== undefined),
    ...[...config.classConf.keys()].map((name) => `conf.${name}`),
  ];
  if (rivals.length > 0) {
    throw new ConfigError(`thresholds=${path} already decides what ${rivals[0]}= would`, {
      hint: 'give one or the other',
    });
  }
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new ConfigError(`thresholds=${path}: the file cannot be read (${cause.message})`, {
      hint: 'check the path',
      cause,
    });
  });
  return parseThresholdsFile(text, path, { modelSha256: sha256 });
}

function policiesOfFile(
  path: string,
  config: Config,
  file: ThresholdsFile,
  { classNames }: ModelClasses,
): Partial<DetectorOptions> {
  if (file.score === 'calibrated') {
    throw new ConfigError(
      `${path}: its thresholds are for calibrated scores, and this version gives raw ones`,
      {
        hint: "write the file again with score 'raw'",
      },
    );
  }
  const [condition, camera] = [config.text('condition'), config.text('camera')];
  if (file.hysteresis !== undefined && condition === undefined) {
    say(`${path}: the light is not measured in this version, so its general thresholds hold; see condition=`);
  }
  const choice = {
    classNames,
    ...(condition === undefined ? {} : { condition }),
    ...(camera === undefined ? {} : { camera }),
  };
  try {
    return { threshold: toThresholdPolicy(file, choice), ...toSuppression(file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${path}: ${error.message}`, { hint: error.hint, cause: error });
  }
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
