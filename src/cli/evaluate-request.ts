// The words of `val`, `calibrate` and `compare` that say which model is judged, on what, and how classes are named.
import { ConfigError, type SuppressionPolicy } from '#core';
import type { ClassMatchingOptions, PredictOptions } from '#evaluate';
import type { Config } from './config.ts';
import { parseDevice } from './device.ts';
import { defined } from './open.ts';
import { readCalibratorChoice, readSuppression } from './policies.ts';
import { readRuntimeChoice } from './runtime-choice.ts';

export function readPredictOptions(config: Config): PredictOptions {
  const size = config.size('imgsz');
  const device = parseDevice(config.text('device') ?? 'cpu');
  if (device === 'auto') {
    throw new ConfigError('device=auto: figures are measured on a device that is named', {
      hint: 'write device=cpu or device=0',
    });
  }
  const suppression: SuppressionPolicy | 'auto' = readSuppression(config);
  return {
    provider: device,
    ...readRuntimeChoice(config, device),
    suppression,
    ...defined('threads', config.number('threads')),
    ...defined('sessions', config.number('sessions')),
    ...defined('imageSize', size && { height: size[0], width: size[1] }),
    ...defined('conf', config.number('conf')),
    ...defined('iou', config.number('iou')),
    ...defined('maxDet', config.number('max_det')),
    ...defined('agnostic', config.flag('agnostic_nms')),
    ...defined('calibrator', readCalibratorChoice(config)),
  };
}

/** `class_map=truck:lorry,bus:bus` and `single_cls=True`. */
export function readClassMatching(config: Config): ClassMatchingOptions {
  const pairs = config.list('class_map');
  return {
    ...(pairs && { classMap: Object.fromEntries(pairs.map(readPair)) }),
    ...(config.flag('single_cls') === true && { singleClass: true }),
  };
}

function readPair(word: string): [string, string] {
  const [from = '', to = '', ...rest] = word.split(':').map((name) => name.trim());
  if (from !== '' && to !== '' && rest.length === 0) return [from, to];
  throw new ConfigError(`class_map: '${word}' is not model-class:data-class`, {
    hint: 'write class_map=truck:lorry,bus:bus',
  });
}
