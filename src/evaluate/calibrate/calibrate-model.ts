// A model over labelled pictures to a calibrator that is bound to the model and to its suppression.
import {
  type CalibrationMap,
  type CalibrationTarget,
  type Calibrator,
  DataError,
  type StoredCalibrator,
  toFittedSuppression,
  toStoredCalibrator,
} from '#core';
import type { SplitName } from '#data/datasets';
import { loadModelFile, type OnnxModelFile, ownFormat, readMetadata } from '#onnx';
import { type ClassMatchingOptions, matchClasses } from '../class-matching.ts';
import type { PredictOptions } from '../predict.ts';
import { type ModelValidation, type ValidateContext, validateModel } from '../val/validate-model.ts';
import { type CalibrationStudy, studyCalibration } from './calibration-study.ts';
import { type ConditionRule, conditionsOf } from './conformal-conditions.ts';
import { type ConformalGoal, type ConformalStudy, studyConformal } from './conformal-study.ts';
import { type PictureFolds, type PictureGrouping, pictureFolds } from './picture-folds.ts';
import { calibratorPath } from './write-calibrator.ts';

export interface CalibrateRequest {
  /** ONNX file. */
  readonly model: string;
  /** data.yaml, COCO JSON, or the folder of a YOLO or VOC set: pictures that the evaluation of the model does not use. */
  readonly data: string;
  readonly split?: SplitName;
  /** Default beta. */
  readonly method?: CalibrationMap['kind'];
  /** Default quality. */
  readonly target?: CalibrationTarget;
  readonly grouping?: PictureGrouping;
  readonly foldCount?: number;
  /** Thresholds that promise as much, on the scale of the calibrated model. */
  readonly conformal?: ConformalGoal & {
    /** Parts the pictures: thresholds of their own for each condition. */
    readonly by?: ConditionRule;
  };
  /** Suppression as the calibrated model will be run: the calibrator holds for no other. */
  readonly predict?: Omit<PredictOptions, 'signal' | 'onPicture' | 'calibrator' | 'classes' | 'conf'>;
  readonly matching?: ClassMatchingOptions;
  /** Of the intervals. Default 200. */
  readonly resamples?: number;
  /**
   * Where the calibrator goes. Default: beside the model, `-calibrated.onnx` where it can carry one, else
   * `-calibrator.json`. The model itself is overwritten only where it is named here.
   */
  readonly out?: string;
}

export interface ModelCalibration {
  readonly file: OnnxModelFile;
  /** The model can carry the calibrator in its metadata. */
  readonly isOwn: boolean;
  /** Where `writeCalibrator` writes to. */
  readonly outPath: string;
  readonly validation: ModelValidation;
  readonly folds: PictureFolds;
  readonly study: CalibrationStudy;
  /** By class name of the model. */
  readonly stored: StoredCalibrator;
  /** Absent where it was not asked for. */
  readonly conformal?: ConformalStudy;
  /** Classes of the model that count as this one of the data. */
  readonly modelNamesOf: (className: string) => readonly string[];
}

/**
 * Predicts with raw scores, fits per class after suppression, and judges by cross-fitting.
 * @throws DataError where data cannot be read, shows no object of the model's classes, is too little for a single map
 * or for its folds, or class names differ without a map; ModelError, ConfigError as `validateModel`
 */
export async function calibrateModel(
  request: CalibrateRequest,
  context: ValidateContext = {},
): Promise<ModelCalibration> {
  const { model, data, split, matching = {}, predict = {} } = request;
  const file = await loadModelFile(model);
  const isOwn = ownFormat(readMetadata(file.model)) !== undefined;
  const outPath = await calibratorPath({ file, isOwn }, request.out);
  const validation = await validateModel(
    {
      model,
      data,
      ...(split && { split }),
      predict: { ...predict, calibrator: 'off' },
      matching,
    },
    context,
  );
  const { tables, pictures, dataset, predictions } = validation;
  const where = `${dataset.source}, split ${validation.split}`;
  expectSomething(validation, where);
  const folds = pictureFolds(
    pictures.map(({ path }) => path),
    {
      ...(request.grouping && { grouping: request.grouping }),
      ...(request.foldCount === undefined ? {} : { foldCount: request.foldCount }),
    },
  );
  const { study, calibrator } = studyCalibration(tables, folds, {
    ...request,
    comparable: validation.report.meanOver,
  });
  expectMap(study, where);
  const { modelIds } = matchClasses(dataset.classNames, predictions.classNames, matching);
  const conformal =
    request.conformal && (await conformalOf(validation, folds, { request, study, calibrator, context }));
  return {
    file,
    isOwn,
    outPath,
    validation,
    folds,
    study,
    ...(conformal && { conformal }),
    modelNamesOf: (name) =>
      predictions.classNames.filter((_, id) => tables.classNames[modelIds[id] ?? -1] === name),
    stored: toStoredCalibrator(calibratorOfModel(calibrator, modelIds), {
      classNames: predictions.classNames.filter((_, id) => (modelIds[id] ?? -1) >= 0),
      minScore: study.minScore,
      maxDets: study.maxDets,
      suppression: toFittedSuppression(validation.ranWith),
      data: {
        description: where,
        pictures: study.pictures,
        objects: study.objects,
        detections: study.detections,
      },
    }),
  };
}

async function conformalOf(
  validation: ModelValidation,
  folds: PictureFolds,
  {
    request,
    study,
    calibrator,
    context,
  }: {
    readonly request: CalibrateRequest;
    readonly study: CalibrationStudy;
    readonly calibrator: Calibrator;
    readonly context: ValidateContext;
  },
): Promise<ConformalStudy | undefined> {
  if (request.conformal === undefined) return undefined;
  const { by, ...goal } = request.conformal;
  const conditions = by && (await conditionsOf(validation, by, context.signal));
  const { minScore, maxDets, classes } = study;
  return studyConformal(validation.tables, folds, {
    ...{ goal, calibrator, minScore, maxDets },
    classNames: classes.map(({ className }) => className),
    ...(conditions && { conditions }),
  });
}

/** Several classes of the model may share the map of one class of the data. Classes without a partner keep their scores. */
function calibratorOfModel(calibrator: Calibrator, modelIds: readonly number[]): Calibrator {
  return { ...calibrator, classes: modelIds.flatMap((id) => calibrator.classes[id] ?? []) };
}

function expectSomething({ report }: ModelValidation, where: string): void {
  const { perClass } = report.averagePrecision;
  const comparable = new Set(report.meanOver.map((name) => report.classNames.indexOf(name)));
  if (!perClass.some(({ classId, objects }) => comparable.has(classId) && objects > 0)) {
    throw new DataError(
      `${where}: ${report.pictures} pictures show no object of a class that the model detects`,
      {
        hint: 'calibrate on labelled pictures with objects, and check class_map= where names differ',
      },
    );
  }
  if (report.detections === 0) {
    throw new DataError(`${where}: the model finds nothing in ${report.pictures} pictures`, {
      hint: 'check the model on one of the pictures with `edge-detect predict`, above all its preprocessing',
    });
  }
}

function expectMap({ classes, minScore }: CalibrationStudy, where: string): void {
  if (classes.some(({ map }) => map !== null)) return;
  const reasons = classes.map(({ className, whyKept }) => `${className}: ${whyKept}`);
  throw new DataError(
    `${where}: no class has what a map needs, among detections with a score of ${minScore} or more: ${reasons.slice(0, 6).join('; ')}`,
    { hint: 'label more pictures, or count all classes as one with single_cls=True' },
  );
}
