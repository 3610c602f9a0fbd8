// Does the part of the variance that bins do not force say more about the error than the score itself does?
//   node dist/samples/studies/excess-variance/main.js data=… model=… [seeds=3]
import { SMOOTHED_LABELS } from 'edge-detect/training';
import { qualityFigures, TIME_COLUMNS } from '../common/quality-figures.ts';
import { runStudy, type Study } from '../common/study.ts';
import type { ArmSummary } from '../common/summary.ts';
import { figureTable } from '../common/table.ts';
import type { Arm } from '../common/train-arm.ts';
import { fifthsTable, varianceColumns, varianceFigures } from '../common/variance-figures.ts';

const BINS = 10;

/** The same head, loss and order of pictures; only what the law is taught differs. */
const ARMS: readonly Arm[] = [
  {
    name: 'quality targets',
    text: 'the law of the score is taught the aligned quality of assigned anchors, 0 elsewhere (the default)',
    request: { bins: BINS },
  },
  {
    name: 'hard labels',
    text: `the law is taught ${SMOOTHED_LABELS.positive}, ${SMOOTHED_LABELS.hardPositive} (IoU below .5) or ${SMOOTHED_LABELS.negative}`,
    request: { bins: BINS, criterion: { targets: SMOOTHED_LABELS } },
  },
];

const study: Study = {
  name: 'excess-variance',
  question:
    'Does the excess variance of a score predict its squared error beyond what the score itself says?',
  classes: 'one',
  arms: ARMS,
  measure: (trained, heldOut) => ({
    ...qualityFigures(trained, heldOut),
    ...varianceFigures(trained.predictions, heldOut, BINS),
  }),
  tables: (summaries) => [
    ...varianceTables(summaries),
    figureTable(summaries, [
      { figure: 'ap50', title: 'AP50' },
      { figure: 'ap', title: 'AP' },
      { figure: 'laEce0', title: 'LaECE0' },
      ...TIME_COLUMNS,
    ]),
  ],
};

function varianceTables(summaries: readonly ArmSummary[]): string[] {
  return [
    `Partial correlation with (y − E)², E taken out; scores of .01 or more:\n\n${figureTable(summaries, varianceColumns('.01'))}`,
    `The same, scores of .1 or more:\n\n${figureTable(summaries, varianceColumns('.1'))}`,
    `Fifths by predicted variance, scores of .1 or more: predicted → measured (mean over the seeds):\n\n${fifthsTable(summaries, 'variance')}`,
    `Fifths by excess variance, scores of .1 or more: excess → measured squared error:\n\n${fifthsTable(summaries, 'excess')}`,
  ];
}

await runStudy(study, process.argv.slice(2));
