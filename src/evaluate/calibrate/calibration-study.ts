// Fits a calibrator to tables, and judges it where it was not fitted: raw beside calibrated, class by class.
import {
  type CalibrationMap,
  type CalibrationTarget,
  type Calibrator,
  calibrateDetections,
  calibrateScore,
  calibrationRows,
  crossCalibrate,
  crossFitRows,
  type DetectionTable,
  evaluateDetections,
  fitCalibratorToRows,
  type TruthTable,
} from '#core';
import {
  type SameBoxFigures,
  type ScoreFigures,
  sameBoxFigures,
  scoreFigures,
} from './calibration-figures.ts';
import { type ErrorIntervals, errorIntervals } from './calibration-intervals.ts';
import { keepRows } from './detection-rows.ts';
import type { PictureFolds } from './picture-folds.ts';

const CALIBRATION_DEFAULTS = {
  method: 'beta',
  target: 'quality',
  minScore: 0.01,
  maxDets: 100,
} as const;

export interface StudyOptions {
  /** Form of the maps. Default beta. */
  readonly method?: CalibrationMap['kind'];
  /** Default quality. */
  readonly target?: CalibrationTarget;
  /** Of the interval. Default 200. */
  readonly resamples?: number;
  /** Names of the classes that are told of. Default: all that have objects or detections. */
  readonly comparable?: readonly string[];
}

/** Raw beside calibrated, each box by maps that never saw its fold. */
export interface CrossFitFigures {
  readonly raw: ScoreFigures;
  readonly calibrated: ScoreFigures;
  readonly sameBoxes: { readonly raw: SameBoxFigures; readonly calibrated: SameBoxFigures };
  readonly intervals: ErrorIntervals;
}

export interface ClassStudy {
  readonly className: string;
  readonly objects: number;
  /** Detections that the map was fitted on. */
  readonly samples: number;
  readonly map: CalibrationMap | null;
  /** Why scores stay as they are. */
  readonly whyKept?: string;
  /** Parts that were held out from too little to fit a map: their scores stayed raw in the figures. */
  readonly foldsWithoutMap: number;
  /** LaECE0 of the class, cross-fitted. */
  readonly laEce0: Pair;
  /** D-ECE within the class, cross-fitted. */
  readonly dEce: Pair;
  readonly ap: Pair;
  readonly ap50: Pair;
  /** What raw scores of .25, .5 and .75 become. */
  readonly becomes: readonly number[];
}

interface Pair {
  readonly raw: number | null;
  readonly calibrated: number | null;
}

export interface CalibrationStudy {
  readonly method: CalibrationMap['kind'];
  readonly target: CalibrationTarget;
  readonly minScore: number;
  readonly maxDets: number;
  readonly pictures: number;
  readonly objects: number;
  readonly detections: number;
  readonly crossFit: CrossFitFigures;
  readonly averagePrecision: {
    /** Largest change of a class's AP by the maps: 0, but for ties that they make or part. */
    readonly largestChange: number;
    /** The same where boxes below `minScore`, which are not reported any more, are taken away. */
    readonly largestChangeWithoutTail: number;
  };
  /** Classes with objects or detections, by class id. */
  readonly classes: readonly ClassStudy[];
}

/**
 * @param classNames by class id of the tables
 * @returns the calibrator fitted on all pictures, and what cross-fitting says of it
 */
