// Intervals of the two errors that a calibrator is judged by, and of what it changes: whole cameras are drawn.
import { bootstrapFigures, type DetectionTable, drawnCalibration, type Figure, type TruthTable } from '#core';
import { keepRows } from './detection-rows.ts';
import type { PictureFolds } from './picture-folds.ts';

/** Raw, calibrated, and calibrated − raw of the same draw: below 0 is an improvement. */
export interface ErrorInterval {
  readonly raw: Figure;
  readonly calibrated: Figure;
  readonly change: Figure;
}

export interface ErrorIntervals {
  readonly dEce: ErrorInterval;
  readonly laEce0: ErrorInterval;
  /** LaECE0 over the classes that got a map. */
  readonly laEce0OfMapped: ErrorInterval;
  readonly drawn: 'camera' | 'picture';
  readonly resamples: number;
}

const RESAMPLES = 200;

export function errorIntervals(
  truth: TruthTable,
  { raw, calibrated }: { readonly raw: DetectionTable; readonly calibrated: DetectionTable },
  { groups, groupCount, groupedBy }: PictureFolds,
  options: {
    readonly classCount: number;
    readonly mapped: readonly number[];
    readonly maxDets: number;
    readonly resamples?: number;
  },
): ErrorIntervals {
  const { resamples = RESAMPLES, mapped } = options;
  const drawnOf = (table: DetectionTable) => ({
    all: drawnCalibration(truth, table, options),
    mapped: drawnCalibration(
      truth,
      keepRows(table, ({ classId }) => mapped.includes(classId)),
      options,
    ),
  });
  const [before, after] = [drawnOf(raw), drawnOf(calibrated)];
  const pictureCounts = new Int32Array(groups.length);
  const figures = bootstrapFigures(
    groupCount,
    [{ key: 'calibration', groups: [...Array(groupCount).keys()] }],
    (counts) => {
      for (const [picture, group] of groups.entries()) pictureCounts[picture] = counts[group] ?? 0;
      const dEce = [before.all.dEce(pictureCounts), after.all.dEce(pictureCounts)] as const;
      const laEce0 = [before.all.laEce0(pictureCounts), after.all.laEce0(pictureCounts)] as const;
      const own = [before.mapped.laEce0(pictureCounts), after.mapped.laEce0(pictureCounts)] as const;
      return {
        dEceRaw: dEce[0],
        dEceCalibrated: dEce[1],
        dEceChange: changeOf(dEce),
        laEce0Raw: laEce0[0],
        laEce0Calibrated: laEce0[1],
        laEce0Change: changeOf(laEce0),
        mappedRaw: own[0],
        mappedCalibrated: own[1],
        mappedChange: changeOf(own),
      };
    },
    { resamples },
  );
  return {
    dEce: { raw: figures.dEceRaw, calibrated: figures.dEceCalibrated, change: figures.dEceChange },
    laEce0: { raw: figures.laEce0Raw, calibrated: figures.laEce0Calibrated, change: figures.laEce0Change },
    laEce0OfMapped: {
      raw: figures.mappedRaw,
      calibrated: figures.mappedCalibrated,
      change: figures.mappedChange,
    },
    drawn: groupedBy,
    resamples,
  };
}

function changeOf([raw, calibrated]: readonly [number | undefined, number | undefined]): number | undefined {
  return raw === undefined || calibrated === undefined ? undefined : calibrated - raw;
}
