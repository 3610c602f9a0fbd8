// The published recipe beside the corrected default: training, calibration, variance, threshold and suppression.
//   node dist/samples/studies/published/main.js data=… model=… [seeds=3]
import { EQUAL_COLUMNS, QUALITY_COLUMNS, qualityFigures, SCALE_COLUMNS } from '../common/quality-figures.ts';
import { runStudy, type Study } from '../common/study.ts';
import { figureTable } from '../common/table.ts';
import type { Arm } from '../common/train-arm.ts';
import { fifthsTable, varianceColumns, varianceFigures } from '../common/variance-figures.ts';
import { RULE_BASES, ruleColumns, ruleFigures, SUPPRESSION_COLUMNS } from './rules.ts';

const BINS = 10;

const ARMS: readonly Arm[] = [
  {
    name: 'default',
    text: 'quality targets, gamma 0, sum over anchors / sum of targets',
    request: { bins: BINS },
  },
  {
    name: 'published',
    text: 'labels .95 / .05 / .8, gamma 2, mean over anchors, weights 1.0 (classes) and 0.1 (score)',
    request: { bins: BINS, preset: 'published' },
  },
];

const study: Study = {
  name: 'published',
  question: 'The published recipe against the corrected default, and the published rules against plain ones',
  classes: 'all',
  arms: ARMS,
  measure: async (trained, heldOut, _arm, signal) => ({
    ...qualityFigures(trained, heldOut),
    ...varianceFigures(trained.predictions, heldOut, BINS),
    ...(await ruleFigures(trained.modelPath, heldOut, signal)),
  }),
  tables: (summaries) => [
    figureTable(summaries, QUALITY_COLUMNS),
    `Difference from the default under the same seed:\n\n${figureTable(summaries, QUALITY_COLUMNS, 'differences')}`,
    `Over as many boxes as there are objects, the highest scores of all:\n\n${figureTable(summaries, EQUAL_COLUMNS)}`,
    figureTable(summaries, SCALE_COLUMNS),
    `Partial correlation with (y − E)², E taken out; scores of .1 or more:\n\n${figureTable(summaries, varianceColumns('.1'))}`,
    `Fifths by predicted variance, scores of .1 or more: predicted → measured (mean over the seeds):\n\n${fifthsTable(summaries, 'variance')}`,
    ...RULE_BASES.map(
      (base) =>
        `Keep E > ${base} − 0.3 Var against the fixed threshold that keeps as many boxes (difference: rule − fixed):\n\n${figureTable(summaries, ruleColumns(base))}`,
    ),
    `NMS ordered by E·exp(−2 Var) minus NMS ordered by E, no threshold:\n\n${figureTable(summaries, SUPPRESSION_COLUMNS)}`,
  ],
};

await runStudy(study, process.argv.slice(2));
