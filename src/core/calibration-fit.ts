// Calibrators of detectors: one monotone map per class, fitted on matched detections after suppression.
import { fitIsotonic } from './calibration-isotonic.ts';
import { fitBeta, fitPlatt, fitTemperature } from './calibration-logistic.ts';
import type { CalibrationMap } from './calibration-map.ts';
import type { CalibrationRows, CalibrationRowsOptions, CalibrationTarget } from './calibration-rows.ts';
import { calibrationRows, rowsByClass } from './calibration-rows.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';

/** What was made of one class. */
export type ClassCalibration =
  | { readonly map: CalibrationMap; readonly samples: number }
  /** Scores stay as they are; `whyKept` says why, in words for the user. */
  | { readonly map: null; readonly samples: number; readonly whyKept: string };

/** Plain data. */
export interface Calibrator {
  readonly kind: CalibrationMap['kind'];
  readonly target: CalibrationTarget;
  /** Per class, with the detections that it was fitted on. */
  readonly classes: readonly ClassCalibration[];
}

export interface MapOptions {
  readonly kind: CalibrationMap['kind'];
  /** Fewest detections of a class that make a map. Default 20. */
  readonly minSamples?: number;
}

/** Levels of an isotonic map keep this share of the raw score: enough for the order, too little to see. */
const TIE_TILT = 1e-6;

/** Fit on data that evaluation does not use. */
export function fitCalibrator(
  truth: TruthTable,
  detections: DetectionTable,
  options: CalibrationRowsOptions & MapOptions,
): Calibrator {
  return fitCalibratorToRows(calibrationRows(truth, detections, options), options);
}

/** One map per class, each on the rows of its class. */
export function fitCalibratorToRows(rows: CalibrationRows, options: MapOptions): Calibrator {
  const classes = rowsByClass(rows).map((own) => fitClass(own, options));
  return { kind: options.kind, target: rows.target, classes };
}

function fitClass(
  { scores, targets }: CalibrationRows,
  { kind, minSamples = 20 }: MapOptions,
): ClassCalibration {
  const samples = scores.length;
  const kept = (whyKept: string): ClassCalibration => ({ map: null, samples, whyKept });
  if (samples < minSamples || samples === 0) {
    return kept(`${samples} detections, a map needs ${Math.max(1, minSamples)}`);
  }
  if (targets.every((target) => target === 0)) return kept(`none of ${samples} detections found an object`);
  if (targets.every((target) => target === 1)) return kept(`all ${samples} detections are right`);
  const map = fitMap(kind, scores, targets);
  return map === undefined
    ? kept(`what came true does not rise with the score of ${samples} detections: no temperature fits`)
    : { map, samples };
}

function fitMap(
  kind: CalibrationMap['kind'],
  scores: Float64Array,
  targets: Float64Array,
): CalibrationMap | undefined {
  switch (kind) {
    case 'platt':
      return fitPlatt(scores, targets);
    case 'temperature':
      return fitTemperature(scores, targets);
    case 'beta':
      return fitBeta(scores, targets);
    case 'isotonic': {
      const map = fitIsotonic(scores, targets);
      return map && { ...map, tilt: TIE_TILT };
    }
    default:
      return kind satisfies never;
  }
}
