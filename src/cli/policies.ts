// Thresholds, suppression and class filter of a command line, once the model's classes are known.
import { readFile } from 'node:fs/promises';
import type { SuppressionPolicy, ThresholdPolicy, ThresholdsFile } from '#core';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  ConfigError,
  describeGuarantee,
  FUSION_SUPPRESSION,
  HARD_SUPPRESSION,
  nearest,
  PUBLISHED_THRESHOLD,
  parseThresholdsFile,
  SOFT_SUPPRESSION,
  thresholdReach,
  toSuppression,
  toThresholdPolicy,
  UNCERTAINTY_SUPPRESSION,
  VOTE_SUPPRESSION,
} from '#core';
import type { CalibratorChoice, DetectorOptions } from '#runtime';
import type { Config } from './config.ts';
import { say } from './output.ts';

const DEFAULT_CONF = 0.25;
const DEFAULT_K = { variance: PUBLISHED_THRESHOLD.k, std: 0.1 } as const;
const DEFAULT_TAIL = 0.5;

export interface ModelClasses {
  readonly classNames: readonly string[];
  readonly sha256: string;
  /** Whether a calibrator is in effect. */
  readonly calibrated: boolean;
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
  if (kind === 'conformal') throw onlyFromFile();
  refuseWithoutEffect(config, kind);
  const perClass = perClassThresholds(config, model.classNames);
  const bases = perClass.size > 0 ? { base, perClass } : { base };
  const policy = thresholdOfKind(kind, bases, perClass, config);
  if (policy.kind !== 'fixed' && policy.kind !== 'per-class')
    say(`threshold=${kind}: ${thresholdReach(policy).text}`);
  return policy;
}

function onlyFromFile(): ConfigError {
  return new ConfigError('threshold=conformal: its thresholds come from data, by a thresholds file', {
    hint: 'add thresholds=<file> with thresholds of a conformal calibration',
  });
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
const DECIDED_BY_FILE = ['conf', 'k', 'tail', 'preset', 'nms', 'iou', 'agnostic_nms'];

async function readThresholdsFile(
  path: string,
  config: Config,
  { sha256 }: ModelClasses,
): Promise<ThresholdsFile> {
  const rivals = [
    ...DECIDED_BY_FILE.filter((key) => config.text(key) !== undefined),
    // Asking for what only a file can give does not contradict it.
    ...((config.text('threshold') ?? 'conformal') === 'conformal' ? [] : ['threshold']),
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
  { classNames, calibrated }: ModelClasses,
): Partial<DetectorOptions> {
  expectScale(path, file, calibrated);
  if (config.text('threshold') === 'conformal' && file.conformal === undefined) {
    throw new ConfigError(`${path}: threshold=conformal, but its thresholds carry no such promise`, {
      hint: 'leave threshold= away, or name a file of a conformal calibration',
    });
  }
  const [condition, camera] = [config.text('condition'), config.text('camera')];
  if (file.hysteresis !== undefined && condition === undefined && config.text('light') === undefined) {
    say(`${path}: the light is not followed, so its general thresholds hold; see light= and condition=`);
  }
  const choice = {
    classNames,
    ...(condition === undefined ? {} : { condition }),
    ...(camera === undefined ? {} : { camera }),
  };
  try {
    const threshold = toThresholdPolicy(file, choice);
    if (threshold.kind === 'conformal') say(`${path} ${describeGuarantee(threshold.guarantee)}`);
    return { threshold, ...toSuppression(file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${path}: ${error.message}`, { hint: error.hint, cause: error });
  }
}

/** A threshold for one scale is no threshold for the other. */
function expectScale(path: string, { score }: ThresholdsFile, calibrated: boolean): void {
  if ((score === 'calibrated') === calibrated) return;
  throw new ConfigError(
    calibrated
      ? `${path}: its thresholds are for raw scores, and a calibrator is in effect`
      : `${path}: its thresholds are for calibrated scores, and no calibrator is in effect`,
    {
      hint: calibrated
        ? 'write calibrator=off, or make thresholds for the calibrated scores'
        : 'name the calibrator with calibrator=<file>, or make thresholds for the raw scores',
    },
  );
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
    case 'vote':
      return VOTE_SUPPRESSION;
    case 'wbf':
      return FUSION_SUPPRESSION;
    default:
      return 'auto';
  }
}

/** @returns undefined for the calibrator that the model carries */
export function readCalibratorChoice(config: Config): CalibratorChoice | undefined {
  const word = config.text('calibrator');
  if (word === undefined) return undefined;
  return /^(off|false|no|0)$/i.test(word) ? 'off' : { file: word };
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
