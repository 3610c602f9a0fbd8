// The signed calibration error of one slice; a comparison holds it by pairs of slices.
import type { Figure } from '#core';
import type { CompareReport } from './compare.ts';

/** Mean score − hit (IoU .5, scores from .3): above 0 is over-confident. */
export function signedErrorOf({ comparisons }: CompareReport, slice: string): Figure | undefined {
  const own = comparisons.find(({ first, second }) => first === slice || second === slice);
  return own?.effects.signedCorrect?.[own.first === slice ? 'first' : 'second'];
}
