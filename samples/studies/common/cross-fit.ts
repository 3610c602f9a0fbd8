// Calibration that is never judged by the data it was fitted on: a map from one held-out camera, used on the other.
import {
  type CalibrationTarget,
  type Calibrator,
  calibrateDetections,
  type DetectionTable,
  fitCalibrator,
} from 'edge-detect/core';
import { nameGroup } from 'edge-detect/data';
import { type EvaluationTables, evaluationTables, type Predictions } from 'edge-detect/evaluate';
import type { HeldOut } from './hold-out.ts';

/** Tables of all held-out pictures. */
export function heldOutTables({ classNames, pictures }: HeldOut, predictions: Predictions): EvaluationTables {
  return evaluationTables({ classNames, pictures }, predictions);
}

/** Raw scores below take no part in maps and in LaECE0, before calibration and after: both judge the same boxes. */
export const LEAST_RAW_SCORE = 0.01;

/**
 * The detections with a raw score of .01 or more, every score through the per-class Platt map of the other camera. The
 * tables keep all pictures.
 */
export function crossCalibrated(
  heldOut: HeldOut,
  all: Predictions,
  target: CalibrationTarget,
): EvaluationTables {
  const predictions = aboveLeast(all);
  const whole = heldOutTables(heldOut, predictions);
  const [first, second] = heldOut.groups.map((group) => fitOn(group, heldOut, predictions, target));
  const isFirst = heldOut.pictures.map((picture) => nameGroup(picture) === heldOut.groups[0]);
  const byFirst = calibrateDetections(whole.detections, first!);
  const bySecond = calibrateDetections(whole.detections, second!);
  return { ...whole, detections: pickPictures(isFirst, bySecond, byFirst) };
}

function aboveLeast({ classNames, pictures }: Predictions): Predictions {
  return {
    classNames,
    pictures: pictures.map(({ detections, size }) => ({
      detections: detections.filter(({ score }) => score >= LEAST_RAW_SCORE),
      size,
    })),
  };
}

function fitOn(
  group: string,
  { classNames, pictures }: HeldOut,
  predictions: Predictions,
  target: CalibrationTarget,
): Calibrator {
  const places = pictures.flatMap((picture, place) => (nameGroup(picture) === group ? [place] : []));
  const own = evaluationTables(
    { classNames, pictures: places.map((place) => pictures[place]!) },
    { classNames, pictures: places.map((place) => predictions.pictures[place]!) },
  );
  return fitCalibrator(own.truth, own.detections, { classCount: classNames.length, kind: 'platt', target });
}

/** Two tables of the same detections as one: by picture from `yes` or from `no`. */
function pickPictures(choice: readonly boolean[], yes: DetectionTable, no: DetectionTable): DetectionTable {
  const { starts, scoreVariances } = yes;
  const scores = yes.scores.slice();
  const variances = scoreVariances?.slice();
  choice.forEach((isYes, picture) => {
    if (isYes) return;
    const [from, to] = [starts[picture]!, starts[picture + 1]!];
    scores.set(no.scores.subarray(from, to), from);
    if (no.scoreVariances !== undefined) variances?.set(no.scoreVariances.subarray(from, to), from);
  });
  return { ...yes, scores, ...(variances && { scoreVariances: variances }) };
}
