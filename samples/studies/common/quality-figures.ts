// The figures that every study reports: how good, and how honest before and after calibration.
import { detectionEce, localisationEce } from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { crossCalibrated, heldOutTables } from './cross-fit.ts';
import type { HeldOut } from './hold-out.ts';
import type { Figures } from './summary.ts';
import type { Column } from './table.ts';
import type { TrainedArm } from './train-arm.ts';

export const QUALITY_COLUMNS: readonly Column[] = [
  { figure: 'ap50', title: 'AP50' },
  { figure: 'ap', title: 'AP' },
  { figure: 'dEce', title: 'D-ECE' },
  { figure: 'dEcePlatt', title: 'D-ECE, Platt' },
  { figure: 'laEce0', title: 'LaECE0' },
  { figure: 'laEce0Platt', title: 'LaECE0, Platt' },
];

export const TIME_COLUMNS: readonly Column[] = [
  { figure: 'seconds', title: 's a run', digits: 0 },
  { figure: 'cpuSeconds', title: 'of CPU', digits: 0 },
];

export const SCALE_COLUMNS: readonly Column[] = [
  { figure: 'signed', title: 'score − IoU' },
  { figure: 'boxesPerPicture', title: 'boxes ≥ .01 a picture', digits: 0 },
  { figure: 'recallAt3', title: 'recall, score ≥ .3' },
  { figure: 'recallAt3Platt', title: 'the same, Platt' },
  ...TIME_COLUMNS,
];

/** Errors over as many boxes as there are objects: of the whole list, an arm with more background looks better. */
export const EQUAL_COLUMNS: readonly Column[] = [
  { figure: 'best dEce', title: 'D-ECE' },
  { figure: 'best dEcePlatt', title: 'D-ECE, Platt' },
  { figure: 'best laEce0', title: 'LaECE0' },
  { figure: 'best laEce0Platt', title: 'LaECE0, Platt' },
  { figure: 'best signed', title: 'score − IoU' },
];

/**
 * D-ECE is judged after a map fitted to hits (IoU >= .5), LaECE0 after one fitted to the IoU: no score can be both.
 * Both maps come from the other held-out camera.
 */
export function qualityFigures(trained: TrainedArm, heldOut: HeldOut): Figures {
  const { validation, predictions, seconds, cpuSeconds } = trained;
  const whole = calibrationFigures(predictions, heldOut, {});
  const best = calibrationFigures(bestBoxes(predictions, objectsIn(heldOut)), heldOut, { minScore: 0 });
  const named = Object.entries(best).map(([name, value]) => [`best ${name}`, value]);
  return {
    ap50: validation.ap50,
    ap: validation.ap,
    ...whole,
    ...Object.fromEntries(named),
    seconds,
    cpuSeconds,
  };
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
