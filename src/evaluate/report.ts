// One evaluation as one plain value: how good, how honest, and whether the variance says something.
import type {
  AveragePrecision,
  DetectionEce,
  DetectionTable,
  LocalisationEce,
  TruthTable,
  VarianceCheck,
} from '#core';
import {
  ConfigError,
  checkVariance,
  detectionEce,
  evaluateDetections,
  localisationEce,
  TRUTH_KIND,
} from '#core';
import type { LabelledPicture } from '#data/datasets';
import { type ClassMatchingOptions, matchClasses } from './class-matching.ts';
import { detectionTable, type PicturePrediction, truthTable } from './tables.ts';

export interface EvaluationOptions {
  /** Most detections per picture and class that count. Default 100, as COCO has it. */
  readonly maxDets?: number;
  /** Names of the classes over which means are taken. Default: all that the model can name. */
  readonly meanOver?: readonly string[];
  /** Least score in D-ECE. Default .3. */
  readonly correctScore?: number;
  /** Least score in LaECE0, LaACE0 and the check of the variance. Default .01. */
  readonly qualityScore?: number;
  /** Judge the variance beyond the floor that this many bins force. */
  readonly excessOverBins?: number;
  /** Resamples of the interval of the partial correlation. Default 1000. */
  readonly resamples?: number;
  readonly seed?: number;
}

/** Plain data: what a file of results holds. Null stands for "nothing to measure". */
export interface EvaluationReport {
  readonly version: 1;
  readonly pictures: number;
  /** Without crowd regions and difficult objects. */
  readonly objects: number;
  readonly detections: number;
  readonly classNames: readonly string[];
  /** Over which means are taken, where they have objects. */
  readonly meanOver: readonly string[];
  /** COCO's protocol for boxes; `trapezoidAp` is that of YOLOv5 to YOLO11. */
  readonly averagePrecision: AveragePrecision;
  readonly calibration: {
    readonly dEce: DetectionEce;
    /** LaECE0 and LaACE0. */
    readonly quality: LocalisationEce;
  };
  /** Null where the model states no variance, or on too few detections. */
  readonly variance: VarianceCheck | null;
}

/** Tables with the names of their classes. */
export interface EvaluationTables {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  readonly classNames: readonly string[];
}

/** @throws DataError where the tables do not belong together or a score is not finite, ConfigError for an unknown class */
export function evaluateTables(
  { truth, detections, classNames }: EvaluationTables,
  options: EvaluationOptions = {},
): EvaluationReport {
  const { maxDets = 100, meanOver = classNames, correctScore, qualityScore, resamples, seed } = options;
  const common = { classCount: classNames.length, maxDets };
  const above = (minScore: number | undefined) => (minScore === undefined ? {} : { minScore });
  const averaged = meanOver.map((name) => {
    const id = classNames.indexOf(name);
    if (id >= 0) return id;
    throw new ConfigError(
      `a mean over "${name}" is asked for, but the classes are ${classNames.join(', ')}`,
      {
        hint: 'name classes of the data set',
      },
    );
  });
  const variance = checkVariance(truth, detections, {
    ...common,
    ...above(qualityScore),
    ...(options.excessOverBins === undefined ? {} : { excessOverBins: options.excessOverBins }),
    ...(resamples === undefined ? {} : { resamples }),
    ...(seed === undefined ? {} : { seed }),
  });
  return {
    version: 1,
    pictures: truth.starts.length - 1,
    objects: truth.kinds.reduce((count, kind) => count + (kind === TRUTH_KIND.object ? 1 : 0), 0),
    detections: detections.scores.length,
    classNames,
    meanOver: averaged.flatMap((id) => classNames[id] ?? []),
    averagePrecision: evaluateDetections(truth, detections, { ...common, meanOver: averaged }),
    calibration: {
      dEce: detectionEce(truth, detections, { ...common, ...above(correctScore) }),
      quality: localisationEce(truth, detections, { ...common, ...above(qualityScore) }),
    },
    variance: variance ?? null,
  };
}

/** What a model found in a split, picture by picture, in the order of the split. */
export interface Predictions {
  readonly classNames: readonly string[];
  readonly pictures: readonly PicturePrediction[];
}

/** The pictures of a split and the names of their classes. */
export interface LabelledSplit {
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
}

/**
 * The tables of a split and of what a model found in it, classes matched by name.
 * @throws DataError where a picture has no prediction or the class names differ; ConfigError where the class map names
 * a class that is not there
 */
export function evaluationTables(
  split: LabelledSplit,
  predictions: Predictions,
  matching: ClassMatchingOptions = {},
): EvaluationTables & { readonly comparable: readonly string[] } {
  const { classNames, truthIds, modelIds, comparable } = matchClasses(
    split.classNames,
    predictions.classNames,
    matching,
  );
  const sizes = predictions.pictures.map(({ size }) => size);
  return {
    classNames,
    truth: truthTable(split.pictures, sizes, truthIds),
    detections: detectionTable(predictions.pictures, modelIds),
    comparable: comparable.flatMap((id) => classNames[id] ?? []),
  };
}

/**
 * Judges what a model found in a split.
 * @throws DataError, ConfigError as `evaluationTables` and `evaluateTables`
 * @example
 * const predictions = await predictDataset('yolox_nano.onnx', pictures);
 * const { averagePrecision } = evaluatePredictions({ classNames, pictures }, predictions, {
 *   classMap: { car: 'car', truck: 'lorry_truck' },
 * });
 */
export function evaluatePredictions(
  split: LabelledSplit,
  predictions: Predictions,
  options: EvaluationOptions & ClassMatchingOptions = {},
): EvaluationReport {
  const { comparable, ...tables } = evaluationTables(split, predictions, options);
  return evaluateTables(tables, { meanOver: comparable, ...options });
}
