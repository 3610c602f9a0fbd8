// The words of a `compare` command line as the request that the comparison takes.
import { join } from 'node:path';
import { ConfigError, createRandom, deriveSeed, UsageError } from '#core';
import { type CompareClipsRequest, type CompareRequest, isClip, parseZone, type SliceRule } from '#evaluate';
import type { Config } from './config.ts';
import { readClassMatching, readPredictOptions } from './evaluate-request.ts';
import { defined } from './open.ts';

/** @throws UsageError, ConfigError for words that are missing, contradict each other or have no effect */
export async function readCompareRequest(
  config: Config,
  folder: () => Promise<string>,
): Promise<CompareRequest | CompareClipsRequest> {
  const model = config.required('model');
  const clips = readClips(config);
  refuseWithoutEffect(config, clips !== undefined);
  const pictures = readPictures(config);
  const matching = readClassMatching(config);
  if (pictures.kind === 'pictures' && Object.keys(matching).length > 0) {
    throw new ConfigError('class_map= and single_cls= need labels, and source= has none', {
      hint: 'compare labelled sets with data=, or leave them away',
    });
  }
  const options = {
    ...matching,
    ...defined('threshold', config.number('at')),
    ...defined('resamples', config.number('resamples')),
    ...defined('seed', config.number('seed')),
  };
  const common = {
    model,
    predict: readPredictOptions(config),
    ...defined('reference', config.text('reference')),
  };
  if (clips !== undefined) {
    return {
      ...common,
      clips,
      options: { ...options, timeBlocks: defined('seconds', config.number('block_seconds')) },
      ...defined('pairs', config.text('pairs') as 'time' | undefined),
      ...defined('stride', config.number('vid_stride')),
    };
  }
  return {
    ...common,
    pictures,
    options,
    ...defined('slices', config.list('slices')),
    rule: await readRule(config, folder),
  };
}

/** Undefined where `source=` names no video. */
function readClips(config: Config): CompareClipsRequest['clips'] | undefined {
  const source = config.text('source');
  if (source === undefined || config.text('data') !== undefined || !isClip(source)) return undefined;
  const against = config.text('against');
  const other = RULE_KEYS.find((key) => key !== 'against' && config.text(key) !== undefined);
  if (against !== undefined && other === undefined) return [source, against];
  throw new ConfigError(`source=${source} is a video, and a video is compared with another`, {
    hint:
      other === undefined
        ? 'write against=OTHER.mp4'
        : `write against=OTHER.mp4 and leave ${other}= away: it parts pictures`,
  });
}

function readPictures(config: Config): CompareRequest['pictures'] {
  const [data, source] = [config.text('data'), config.text('source')];
  if (data !== undefined && source !== undefined) {
    throw new UsageError('data= and source= are both given', {
      hint: 'data= names a labelled set, source= a folder of pictures or a video without labels',
    });
  }
  if (source !== undefined) return { kind: 'pictures', path: source };
  return {
    kind: 'dataset',
    path: data ?? config.required('data'),
    ...defined('split', config.text('split') as 'train' | 'val' | 'test' | undefined),
  };
}

const RULE_KEYS = ['by', 'against', 'simulate'] as const;

async function readRule(config: Config, folder: () => Promise<string>): Promise<SliceRule> {
  const given = RULE_KEYS.filter((key) => config.text(key) !== undefined);
  if (given.length !== 1) {
    throw new UsageError(
      given.length === 0
        ? 'compare needs to know what to compare'
        : `${given.join('= and ')}= are both given: one of them parts the pictures`,
      {
        hint: 'write by=TABLE.csv:COLUMN, by=light, by=sun, against=OTHER or simulate=dusk',
      },
    );
  }
  const against = config.text('against');
  if (against !== undefined) {
    return { kind: 'against', other: { ...readPictures(config), path: against } };
  }
  return config.text('simulate') === undefined
    ? readColumnOrLight(config, config.required('by'))
    : readSimulation(config, join(await folder(), 'dusk'));
}

function readColumnOrLight(config: Config, by: string): SliceRule {
  if (by === 'light') return { kind: 'light' };
  if (by === 'sun') return readSun(config);
  const at = by.lastIndexOf(':');
  const [table, column] = [by.slice(0, at), by.slice(at + 1)];
  if (at > 0 && column !== '') return { kind: 'column', table, column };
  throw new ConfigError(`by=${by}: neither TABLE.csv:COLUMN, light nor sun`, {
    hint: 'write by=frames.csv:period, by=light or by=sun',
  });
}

function readSun(config: Config): SliceRule {
  const [latitude, longitude] = ['lat', 'lon'].map((key) => {
    const degrees = config.number(key);
    if (degrees !== undefined) return degrees;
    throw new ConfigError(`by=sun needs ${key}=`, {
      hint: 'give the place of the cameras: lat=1.35 lon=103.82 timezone=+08:00',
    });
  }) as [number, number];
  const zone = config.text('timezone');
  if (zone === undefined) {
    throw new ConfigError('by=sun needs timezone=: file names do not say in which zone their clock is', {
      hint: 'write timezone=+08:00, or timezone=Z for UTC',
    });
  }
  return { kind: 'sun', latitude, longitude, zoneSeconds: parseZone(zone) };
}

/** The dusk of the training's augmentation: drawn anew for each picture, the same for the same seed. */
async function readSimulation(config: Config, folder: string): Promise<SliceRule> {
  const { createDuskPainter, drawDusk } = await import('#training');
  const [strength, seed] = [config.number('strength') ?? 0.5, config.number('seed') ?? 0];
  const painter = createDuskPainter();
  return {
    kind: 'simulate',
    name: 'dusk',
    folder,
    render(pixels, { width, height }, place) {
      const random = createRandom(deriveSeed(seed, place));
      const dusk = drawDusk(random, strength, width);
      const region = { x1: 0, y1: 0, x2: width, y2: height };
      painter.paint({ pixels, width, height }, region, dusk, random.integer(2 ** 32));
    },
  };
}

/** Words that act only beside another: without it they would be ignored. */
function refuseWithoutEffect(config: Config, clips: boolean): void {
  const sun = config.text('by') === 'sun';
  const needs: Readonly<Record<string, readonly [acts: boolean, beside: string]>> = {
    lat: [sun, 'by=sun'],
    lon: [sun, 'by=sun'],
    timezone: [sun, 'by=sun'],
    strength: [config.text('simulate') !== undefined, 'simulate=dusk'],
    split: [config.text('data') !== undefined, 'data='],
    pairs: [clips, 'two videos'],
    block_seconds: [clips, 'two videos'],
    vid_stride: [clips, 'two videos'],
    slices: [!clips, 'three slices or more'],
  };
  for (const [key, [acts, beside]] of Object.entries(needs)) {
    if (acts || (config.text(key) ?? config.number(key)) === undefined) continue;
    throw new ConfigError(`${key}= has no effect here: it acts with ${beside}`, {
      hint: `add ${beside}, or leave ${key}= away`,
    });
  }
}
