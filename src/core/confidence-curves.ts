// Precision, recall and F1 of each class over the threshold, and precision over recall: what the habitual four plots show.
import { type ClassRows, type ClassRowsOptions, rowsPerClass } from './class-rows.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { bestF1, cocoPrecisionInto, type OperatingPoint, thresholdCurves } from './precision-recall.ts';

/** Thresholds 0 to 1, both included. */
const POINTS = 1000;
const RECALLS = 101;

export interface ConfidenceCurvesOptions extends Omit<ClassRowsOptions, 'iou'> {
  /** Default .5. */
  readonly iou?: number;
  /** Classes of which the means are taken. Default: all. Those without an object are left out in any case. */
  readonly meanOver?: readonly number[];
}

export interface ConfidenceCurve {
  /** Float64[1000] over `thresholds`, with every box of this score or more; 1 where nothing is kept. */
  readonly precision: Float64Array;
  /** Float64[1000]. */
  readonly recall: Float64Array;
  /** Float64[1000], 2 · hits / (kept + objects); of the mean curve: the mean of the classes. */
  readonly f1: Float64Array;
  /** Float64[101], COCO's envelope at recalls 0, .01, … 1. */
  readonly precisionAtRecall: Float64Array;
  /** Where F1 is highest, at the score of a detection (of the mean: at one of `thresholds`); null where nothing was found. */
  readonly bestF1: OperatingPoint | null;
}

export interface ClassConfidenceCurve extends ConfidenceCurve {
  readonly classId: number;
  readonly objects: number;
}

export interface ConfidenceCurves {
  /** Float64[1000], i / 999. */
  readonly thresholds: Float64Array;
  /** Classes with objects. */
  readonly perClass: readonly ClassConfidenceCurve[];
  /** Plain mean of the classes under one threshold for all; null without an object. */
  readonly mean: ConfidenceCurve | null;
  readonly iou: number;
}

/**
 * At one IoU, on COCO's matching.
 * @throws DataError as `rowsPerClass`
 */
export function confidenceCurves(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, iou = 0.5, maxDets = 100, meanOver }: ConfidenceCurvesOptions,
): ConfidenceCurves {
  const thresholds = Float64Array.from({ length: POINTS }, (_, index) => index / (POINTS - 1));
  const perClass = rowsPerClass(truth, detections, { classCount, iou, maxDets })
    .filter(({ positives }) => positives > 0)
    .map((rows) => classCurve(rows, thresholds));
  const averaged = perClass.filter(({ classId }) => meanOver === undefined || meanOver.includes(classId));
  return { thresholds, perClass, mean: meanCurve(averaged, thresholds), iou };
}

function classCurve(rows: ClassRows, thresholds: Float64Array): ClassConfidenceCurve {
  const precisionAtRecall = new Float64Array(RECALLS);
  cocoPrecisionInto(precisionAtRecall, rows);
  return {
    classId: rows.classId,
    objects: rows.positives,
    ...thresholdCurves(rows, rows.scores, thresholds),
    precisionAtRecall,
    bestF1: bestF1(rows, rows.scores) ?? null,
  };
}

function meanCurve(
  curves: readonly ClassConfidenceCurve[],
  thresholds: Float64Array,
): ConfidenceCurve | null {
  const [first] = curves;
  if (first === undefined) return null;
  const mean = (read: (curve: ClassConfidenceCurve) => Float64Array) =>
    read(first).map(
      (_, index) => curves.reduce((sum, curve) => sum + read(curve)[index]!, 0) / curves.length,
    );
  const [precision, recall] = [mean((curve) => curve.precision), mean((curve) => curve.recall)];
  const f1 = mean((curve) => curve.f1);
  const best = f1.indexOf(Math.max(...f1));
  const point = {
    threshold: thresholds[best]!,
    precision: precision[best]!,
    recall: recall[best]!,
    f1: f1[best]!,
  };
  return {
    precision,
    recall,
    f1,
    precisionAtRecall: mean((curve) => curve.precisionAtRecall),
    bestF1: point.f1 > 0 ? point : null,
  };
}
