// What a calibrator is fitted on and judged by: one row per detection, its score beside what it should have been.
import { ANY_OVERLAP, countedRows, placesByClass } from './calibration-detection.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow } from './match-groups.ts';
import { matchDetections } from './matching.ts';

/**
 * What a calibrated score means: `quality`, the IoU to expect, 0 for a false alarm (judged by LaECE0); `correct`, the
 * probability of IoU >= .5 (judged by D-ECE). The two cannot both be right at once.
 */
export type CalibrationTarget = 'quality' | 'correct';

export const CALIBRATION_TARGETS = ['quality', 'correct'] as const;

/** Least IoU of a match, per target. */
const TARGET_IOU = { quality: ANY_OVERLAP, correct: 0.5 } as const;

/** Detections that count, struct of arrays. */
export interface CalibrationRows {
  readonly target: CalibrationTarget;
  readonly classCount: number;
  /** Float64[M], in [0, 1]. */
  readonly scores: Float64Array;
  /** Float64[M]: IoU with the matched object or 0; 1 or 0 for `correct`. */
  readonly targets: Float64Array;
  /** Int32[M]. */
  readonly classIds: Int32Array;
  /** Int32[M]. */
  readonly pictures: Int32Array;
}

export interface CalibrationRowsOptions {
  readonly classCount: number;
  readonly target: CalibrationTarget;
  /** Detections below are left out. Default .01. */
  readonly minScore?: number;
  /** Per picture and class. Default 100. */
  readonly maxDets?: number;
}

/** After suppression. Detections on crowds and of classes without objects are left out. */
export function calibrationRows(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, target, minScore = 0.01, maxDets = 100 }: CalibrationRowsOptions,
): CalibrationRows {
  const matches = matchDetections(truth, detections, { classCount, iou: TARGET_IOU[target], maxDets });
  // Matching runs by falling score: what lies below the cut took no object from what lies above.
  const rows = countedRows(detections, matches).filter((row) => detections.scores[row]! >= minScore);
  const pictures = pictureOfRow(detections.starts);
  return {
    target,
    classCount,
    scores: Float64Array.from(rows, (row) => detections.scores[row]!),
    targets: Float64Array.from(rows, (row) =>
      target === 'quality' ? matches.ious[row]! : Number(matches.objects[row]! >= 0),
    ),
    classIds: rows.map((row) => detections.classIds[row]!),
    pictures: rows.map((row) => pictures[row]!),
  };
}

/** The rows for which `keep` holds, in their order. */
export function rowsWhere(rows: CalibrationRows, keep: (row: number) => boolean): CalibrationRows {
  return pickRows(rows, Int32Array.from(rows.scores.keys()).filter(keep));
}

/** The rows of each class, in their order. */
export function rowsByClass(rows: CalibrationRows): CalibrationRows[] {
  const all = Int32Array.from(rows.classIds.keys());
  return placesByClass(rows.classIds, all, rows.classCount).map((places) => pickRows(rows, places));
}

function pickRows(rows: CalibrationRows, places: Int32Array): CalibrationRows {
  return {
    ...rows,
    scores: Float64Array.from(places, (place) => rows.scores[place]!),
    targets: Float64Array.from(places, (place) => rows.targets[place]!),
    classIds: places.map((place) => rows.classIds[place]!),
    pictures: places.map((place) => rows.pictures[place]!),
  };
}
