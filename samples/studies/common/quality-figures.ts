// The figures that every study reports: how good, and how honest before and after calibration.
import { detectionEce, localisationEce } from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { crossCalibrated, heldOutTables } from './cross-fit.ts';
import type { HeldOut } from './hold-out.ts';
import type { Figures } from './seeded-tables.ts';
import type { TrainedArm } from './train-arm.ts';

/**
 * D-ECE is judged after a map fitted to hits (IoU >= .5), LaECE0 after one fitted to the IoU: no score can be both.
 * Both maps come from the other held-out camera.
 */
export function qualityFigures({ validation, predictions }: TrainedArm, heldOut: HeldOut): Figures {
  return { ap50: validation.ap50, ap: validation.ap, ...calibrationFigures(predictions, heldOut, {}) };
}

/** The same over as many boxes as there are objects: of the whole list, an arm with more background looks better. */
export function bestFigures({ predictions }: TrainedArm, heldOut: HeldOut): Figures {
  return calibrationFigures(bestBoxes(predictions, objectsIn(heldOut)), heldOut, { minScore: 0 });
}

function calibrationFigures(
  predictions: Predictions,
  heldOut: HeldOut,
  least: { readonly minScore?: number },
): Figures {
  const options = { classCount: heldOut.classNames.length, ...least };
  const raw = heldOutTables(heldOut, predictions);
  const correct = crossCalibrated(heldOut, predictions, 'correct');
  const quality = crossCalibrated(heldOut, predictions, 'quality');
  const dEce = detectionEce(raw.truth, raw.detections, options);
  const dEcePlatt = detectionEce(correct.truth, correct.detections, options);
  const laEce = localisationEce(raw.truth, raw.detections, options);
  const laEcePlatt = localisationEce(quality.truth, quality.detections, { ...options, minScore: 0 });
  return {
    dEce: dEce.measured?.error ?? null,
    dEcePlatt: dEcePlatt.measured?.error ?? null,
    laEce0: laEce.laEce.mean,
    laEce0Platt: laEcePlatt.laEce.mean,
    signed: laEce.signed,
    boxesPerPicture: laEce.count / heldOut.pictures.length,
    recallAt3: dEce.recall,
    recallAt3Platt: dEcePlatt.recall,
  };
}

function objectsIn({ pictures }: HeldOut): number {
  const counts = pictures.map(({ objects }) =>
    objects.filter(({ crowd, difficult }) => !crowd && !difficult),
  );
  return counts.flat().length;
}

/** The `count` boxes with the highest scores of all pictures together; at equal scores the earlier picture's. */
export function bestBoxes({ classNames, pictures }: Predictions, count: number): Predictions {
  const all = pictures.flatMap(({ detections }) => detections);
  const best = new Set([...all].sort((a, b) => b.score - a.score).slice(0, count));
  return {
    classNames,
    pictures: pictures.map(({ detections, size }) => ({
      detections: detections.filter((detection) => best.has(detection)),
      size,
    })),
  };
}
