// Does a score that is a distribution, with BS-GRA on the classes, beat the usual losses, and on what?
//   node dist/samples/studies/losses/main.js [data=… model=…] [seeds=5]
import { EQUAL_COLUMNS, QUALITY_COLUMNS, qualityFigures, SCALE_COLUMNS } from '../common/quality-figures.ts';
import { runStudy, type Study } from '../common/study.ts';
import { figureTable } from '../common/table.ts';
import type { Arm } from '../common/train-arm.ts';

/** A scalar score is a law of two bins: the same head, 8 channels narrower. */
function scalarArm(
  name: string,
  text: string,
  kind: 'bce' | 'qfl' | 'focal' | 'gra',
  classLoss: 'ce' | 'focal' | 'focalGra',
): Arm {
  return { name, text, request: { bins: 2, classLoss, criterion: { quality: { kind, gamma: 2 } } } };
}

const ARMS: readonly Arm[] = [
  {
    name: 'DFL + BS-GRA',
    text: 'score: DFL over 10 bins; classes: BS-GRA',
    request: { classLoss: 'bsceGra' },
  },
  {
    name: 'DFL + CE',
    text: 'score: DFL over 10 bins; classes: cross entropy (what BS-GRA changes by itself)',
    request: { classLoss: 'ce' },
  },
  scalarArm('BCE', 'score: binary cross entropy; classes: cross entropy', 'bce', 'ce'),
  scalarArm('QFL', 'score: quality focal loss, gamma 2; classes: cross entropy', 'qfl', 'ce'),
  scalarArm('focal', 'score: focal loss, gamma 2; classes: focal loss, gamma 2', 'focal', 'focal'),
  scalarArm('FL-GRA', 'score: per-logit GRA, gamma 2; classes: FL-GRA, gamma 2', 'gra', 'focalGra'),
];

const study: Study = {
  name: 'losses',
  question: 'DFL + BS-GRA against BCE, QFL, focal and FL-GRA heads on a frozen host, on cameras never seen',
  classes: 'all',
  arms: ARMS,
  measure: (trained, heldOut) => qualityFigures(trained, heldOut),
  columns: [
    ...QUALITY_COLUMNS,
    ...EQUAL_COLUMNS.map(({ figure, title }) => ({ figure, title: `best boxes: ${title}` })),
  ],
  tables: (summaries) => [
    figureTable(summaries, QUALITY_COLUMNS),
    `Difference from ${ARMS[0]?.name} under the same seed:\n\n${figureTable(summaries, QUALITY_COLUMNS, 'differences')}`,
    `Over as many boxes as there are objects, the highest scores of all:\n\n${figureTable(summaries, EQUAL_COLUMNS)}`,
    figureTable(summaries, SCALE_COLUMNS),
  ],
};

await runStudy(study, process.argv.slice(2));
