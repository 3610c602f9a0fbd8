// Whether the variance of a score says something: against the squared error, beyond the score, whole and without the
// floor that bins force.
import { checkVariance, type VarianceCheck } from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import { heldOutTables } from './cross-fit.ts';
import type { HeldOut } from './hold-out.ts';
import type { ArmSummary, Figures } from './summary.ts';
import { type Column, markdownTable } from './table.ts';

/** Least scores: with labels of .05 for background, all that is found lies above .01. */
const CUTS = { '.01': 0.01, '.1': 0.1 } as const;

type Cut = keyof typeof CUTS;
type Kind = 'variance' | 'excess';

export function varianceColumns(cut: Cut): readonly Column[] {
  const columns = (kind: Kind): Column[] => [
    { figure: `${kind} ${cut}`, title: kind },
    { figure: `${kind} ${cut} low`, title: 'its 95 % from' },
    { figure: `${kind} ${cut} high`, title: 'to' },
    { figure: `${kind} ${cut} above 0`, title: 'seeds above 0', counts: true },
  ];
  return [
    ...columns('variance'),
    ...columns('excess'),
    { figure: `count ${cut}`, title: 'boxes', digits: 0 },
  ];
}

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

/** `predicted → measured` per fifth, means over the seeds. */
export function fifthsTable(summaries: readonly ArmSummary[], kind: Kind, cut: Cut = '.1'): string {
  const fifths = [1, 2, 3, 4, 5];
  const rows = summaries.map(({ arm, figures }) => {
    const mean = (fifth: number, side: string) =>
      figures[`${kind} ${cut} fifth ${fifth} ${side}`]?.mean.toFixed(4).replace(/^0/, '') ?? '–';
    return [arm, ...fifths.map((fifth) => `${mean(fifth, 'predicted')} → ${mean(fifth, 'measured')}`)];
  });
  return markdownTable(['', ...fifths.map((fifth) => `fifth ${fifth}`)], rows);
}
