// Cross-fitting: every picture is calibrated by a calibrator that never saw its group (its camera, its clip), so that
// one small labelled set can both fit and judge. Pictures of one camera are too alike for random halves.
import { mapDetections } from './calibration-apply.ts';
import type { Calibrator, MapOptions } from './calibration-fit.ts';
import { fitCalibratorToRows } from './calibration-fit.ts';
import { calibrateScore } from './calibration-map.ts';
import type { CalibrationRows, CalibrationRowsOptions } from './calibration-rows.ts';
import { calibrationRows, rowsWhere } from './calibration-rows.ts';
import { DataError } from './errors.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow } from './match-groups.ts';

/**
 * Puts whole groups into folds of about as many pictures each: the largest group first, each into the fold with the
 * fewest so far. As many folds as groups leaves one group out at a time.
 * @param groups name of the group of each picture
 * @param foldCount at most the number of groups; without, one per group
 * @returns Int32[N], fold of each picture, from 0
 * @throws DataError where there are fewer than two groups or folds, or fewer groups than folds
 */
export function foldsOfGroups(groups: readonly string[], foldCount?: number): Int32Array {
  const sizes = new Map<string, number>();
  for (const group of groups) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const folds = foldCount ?? sizes.size;
  if (sizes.size < 2 || folds < 2 || folds > sizes.size) {
    throw new DataError(
      `cross-fitting in ${folds} folds needs 2 folds or more and a group for each, found ${sizes.size} groups`,
      { hint: 'group the pictures by camera or clip, or fit on one data set and judge on another' },
    );
  }
  const filled = new Array<number>(folds).fill(0);
  const foldOf = new Map<string, number>();
  // Map keeps the order of appearance, and sort is stable: equal sizes stay in it.
  for (const [group, size] of [...sizes].sort(([, a], [, b]) => b - a)) {
    const fold = filled.indexOf(Math.min(...filled));
    foldOf.set(group, fold);
    filled[fold]! += size;
  }
  return Int32Array.from(groups, (group) => foldOf.get(group)!);
}

export interface CrossFit {
  /** Per fold, fitted on all others. */
  readonly calibrators: readonly Calibrator[];
  /** Float64[M]: each row through the calibrator of its fold. */
  readonly scores: Float64Array;
}

/** @param folds Int32[pictures], from 0 */
export function crossFitRows(rows: CalibrationRows, folds: Int32Array, options: MapOptions): CrossFit {
  const foldOfRow = rows.pictures.map((picture) => folds[picture]!);
  const calibrators = Array.from({ length: foldCountOf(folds) }, (_, fold) =>
    fitCalibratorToRows(
      rowsWhere(rows, (row) => foldOfRow[row] !== fold),
      options,
    ),
  );
  const scores = rows.scores.map((score, row) => {
    const map = calibrators[foldOfRow[row]!]!.classes[rows.classIds[row]!]!.map;
    return map === null ? score : calibrateScore(map, score);
  });
  return { calibrators, scores };
}

/**
 * The same for whole tables: all detections calibrated, each by the calibrator that did not see its fold.
 * @param folds Int32[pictures], from 0
 */
export function crossCalibrate(
  truth: TruthTable,
  detections: DetectionTable,
  options: CalibrationRowsOptions & MapOptions & { readonly folds: Int32Array },
): { readonly detections: DetectionTable; readonly calibrators: readonly Calibrator[] } {
  const { folds } = options;
  const { calibrators } = crossFitRows(calibrationRows(truth, detections, options), folds, options);
  const foldOfRow = pictureOfRow(detections.starts).map((picture) => folds[picture]!);
  const mapOf = (row: number) =>
    calibrators[foldOfRow[row]!]!.classes[detections.classIds[row]!]?.map ?? null;
  return { calibrators, detections: mapDetections(detections, mapOf) };
}

function foldCountOf(folds: Int32Array): number {
  return folds.reduce((most, fold) => Math.max(most, fold), -1) + 1;
}
