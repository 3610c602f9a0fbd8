// Whether the variance of a score says something: against the squared error, beyond the score, whole and without the
// floor that bins force.
import { checkVariance, type VarianceCheck } from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { heldOutTables } from './cross-fit.ts';
import type { HeldOut } from './hold-out.ts';
import type { Figures } from './seeded-tables.ts';

/** Least scores: with labels of .05 for background, all that is found lies above .01. */
const CUTS = { '.01': 0.01, '.1': 0.1 } as const;

export function varianceFigures(predictions: Predictions, heldOut: HeldOut, bins: number): Figures {
  const { truth, detections, classNames } = heldOutTables(heldOut, predictions);
  const figures: Record<string, number | null> = {};
  for (const [cut, minScore] of Object.entries(CUTS)) {
    const options = { classCount: classNames.length, minScore };
    const whole = checkVariance(truth, detections, options);
    const excess = checkVariance(truth, detections, { ...options, excessOverBins: bins });
    figures[`count ${cut}`] = whole?.count ?? null;
    Object.assign(figures, checkFigures(`variance ${cut}`, whole), checkFigures(`excess ${cut}`, excess));
  }
  return figures;
}

function checkFigures(name: string, check: VarianceCheck | undefined): Figures {
  const correlation = check?.partialCorrelation;
  const interval = correlation?.interval;
  const figures: Record<string, number | null> = {
    [name]: correlation?.value ?? null,
    [`${name} low`]: interval?.[0] ?? null,
    [`${name} high`]: interval?.[1] ?? null,
    [`${name} above 0`]: interval == null ? null : Number(interval[0] > 0),
  };
  check?.fifths.forEach(({ meanPredicted, meanMeasured }, fifth) => {
    figures[`${name} fifth ${fifth + 1} predicted`] = meanPredicted;
    figures[`${name} fifth ${fifth + 1} measured`] = meanMeasured;
  });
  return figures;
}

/** Predicted variance over measured squared error, all fifths together (they are equally large); null: not measured. */
export function overstatement(figures: Figures): number | null {
  const sum = (side: string) => {
    const values = [1, 2, 3, 4, 5].map((fifth) => figures[`variance .1 fifth ${fifth} ${side}`]);
    return values.every((value) => value != null)
      ? values.reduce((total, value) => total! + value!, 0)!
      : null;
  };
  const [predicted, measured] = [sum('predicted'), sum('measured')];
  return predicted === null || measured === null || measured === 0 ? null : predicted / measured;
}
