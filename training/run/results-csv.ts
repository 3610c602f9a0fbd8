// results.csv as scripts of the field parse it: the habitual columns first, ours after them.
import type { EpochEvent } from '../loop.ts';

type Column = readonly [name: string, value: (event: EpochEvent, secondsInAll: number) => number | undefined];

const COLUMNS: readonly Column[] = [
  ['epoch', ({ epoch }) => epoch + 1],
  ['time', (_, seconds) => seconds],
  ['train/box_loss', ({ train }) => train.box],
  ['train/cls_loss', ({ train }) => train.classification],
  ['train/dfl_loss', ({ train }) => train.boxDfl],
  ['metrics/precision(B)', ({ validation }) => validation?.precision],
  ['metrics/recall(B)', ({ validation }) => validation?.recall],
  ['metrics/mAP50(B)', ({ validation }) => validation?.ap50],
  ['metrics/mAP50-95(B)', ({ validation }) => validation?.ap],
  ['val/box_loss', ({ validation }) => validation?.terms.box],
  ['val/cls_loss', ({ validation }) => validation?.terms.classification],
  ['val/dfl_loss', ({ validation }) => validation?.terms.boxDfl],
  ['lr/pg0', ({ learningRate }) => learningRate],
  ['lr/pg1', ({ learningRate }) => learningRate],
  ['lr/pg2', ({ learningRate }) => learningRate],
  ['train/quality_loss', ({ train }) => train.quality],
  ['val/quality_loss', ({ validation }) => validation?.terms.quality],
  ['train/logit_range_loss', ({ train }) => train.logitRange],
  ['train/brier_weight', ({ train }) => train.meanWeight],
  ['train/positives', ({ train }) => train.positives],
  ['metrics/D-ECE', ({ validation }) => validation?.dEce],
  ['metrics/LaECE0', ({ validation }) => validation?.laEce0],
  ['metrics/score_std', ({ validation }) => validation?.meanScoreStd],
  ['skipped_steps', ({ skippedSteps }) => skippedSteps],
];

/** One line of column names. */
export function resultsHeader(): string {
  return COLUMNS.map(([name]) => name).join(',');
}

/** Values by column; one that is missing or not finite is absent. @param secondsInAll since the run began */
export function resultsRow(event: EpochEvent, secondsInAll: number): Record<string, number> {
  const row: Record<string, number> = {};
  for (const [name, value] of COLUMNS) {
    const number = value(event, secondsInAll);
    if (number !== undefined && Number.isFinite(number)) row[name] = number;
  }
  return row;
}

/** A row as text; what is missing is an empty field, never a bare NaN. */
export function resultsLine(row: Readonly<Record<string, number>>): string {
  return COLUMNS.map(([name]) => {
    const value = row[name];
    if (value === undefined) return '';
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  }).join(',');
}
