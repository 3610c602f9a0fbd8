// Runs a detector over the pictures of a data set, with the low score threshold that evaluation needs.
import type { SuppressionPolicy } from '#core';
import { ConfigError, nearest } from '#core';
import type { LabelledPicture } from '#data/datasets';
import {
  type Detector,
  detectPicture,
  type ModelOptions,
  type OpenDetector,
  openDetector,
  type Placement,
} from '#runtime';
import type { ClassMatchingOptions } from './class-matching.ts';
import type { Predictions } from './report.ts';
import type { PicturePrediction } from './tables.ts';

/** How the model is read and where it runs: handed on to the detector. */
const MODEL_KEYS = [
  'provider',
  'ortLibrary',
  'providerOptions',
  'onNote',
  'threads',
  'imageSize',
  'calibrator',
  'layout',
  'preprocess',
  'classNames',
] as const satisfies readonly (keyof ModelOptions)[];

export interface PredictOptions extends Pick<ModelOptions, (typeof MODEL_KEYS)[number]> {
  /** Scores below are not reported. Default .001: AP needs the tail. */
  readonly conf?: number;
  /** IoU above which a box suppresses another. Default: the calibrator's, else .7. */
  readonly iou?: number;
  /** Most detections per picture. Default 300. */
  readonly maxDet?: number;
  /** Boxes of different classes suppress each other: for counting several classes as one. Default: the calibrator's, else false. */
  readonly agnostic?: boolean;
  /** Names of the classes to report. Default: all. */
  readonly classes?: readonly string[];
  /** Default `auto`: as `stream` runs the model. */
  readonly suppression?: SuppressionPolicy | 'auto';
  /** Inferences side by side. Default 2. */
  readonly sessions?: number;
  readonly signal?: AbortSignal;
  /** Told before the first picture; what it throws ends the run. */
  readonly onOpened?: (detector: OpenDetector) => void;
  readonly onPicture?: (done: number, total: number) => void;
}

/** What made the detections: figures, calibrators and thresholds hold for this alone. */
export interface RanWith {
  /** As the caller named the file. */
  readonly path: string;
  readonly modelSha256: string;
  readonly score: 'raw' | 'calibrated';
  readonly suppression: SuppressionPolicy;
  readonly iou: number;
  readonly agnostic: boolean;
  /** Provider in effect, and what is known of it. */
  readonly device: string;
  readonly runtime?: string;
  readonly placement?: Placement;
}

/** What `predictDataset` runs with unless told otherwise. */
export const PREDICT_DEFAULTS = { conf: 0.001, maxDet: 300, sessions: 2 } as const;

/**
 * @param model path of an ONNX file
 * @param pictures in any number; only `path` is read
 * @returns one prediction per picture, in order, and what made them
 * @throws ModelError where the file is no detector known here, DataError where a picture cannot be read, ConfigError
 * where `classes` names a class that the model lacks, the signal's reason
 */
export async function predictDataset(
  model: string,
  pictures: readonly Pick<LabelledPicture, 'path'>[],
  options: PredictOptions = {},
): Promise<Predictions & { readonly ranWith: RanWith }> {
  const detector = await openPredictor(model, options);
  try {
    const predictions: PicturePrediction[] = [];
    for await (const prediction of predictPictures(detector, pictures, options.signal)) {
      predictions.push(prediction);
      options.onPicture?.(predictions.length, pictures.length);
    }
    const { classNames } = detector;
    return { classNames, pictures: predictions, ranWith: describeRun(model, detector) };
  } finally {
    await detector.close();
  }
}

/** The detector that predicts; the caller closes it. */
export async function openPredictor(model: string, options: PredictOptions): Promise<OpenDetector> {
  const { conf, maxDet, sessions } = { ...PREDICT_DEFAULTS, ...options };
  const { iou, agnostic, suppression = 'auto', classes } = options;
  const detector = await openDetector(
    model,
    {
      ...modelOptions(options),
      sessions,
      maxDet,
      suppression,
      // A calibrator brings its own: what is not asked for must not contradict it.
      ...(iou === undefined ? {} : { iou }),
      ...(agnostic === undefined ? {} : { agnostic }),
      threshold: { kind: 'fixed', base: conf },
    },
    ({ classNames }) => (classes === undefined ? {} : { classes: idsOf(classes, classNames, model) }),
  );
  try {
    options.onOpened?.(detector);
  } catch (error) {
    await detector.close();
    throw error;
  }
  return detector;
}

export function describeRun(path: string, detector: OpenDetector): RanWith {
  const { model, suppression, iou, agnostic, provider, runtime, placement } = detector;
  return {
    path,
    modelSha256: model.file.sha256,
    score: model.calibrator === undefined ? 'raw' : 'calibrated',
    suppression,
    iou,
    agnostic,
    device: provider,
    ...(runtime !== undefined && { runtime }),
    ...(placement && { placement }),
  };
}

/** Classes that the map leaves out would only take the places of others among the `maxDet` best. */
export function classesOf({ classMap, singleClass }: ClassMatchingOptions): PredictOptions {
  return {
    ...(classMap && { classes: Object.keys(classMap) }),
    ...(singleClass === true && { agnostic: true }),
  };
}

/** Reads ahead by one picture, so that decoding and inference overlap. */
export async function* predictPictures(
  detector: Detector,
  pictures: readonly Pick<LabelledPicture, 'path'>[],
  signal?: AbortSignal,
): AsyncGenerator<PicturePrediction, void, void> {
  const underWay: Promise<PicturePrediction>[] = [];
  let next = 0;
  try {
    while (next < pictures.length || underWay.length > 0) {
      signal?.throwIfAborted();
      for (; next < pictures.length && underWay.length <= detector.sessions; next++) {
        const started = predictOne(detector, pictures[next]?.path ?? '');
        // An error is thrown when its turn comes; until then it is not unhandled.
        started.catch(() => undefined);
        underWay.push(started);
      }
      const first = underWay.shift();
      if (first !== undefined) yield await first;
    }
  } finally {
    await Promise.allSettled(underWay);
  }
}

async function predictOne(detector: Detector, path: string): Promise<PicturePrediction> {
  const { detections, size } = await detectPicture(detector, path);
  return { detections, size };
}

function modelOptions(options: PredictOptions): ModelOptions {
  return Object.fromEntries(
    MODEL_KEYS.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])),
  );
}

function idsOf(names: readonly string[], known: readonly string[], model: string): number[] {
  return names.map((name) => {
    const id = known.indexOf(name);
    if (id >= 0) return id;
    const near = nearest(name, known);
    throw new ConfigError(`${model} has no class "${name}"`, {
      hint:
        near === undefined ? `it has ${known.length} classes; inspect lists them` : `did you mean "${near}"?`,
    });
  });
}
