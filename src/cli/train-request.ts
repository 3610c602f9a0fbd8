// The words of a `train` command line as the request that the training takes.
import { resolve } from 'node:path';
import { ConfigError } from '#core';
import type { EngineRequest, TrainRequest } from '#training';
import type { Config } from './config.ts';
import { parseDevice } from './device.ts';
import { defined } from './open.ts';
import { OPTIONS } from './options.ts';
import { environmentLibrary } from './runtime-choice.ts';
import type { OptionType } from './values.ts';

const AUGMENT_KEYS = [
  'hsv_h',
  'hsv_s',
  'hsv_v',
  'translate',
  'scale',
  'fliplr',
  'flipud',
  'mosaic',
  'dusk',
] as const;

export function readTrainRequest(config: Config): TrainRequest {
  const size = config.size('imgsz');
  const optimizer = config.text('optimizer');
  const gigabytes = config.number('cache_gb');
  return {
    data: config.required('data'),
    model: config.required('model'),
    augment: {
      ...Object.assign({}, ...AUGMENT_KEYS.map((key) => defined(key, config.number(key)))),
      ...defined('cutout', config.number('erasing')),
    },
    weights: {
      ...defined('box', config.number('box')),
      ...defined('classification', config.number('cls')),
      ...defined('boxDfl', config.number('dfl')),
      ...defined('quality', config.number('quality')),
    },
    ...defined('imageSize', size && { height: size[0], width: size[1] }),
    ...defined('preset', config.text('preset') as TrainRequest['preset']),
    ...(optimizer !== undefined && { optimizer: optimizer === 'SGD' ? 'sgd' : 'adamw' }),
    ...defined('cacheBytes', gigabytes === undefined ? undefined : gigabytes * 1e9),
    ...defined('epochs', config.number('epochs')),
    ...defined('batch', config.number('batch')),
    ...defined('patience', config.number('patience')),
    ...defined('seed', config.number('seed')),
    ...defined('lr0', config.number('lr0')),
    ...defined('lrf', config.number('lrf')),
    ...defined('momentum', config.number('momentum')),
    ...defined('weightDecay', config.number('weight_decay')),
    ...defined('warmupEpochs', config.number('warmup_epochs')),
    ...defined('singleClass', config.flag('single_cls')),
    ...defined('freeze', config.text('freeze') as TrainRequest['freeze']),
    ...defined('bins', config.number('bins')),
    ...defined('adapter', config.number('adapter')),
    ...defined('dropout', config.number('dropout')),
    ...defined('monteCarloPasses', config.number('mc_passes')),
    ...defined('freezeBox', config.flag('freeze_box')),
    ...defined('classLaw', config.text('class_law') as TrainRequest['classLaw']),
    ...defined('classLoss', config.text('class_loss')),
    ...defined('gamma', config.number('gamma')),
    ...defined('beta', config.number('beta')),
    ...defined('logitRange', config.text('logit_range') as TrainRequest['logitRange']),
    ...defined('cache', config.text('cache') as TrainRequest['cache']),
    ...defined('variants', config.number('variants')),
  };
}

/**
 * What is written beside `resume=` must be what the run was started with.
 * @param stored values by the names of the command line
 * @throws ConfigError naming the first option that differs
 */
export function expectSameOptions(config: Config, stored: Readonly<Record<string, unknown>>): void {
  const fixed = OPTIONS.filter(({ key, commands }) => commands.includes('train') && !CHANGEABLE.has(key));
  for (const { key, type } of fixed) {
    const now = givenValue(config, key, type);
    const before = stored[key];
    if (now === undefined || sameValue(key, now, before)) continue;
    throw new ConfigError(`resume: the run has ${key}=${before ?? 'not set'}, and now it is ${key}=${now}`, {
      hint: `leave ${key}= away, or start a new run with model= set to the weights/best.onnx of the old one`,
    });
  }
}

/** What may be another in a run that goes on. */
const CHANGEABLE: ReadonlySet<string> = new Set([
  'resume',
  'epochs',
  'patience',
  'engine',
  'device',
  'ort_library',
  'threads',
  'sessions',
  'tfevents',
  'cache_folder',
]);

function givenValue(config: Config, key: string, type: OptionType): unknown {
  switch (type) {
    case 'boolean':
      return config.flag(key);
    case 'number':
    case 'integer':
      return config.number(key);
    case 'size':
      return config.size(key);
    default:
      return config.text(key);
  }
}

function sameValue(key: string, now: unknown, before: unknown): boolean {
  if ((key === 'data' || key === 'model') && typeof now === 'string') {
    return now === before || resolve(now) === before;
  }
  return String(now) === String(before);
}

export function readEngineRequest(config: Config): EngineRequest {
  const engine = (config.text('engine') ?? 'auto') as EngineRequest['engine'];
  const word = config.text('device');
  const device = word === undefined ? 'auto' : parseDevice(word);
  if (engine.startsWith('tfjs') && word !== undefined) {
    throw new ConfigError(
      `device=${word} belongs to engine=onnx; tfjs engines carry their device in their name`,
      {
        hint: 'leave device= away, or write engine=onnx',
      },
    );
  }
  const library = config.text('ort_library') ?? environmentLibrary();
  return {
    engine,
    device,
    ...(engine.startsWith('tfjs') ? {} : defined('ortLibrary', library)),
    ...defined('threads', config.number('threads')),
    ...defined('workers', config.number('sessions')),
  };
}
