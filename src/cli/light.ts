// The light of a stream as a command line asks for it: how it is measured, and which thresholds follow it.
import { readFile } from 'node:fs/promises';
import {
  ConfigError,
  LIGHT_LADDER,
  type LightLadder,
  type LightPolicy,
  parseThresholdsFile,
  type ThresholdsFile,
  toLightPolicy,
} from '#core';
import {
  type DetectionsOptions,
  type FrameSource,
  followSun,
  type OpenDetector,
  parseZonedTime,
  type SunFollowing,
} from '#runtime';
import type { Config } from './config.ts';
import { defined } from './open.ts';
import { say } from './output.ts';

type LightOptions = NonNullable<DetectionsOptions['light']>;

/**
 * @returns undefined where `light=` is not given
 * @throws ConfigError for contradicting or missing keys, or a thresholds file that does not fit the measurement
 */
export async function readLight(
  config: Config,
  source: FrameSource,
  detector: OpenDetector,
): Promise<LightOptions | undefined> {
  const kind = config.text('light');
  refuseWithoutEffect(config, kind);
  if (kind === undefined) return undefined;
  const file = await readThresholds(config);
  const sun = kind === 'sun' ? await readSun(config, source) : undefined;
  const general = sun?.ladder ?? LIGHT_LADDER;
  const options: LightOptions = {
    ...(file === undefined ? { ladder: general } : followFile(file, general, config, detector.classNames)),
    ...defined('measure', sun?.measure),
    ...defined('everySeconds', config.number('light_every')),
  };
  if (file === undefined) say(`light=${kind}: said, but thresholds do not follow it; see thresholds=`);
  return options;
}

const ACTS_WITH: Readonly<Record<string, readonly string[]>> = {
  light_every: ['auto', 'sun'],
  lat: ['sun'],
  lon: ['sun'],
  start_time: ['sun'],
};

function refuseWithoutEffect(config: Config, kind: string | undefined): void {
  for (const [key, kinds] of Object.entries(ACTS_WITH)) {
    const given = config.text(key) ?? config.number(key);
    if (given === undefined || (kind !== undefined && kinds.includes(kind))) continue;
    throw new ConfigError(`${key}= has no effect here: it acts with light=${kinds.join(' or light=')}`, {
      hint: `add what it needs, or leave ${key}= away`,
    });
  }
  if (kind !== undefined && config.text('condition') !== undefined) {
    throw new ConfigError(`condition= fixes what light=${kind} would find out`, {
      hint: 'give one or the other',
    });
  }
}

/** Read again: that it can be read and belongs to the model was found when the model was opened. */
async function readThresholds(config: Config): Promise<ThresholdsFile | undefined> {
  const path = config.text('thresholds');
  return path === undefined ? undefined : parseThresholdsFile(await readFile(path, 'utf8'), path);
}

/** Ladder and thresholds: those of the file, and where it has no ladder for this measurement the general one. */
function followFile(
  file: ThresholdsFile,
  general: LightLadder,
  config: Config,
  classNames: readonly string[],
): { readonly ladder: LightLadder; readonly policy: LightPolicy } {
  const own = file.hysteresis;
  const fits = own !== undefined && (own.measure ?? 'picture') === measureOf(config);
  const ladder = fits ? own : general;
  if (!fits) expectStates(file, ladder, config);
  const choice = { classNames, ...defined('camera', config.text('camera')) };
  const found = toLightPolicy({ ...file, hysteresis: ladderOf(ladder) }, choice);
  if (found === undefined) throw new Error('a thresholds file with a ladder gives a policy');
  return found;
}

function measureOf(config: Config): 'picture' | 'sun' {
  return config.text('light') === 'sun' ? 'sun' : 'picture';
}

/** As the file's format has it: writable arrays. */
function ladderOf({ states, boundaries, margin, holdSeconds }: LightLadder) {
  return { states: [...states], boundaries: [...boundaries], margin, holdSeconds };
}

function expectStates(
  { conditions, cameras }: ThresholdsFile,
  { states }: LightLadder,
  config: Config,
): void {
  const groups = [conditions, ...Object.values(cameras).map((camera) => camera.conditions)];
  const names = groups.flatMap((group) => Object.keys(group));
  const stray = names.find((name) => !states.includes(name));
  if (stray === undefined && names.length > 0) return;
  const path = config.required('thresholds');
  throw new ConfigError(
    stray === undefined
      ? `${path} has no conditions, so nothing would follow the light`
      : `${path}: condition '${stray}' is none of the states that light=${config.text('light')} tells apart (${states.join(', ')})`,
    {
      hint: `name conditions so, or add 'hysteresis' with measure '${measureOf(config)}', its states and boundaries`,
    },
  );
}

async function readSun(config: Config, source: FrameSource): Promise<SunFollowing> {
  const [latitude, longitude] = ['lat', 'lon'].map((key) => {
    const degrees = config.number(key);
    if (degrees !== undefined) return degrees;
    throw new ConfigError(`light=sun needs ${key}=`, {
      hint: 'give the place of the camera: lat=1.35 lon=103.82',
    });
  }) as [number, number];
  const startMs = readStart(config, source);
  return followSun({ latitude, longitude, ...defined('startMs', startMs) });
}

/** @returns ms since 1970 of the first frame, or undefined for a camera, whose frames are of now */
function readStart(config: Config, source: FrameSource): number | undefined {
  const text = config.text('start_time');
  if (source.kind === 'live') {
    if (text === undefined) return undefined;
    throw new ConfigError('start_time= has no effect here: the frames of a camera are of now', {
      hint: 'leave start_time= away',
    });
  }
  if (source.kind === 'pictures') {
    throw new ConfigError('light=sun needs a video or a camera: still pictures have no time', {
      hint: 'use light=auto, which measures the pictures themselves',
    });
  }
  if (text === undefined) {
    throw new ConfigError('light=sun needs start_time= for a video: when it begins', {
      hint: 'write start_time=2021-03-20T18:30:00+08:00, with the zone of the camera',
    });
  }
  const startMs = parseZonedTime(text);
  if (startMs !== undefined) return startMs;
  throw new ConfigError(`start_time=${text} is no time with a zone`, {
    hint: 'write start_time=2021-03-20T18:30:00+08:00',
  });
}
