// The detector as a whole: do its boxes rank well, and do their scores mean the IoU that they meet?
import {
  type Calibrator,
  calibrateDetections,
  type DetectionTable,
  detectionEce,
  fitCalibrator,
  localisationEce,
  type TruthTable,
} from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { evaluatePredictions, evaluationTables, type PicturePrediction } from 'edge-detect/evaluate';
import { LEAST_RAW_SCORE } from '../common/cross-fit.ts';
import { bestBoxes } from '../common/quality-figures.ts';
import type { Figures } from '../common/seeded-tables.ts';

export interface Boxes {
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
  readonly predictions: readonly PicturePrediction[];
}

/** Raw scores of .01 or more: calibrators are fitted to these, and judged by these. */
function aboveLeast({ predictions, ...rest }: Boxes): Boxes {
  return {
    ...rest,
    predictions: predictions.map(({ detections, size }) => ({
      detections: detections.filter(({ score }) => score >= LEAST_RAW_SCORE),
      size,
    })),
  };
}

function tablesOf({ classNames, pictures, predictions }: Boxes) {
  return evaluationTables({ classNames, pictures }, { classNames, pictures: predictions });
}

/** Platt maps per class, to the expected IoU. Classes with too few boxes keep their scores. */
export function plattMaps(boxes: Boxes): Calibrator {
  const { truth, detections } = tablesOf(aboveLeast(boxes));
  return fitCalibrator(truth, detections, {
    classCount: boxes.classNames.length,
    kind: 'platt',
    target: 'quality',
  });
}

/** @param calibrator its maps act on the scores that errors are measured of; ranks stay those of the raw scores */
export function boxFigures(boxes: Boxes, calibrator?: Calibrator): Figures {
  const { classNames, pictures, predictions } = boxes;
  const { averagePrecision } = evaluatePredictions(
    { classNames, pictures },
    { classNames, pictures: predictions },
    { resamples: 0 },
  );
  const objects = pictures.flatMap((picture) =>
    picture.objects.filter(({ crowd, difficult }) => !crowd && !difficult),
  );
  const best = bestBoxes({ classNames, pictures: predictions }, objects.length);
  const mapped = (some: Boxes) => {
    const { truth, detections } = tablesOf(some);
    return { truth, detections: calibrator ? calibrateDetections(detections, calibrator) : detections };
  };
  const whole = errorsOf(mapped(aboveLeast(boxes)), classNames.length);
  const few = errorsOf(mapped({ ...boxes, predictions: best.pictures }), classNames.length);
  return {
    ap50: averagePrecision.ap50 ?? null,
    ap: averagePrecision.ap ?? null,
    laEce0: whole.laEce0,
    'score - IoU': whole.signed,
    dEce: whole.dEce,
    'laEce0 best': few.laEce0,
    'score - IoU best': few.signed,
  };
}

function errorsOf(
  { truth, detections }: { readonly truth: TruthTable; readonly detections: DetectionTable },
  classCount: number,
) {
  const localised = localisationEce(truth, detections, { classCount, minScore: 0 });
  const detected = detectionEce(truth, detections, { classCount });
  return {
    laEce0: localised.laEce.mean,
    signed: localised.signed,
    dEce: detected.measured?.error ?? null,
  };
}