export function studyCalibration(
  { truth, detections, classNames }: CalibrationTables,
  folds: PictureFolds,
  options: StudyOptions = {},
): { readonly study: CalibrationStudy; readonly calibrator: Calibrator } {
  const { method, target, minScore, maxDets } = { ...CALIBRATION_DEFAULTS, ...options };
  const { comparable = classNames } = options;
  const classCount = classNames.length;
  const rows = calibrationRows(truth, detections, { classCount, target, minScore, maxDets });
  const calibrator = fitCalibratorToRows(rows, { kind: method });
  const mapped = [...classNames.keys()].filter((id) => calibrator.classes[id]?.map);
  const held = crossCalibrate(truth, detections, {
    classCount,
    target,
    kind: method,
    minScore,
    maxDets,
    folds: folds.folds,
  });
  const figures = { classCount, mapped, maxDets };
  const crossFit = {
    raw: scoreFigures(truth, detections, figures),
    calibrated: scoreFigures(truth, held.detections, figures),
    sameBoxes: {
      raw: sameBoxFigures(rows, rows.scores),
      calibrated: sameBoxFigures(rows, crossFitRows(rows, folds.folds, { kind: method }).scores),
    },
    intervals: errorIntervals(truth, { raw: detections, calibrated: held.detections }, folds, {
      ...figures,
      ...(options.resamples === undefined ? {} : { resamples: options.resamples }),
    }),
  };
  const precision = precisionOfMaps(truth, detections, calibrator, { minScore, maxDets });
  const withoutMap = classNames.map(
    (_, id) => held.calibrators.filter(({ classes: own }) => !own[id]?.map).length,
  );
  const classes = classStudies(classNames, calibrator, crossFit, precision).map((one, id) => ({
    ...one,
    foldsWithoutMap: withoutMap[id] ?? 0,
  }));
  return {
    calibrator,
    study: {
      method,
      target,
      minScore,
      maxDets,
      pictures: truth.starts.length - 1,
      objects: classes.reduce((sum, { objects }) => sum + objects, 0),
      detections: rows.scores.length,
      crossFit,
      averagePrecision: precision.change,
      classes: classes.filter(
        ({ className, objects, samples }) => comparable.includes(className) && objects + samples > 0,
      ),
    },
  };
}

export interface CalibrationTables {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  readonly classNames: readonly string[];
}

type Precision = ReturnType<typeof precisionOfMaps>;

function precisionOfMaps(
  truth: TruthTable,
  detections: DetectionTable,
  calibrator: Calibrator,
  { minScore, maxDets }: { readonly minScore: number; readonly maxDets: number },
) {
  const classCount = calibrator.classes.length;
  const measure = (table: DetectionTable) =>
    evaluateDetections(truth, table, { classCount, maxDets }).perClass;
  const raw = measure(detections);
  const whole = measure(calibrateDetections(detections, calibrator));
  const reported = measure(calibrateDetections(reportedRows(detections, calibrator, minScore), calibrator));
  const largest = (after: typeof raw) =>
    after.reduce((most, { ap }, id) => Math.max(most, Math.abs((ap ?? 0) - (raw[id]?.ap ?? 0))), 0);
  return {
    raw,
    reported,
    change: { largestChange: largest(whole), largestChangeWithoutTail: largest(reported) },
  };
}

/** What a detector with this calibrator reports: nothing of a mapped class below what its map was fitted on. */
export function reportedRows(
  table: DetectionTable,
  { classes }: Calibrator,
  minScore: number,
): DetectionTable {
  return keepRows(table, ({ classId, score }) => score >= minScore || !classes[classId]?.map);
}

const SHOWN_SCORES = [0.25, 0.5, 0.75] as const;

function classStudies(
  classNames: readonly string[],
  { classes }: Calibrator,
  { raw, calibrated }: CrossFitFigures,
  { raw: rawAp, reported }: Precision,
): Omit<ClassStudy, 'foldsWithoutMap'>[] {
  return classes.map((entry, id) => {
    const pair = (of: (figures: ScoreFigures) => number | null | undefined): Pair => ({
      raw: of(raw) ?? null,
      calibrated: of(calibrated) ?? null,
    });
    return {
      className: classNames[id] ?? String(id),
      objects: rawAp[id]?.objects ?? 0,
      samples: entry.samples,
      map: entry.map,
      ...(entry.map === null && { whyKept: entry.whyKept }),
      laEce0: pair(({ quality }) => quality.laEce.perClass[id]),
      dEce: pair(({ dEce }) => dEce.classWise.perClass[id]),
      ap: { raw: rawAp[id]?.ap ?? null, calibrated: reported[id]?.ap ?? null },
      ap50: { raw: rawAp[id]?.ap50 ?? null, calibrated: reported[id]?.ap50 ?? null },
      becomes: SHOWN_SCORES.map((score) => (entry.map === null ? score : calibrateScore(entry.map, score))),
    };
  });
}
