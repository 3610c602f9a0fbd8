// What figures with intervals of resampled pictures say to a claim, and how they are written. One rule for all: a
// difference counts where its 95 % interval leaves out 0.
import { type Figure, sureSign } from 'edge-detect/core';
import type { StudyVerdict } from './study-file.ts';

export const RESAMPLED_INTERVAL = '95 % interval over resampled pictures; the value alone where it is exact';

/** undefined: it could not be measured. */
export type Vote = boolean | undefined;

export function isAbove(figure: Figure): Vote {
  return figure.kind === 'none' ? undefined : sureSign(figure) > 0;
}

export function isBelow(figure: Figure): Vote {
  return figure.kind === 'none' ? undefined : sureSign(figure) < 0;
}

/** The first surely rises and the second does not surely fall. */
export function gainsWithout(gain: Figure, price: Figure): Vote {
  const [up, down] = [isAbove(gain), isBelow(price)];
  return up === undefined || down === undefined ? undefined : up && !down;
}

/** In part where some of them are so; what could not be measured has no vote. */
export function graded(votes: readonly Vote[]): StudyVerdict['verdict'] {
  const known = votes.filter((vote) => vote !== undefined);
  if (known.length === 0) return 'not measured';
  if (known.every(Boolean)) return 'holds';
  return known.some(Boolean) ? 'holds in part' : 'does not hold';
}

/** `+.014 (+.009 to +.020)` */
export function shownGain(figure: Figure): string {
  if (figure.kind === 'none') return `not measured (${figure.reason})`;
  const { value, low, high } = figure;
  return low === high ? signed(value) : `${signed(value)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  const text = Math.abs(value).toFixed(3).replace(/^0\./, '.');
  return `${value < 0 ? '−' : '+'}${text}`;
}
