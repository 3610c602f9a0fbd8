// The part of the page that says which thresholds to run with, and whether they helped where they were not chosen.
import type { ReportBlock, TableCell } from '#report';
import type { CompareReport } from './compare.ts';
import { figureText, plainFigure } from './figure-words.ts';

export function verdictBlocks({ thresholds, slices }: CompareReport): ReportBlock[] {
  if (thresholds === null) return [];
  const seen = thresholds.filter(({ conditions }) => conditions.some(({ objects }) => objects > 0));
  return [
    {
      kind: 'text',
      text: 'Where F1 is best on these very pictures, so flattering: the trials below say what is left on others. thresholds.json holds them for stream and predict.',
    },
    {
      kind: 'table',
      caption: 'Threshold of the best F1 by class and slice; 95 % intervals',
      columns: ['class', 'all slices', ...slices.map(({ name }) => name)].map((label) => ({ label })),
      rows: seen.map(({ className, fixed, conditions }): TableCell[] => [
        className === '*' ? 'all under one' : className,
        fixed === null ? 'nothing found' : plainFigure(fixed.threshold),
        ...conditions.map(({ bestF1, objects }) => {
          if (bestF1.kind === 'none') return `no verdict (${objects} objects)`;
          const { threshold } = bestF1;
          if (threshold.kind === 'none') return `no verdict (${objects} objects)`;
          return `${plainFigure(threshold.value)} [${plainFigure(threshold.low)}, ${plainFigure(threshold.high)}]`;
        }),
      ]),
    },
  ];
}

const PROTOCOLS = {
  'first-half-per-camera': 'halves of each camera',
  'leave-one-camera-out': 'a camera left out',
} as const;

export function trialBlocks({ trials }: CompareReport): ReportBlock[] {
  if (trials === null) return [];
  return [
    {
      kind: 'table',
      caption:
        'A threshold for each slice less one for all, on pictures that did not choose: the second half of each camera by its first, or each camera by the others',
      columns: ['trial', 'objects', 'F1', 'recall at equal precision', 'F1, whole cameras drawn'].map(
        (label) => ({
          label,
        }),
      ),
      rows: trials.map((trial) => [
        PROTOCOLS[trial.protocol],
        trial.objects,
        figureText(trial.f1Gain),
        figureText(trial.recallGainAtEqualPrecision),
        figureText(trial.f1GainByCamera),
      ]),
    },
  ];
}
