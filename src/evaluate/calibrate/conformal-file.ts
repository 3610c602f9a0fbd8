// Conformal thresholds as the file that `stream` and `predict` load: for the model that `calibrate` writes.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { formatThresholdsFile, LIGHT_LADDER, type ThresholdsFile } from '#core';
import { writeWholeFile } from '#runtime';
import { pictureLadder } from '../compare/comparison-thresholds.ts';
import type { ModelCalibration } from './calibrate-model.ts';
import type { ConformalVerdict } from './conformal-study.ts';
import { calibratorContent } from './write-calibrator.ts';

/**
 * Writes `thresholds.json` where all classes together have a promise.
 * @returns its path, or why there is none; undefined where no conformal thresholds were asked for
 * @throws DataError where it cannot be written
 */
export async function writeConformal(
  calibration: ModelCalibration,
  folder: string,
): Promise<{ readonly path: string } | { readonly why: string } | undefined> {
  const { conformal } = calibration;
  if (conformal === undefined) return undefined;
  const file = conformalFile(calibration);
  if (file === undefined) {
    const [all] = conformal.verdicts;
    return { why: `nothing can be promised of all classes together: ${all?.why ?? 'there are none'}` };
  }
  const path = join(folder, 'thresholds.json');
  await writeWholeFile(path, formatThresholdsFile(file, path));
  return { path };
}

/** `*` is the threshold of all classes together; classes and conditions without a promise of their own are left out. */
export function conformalFile(calibration: ModelCalibration): ThresholdsFile | undefined {
  const { conformal, validation, file, isOwn } = calibration;
  const table = (slice: string | null) => tableOf(calibration, slice);
  if (conformal === undefined || table(null)['*'] === undefined) return undefined;
  const { ranWith } = validation;
  const { target, alpha, delta, iou, slices, slicedBy } = conformal;
  const conditions = slices.map((slice) => [slice, table(slice)] as const);
  return {
    version: 1,
    // A model that carries its calibrator is another file than the one that was measured.
    modelSha256: isOwn
      ? createHash('sha256').update(calibratorContent(calibration)).digest('hex')
      : file.sha256,
    score: 'calibrated',
    suppression: { ...ranWith.suppression, iou: ranWith.iou, agnostic: ranWith.agnostic },
    conformal: { target, alpha, iou, ...(delta === undefined ? {} : { delta }) },
    classes: table(null),
    conditions: Object.fromEntries(conditions.filter(([, own]) => Object.keys(own).length > 0)),
    cameras: {},
    ...(slicedBy === 'light' && { hysteresis: pictureLadder(LIGHT_LADDER) }),
  };
}

function tableOf(
  { conformal, modelNamesOf }: ModelCalibration,
  slice: string | null,
): Readonly<Record<string, number>> {
  const own = (conformal?.verdicts ?? []).filter((verdict) => verdict.slice === slice);
  const named = ({ className }: ConformalVerdict) => (className === null ? ['*'] : modelNamesOf(className));
  return Object.fromEntries(
    own.flatMap((verdict) =>
      verdict.threshold === null ? [] : named(verdict).map((name) => [name, verdict.threshold ?? 0] as const),
    ),
  );
}
