// The words of `val predictions=`: saved detections instead of a model.
import { ConfigError } from '#core';
import type { TextBox, TextScore } from '#data/datasets';
import { type ValidateDetectionsRequest, validateDetections } from '#evaluate';
import { readNames } from '#runtime';
import type { Config } from './config.ts';
import { readClassMatching } from './evaluate-request.ts';
import { defined } from './open.ts';

/** They say how a model is run; none is. */
const OF_A_RUN: readonly string[] = [
  ...[
    'imgsz',
    'conf',
    'iou',
    'max_det',
    'agnostic_nms',
    'nms',
    'calibrator',
    'device',
    'threads',
    'sessions',
  ],
];
const OF_DETECTIONS: readonly string[] = ['predictions_box', 'predictions_score', 'names'];

/**
 * @returns whether detections are judged rather than a model
 * @throws ConfigError where both or neither are named, or an option belongs to the other
 */
export function judgesDetections(config: Config): boolean {
  const [model, predictions] = [config.text('model'), config.text('predictions')];
  if ((model === undefined) === (predictions === undefined)) {
    const both = model === undefined ? '' : ', not both';
    throw new ConfigError(`val takes one of model= or predictions=${both}`, {
      hint: 'write edge-detect val model=yolo.onnx data=data.yaml, or predictions=results.json data=data.yaml',
    });
  }
  const isSaved = predictions !== undefined;
  const odd = (isSaved ? OF_A_RUN : OF_DETECTIONS).find((key) => config.text(key) !== undefined);
  if (odd === undefined) return isSaved;
  throw new ConfigError(
    isSaved
      ? `${odd}= says how a model is run, and predictions= runs none`
      : `${odd}= goes with predictions=`,
    { hint: isSaved ? `leave ${odd}= out; the scores are taken as they were saved` : `leave ${odd}= out` },
  );
}

export async function validateSaved(config: Config) {
  const names = config.text('names');
  const request: ValidateDetectionsRequest = {
    predictions: config.required('predictions'),
    data: config.required('data'),
    ...defined('split', config.text('split') as ValidateDetectionsRequest['split']),
    form: {
      ...defined('box', config.text('predictions_box') as TextBox | undefined),
      ...defined('score', config.text('predictions_score') as TextScore | undefined),
      ...defined('classNames', names === undefined ? undefined : await readNames(names)),
    },
    matching: readClassMatching(config),
  };
  return validateDetections(request);
}
