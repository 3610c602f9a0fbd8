// Calibrators of detectors: one monotone map per class, fitted on matched detections after suppression.
import { ANY_OVERLAP, aboveScore, countedRows } from './calibration-detection.ts';
import type { CalibrationMap } from './calibration-map.ts';
import { calibrateScore, calibrationSlope, fitIsotonic, fitPlatt } from './calibration-map.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { matchDetections } from './matching.ts';

/**
 * What a calibrated score means: `quality`, the IoU to expect, 0 for a false alarm (judged by LaECE0); `correct`, the
 * probability of IoU >= .5 (judged by D-ECE). The two cannot both be right at once.
 */
export type CalibrationTarget = 'quality' | 'correct';

/** Plain data. */
export interface Calibrator {
  readonly target: CalibrationTarget;
  /** Per class; null where there was too little to fit: scores stay as they are. */
  readonly maps: readonly (CalibrationMap | null)[];
  /** Detections that each map was fitted on. */
  readonly samples: readonly number[];
}

export interface CalibratorOptions {
  readonly classCount: number;
  readonly kind: CalibrationMap['kind'];
  readonly target: CalibrationTarget;
  /** Detections below are not fitted on. Default .01. */
  readonly minScore?: number;
  readonly maxDets?: number;
  /** Fewest detections of a class that make a map. Default 20. */
  readonly minSamples?: number;
}

const CORRECT_IOU = 0.5;

/** Fit on data that evaluation does not use. */
export function fitCalibrator(
  truth: TruthTable,
  detections: DetectionTable,
  options: CalibratorOptions,
): Calibrator {
  const { classCount, kind, target, minScore = 0.01, maxDets = 100, minSamples = 20 } = options;
  const kept = aboveScore(detections, minScore);
  const iou = target === 'quality' ? ANY_OVERLAP : CORRECT_IOU;
  const matches = matchDetections(truth, kept, { classCount, iou, maxDets });
  const rows = countedRows(kept, matches);
  const fits = Array.from({ length: classCount }, (_, classId) => {
    const own = rows.filter((row) => kept.classIds[row] === classId);
    const scores = Float64Array.from(own, (row) => kept.scores[row]!);
    const targets = Float64Array.from(own, (row) =>
      target === 'quality' ? matches.ious[row]! : Number(matches.objects[row]! >= 0),
    );
    if (own.length < minSamples) return { map: null, samples: own.length };
    const map = kind === 'platt' ? fitPlatt(scores, targets) : fitIsotonic(scores, targets);
    return { map: map ?? null, samples: own.length };
  });
  return { target, maps: fits.map(({ map }) => map), samples: fits.map(({ samples }) => samples) };
}

/**
 * Scores through the map of their class; variances follow with the square of its slope, within what a law on [0, 1]
 * allows. The order of the detections stays that of the table.
 */
export function calibrateDetections(detections: DetectionTable, { maps }: Calibrator): DetectionTable {
  const { classIds, scoreVariances } = detections;
  const mapOf = (row: number) => maps[classIds[row]!] ?? undefined;
  const scores = detections.scores.map((score, row) => {
    const map = mapOf(row);
    return map === undefined ? score : calibrateScore(map, score);
  });
  const variances = scoreVariances?.map((variance, row) => {
    const map = mapOf(row);
    if (map === undefined) return variance;
    const slope = calibrationSlope(map, detections.scores[row]!);
    return Math.min(scores[row]! * (1 - scores[row]!), slope * slope * variance);
  });
  return { ...detections, scores, ...(variances && { scoreVariances: variances }) };
}
