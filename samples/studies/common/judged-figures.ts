// What figures with intervals of resampled pictures say to a claim, and how they are written. One rule for all: a
// difference counts where its 95 % interval leaves out 0.
import { type Figure, sureSign } from 'edge-detect/core';
import { shown, type Vote } from './verdict-rules.ts';

export const RESAMPLED_INTERVAL = '95 % interval over resampled pictures; the value alone where it is exact';

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

/** `+.014 (+.009 to +.020)` */
export function shownGain(figure: Figure): string {
  if (figure.kind === 'none') return `not measured (${figure.reason})`;
  const { value, low, high } = figure;
  return shown({ values: [value], mean: value, low, high });
}
