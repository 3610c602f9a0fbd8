// What may be concluded of figures with intervals: a difference counts where its 95 % interval leaves out 0.
import type { StudyRow, StudyVerdict } from './study-file.ts';

export type Interval = Pick<StudyRow, 'mean' | 'low' | 'high' | 'values'>;

/** One seed says nothing: its interval is the value itself. */
export const isSure = ({ values, low, high }: Interval) =>
  low !== high || values.filter((value) => value !== null).length > 1;

export const isAbove = (interval: Interval, limit = 0) =>
  isSure(interval) && interval.low !== null && interval.low > limit;

export const isBelow = (interval: Interval, limit = 0) =>
  isSure(interval) && interval.high !== null && interval.high < limit;

export type Graded = StudyVerdict['verdict'];

/** undefined: it could not be measured, and takes no part. */
export type Vote = boolean | undefined;

/** @param on what the votes rest on: without an interval of each of them there is no verdict */
export function graded(votes: readonly Vote[], on: readonly Interval[] = []): Graded {
  const known = votes.filter((vote) => vote !== undefined);
  if (known.length === 0 || !on.every(isSure)) return 'not measured';
  if (known.every(Boolean)) return 'holds';
  return known.some(Boolean) ? 'holds in part' : 'does not hold';
}

export function gradedBy(intervals: readonly Interval[], isSo: (interval: Interval) => boolean): Graded {
  return graded(
    intervals.map((interval) => isSo(interval)),
    intervals,
  );
}

/** `+.012 (−.003 to +.027)` */
export function shown({ mean, low, high }: Interval, digits = 3): string {
  if (mean === null || low === null || high === null) return '–';
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${short(value, digits)}`;
  return low === high ? signed(mean) : `${signed(mean)} (${signed(low)} to ${signed(high)})`;
}

/** The same without a plus. */
export function plain(interval: Interval, digits = 3): string {
  return shown(interval, digits).replaceAll('+', '');
}

/** Its size: `.459` for 0.459 and for -0.459. */
export function short(value: number, digits = 3): string {
  return Math.abs(value).toFixed(digits).replace(/^0\./, '.');
}
