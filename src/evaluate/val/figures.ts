// What `val` measures beyond the report: curves, confusions, LRP and the thresholds to run with.
import {
  type CalibrationRows,
  type ConfidenceCurves,
  type ConfusionMatrix,
  calibrationRows,
  confidenceCurves,
  confusionMatrix,
  type LrpSummary,
  lrpErrors,
  type OperatingPoints,
  operatingPoints,
} from '#core';
import type { EvaluationTables } from '../report.ts';

export interface ValidationFigures {
  readonly curves: ConfidenceCurves;
  readonly confusion: ConfusionMatrix;
  readonly lrp: LrpSummary;
  /** Chosen on the pictures that they are judged on: flattering. */
  readonly bestF1: OperatingPoints;
  readonly lrpOptimal: OperatingPoints;
  /** Score beside hit or miss (IoU .5), detection by detection. */
  readonly rows: CalibrationRows;
}

/** @throws DataError where the tables do not belong together */
export function validationFigures({ truth, detections, classNames }: EvaluationTables): ValidationFigures {
  const options = { classCount: classNames.length };
  return {
    curves: confidenceCurves(truth, detections, options),
    confusion: confusionMatrix(truth, detections, options),
    lrp: lrpErrors(truth, detections, options),
    bestF1: operatingPoints(truth, detections, { kind: 'best-f1' }, options),
    lrpOptimal: operatingPoints(truth, detections, { kind: 'lrp' }, options),
    rows: calibrationRows(truth, detections, { ...options, target: 'correct' }),
  };
}
