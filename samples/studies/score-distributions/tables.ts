// What was measured under all seeds, as rows of tables with one value per seed.
import { errataTable } from '../common/errata-table.ts';
import {
  formTables,
  joined,
  type SeededFigures,
  type StudyPart,
  type TableForm,
} from '../common/seeded-tables.ts';
import { type StudyColumn, seedRow } from '../common/study-file.ts';
import { BINS_TABLE, LABELS_TABLE, WEIGHTS_TABLE } from './arms.ts';
import type { HeadCost } from './cost.ts';
import { errata } from './errata.ts';

export interface Found extends SeededFigures {
  readonly costs: readonly HeadCost[];
}

const ARM_COLUMNS: readonly StudyColumn[] = [
  { figure: 'ap50', title: 'AP50' },
  { figure: 'ap', title: 'AP' },
  { figure: 'dEce', title: 'D-ECE' },
  { figure: 'laEce0', title: 'LaECE0' },
  { figure: 'laEce0Platt', title: 'LaECE0, Platt' },
  { figure: 'best signed', title: 'score − IoU, best boxes' },
];

const VARIANCE_COLUMNS: readonly StudyColumn[] = [
  { figure: 'excess .1', title: 'excess and error, ≥ .1' },
  { figure: 'excess .01', title: '≥ .01' },
  { figure: 'variance overstates', title: 'variance / squared error', digits: 2 },
];

const LOSS_COLUMNS: readonly StudyColumn[] = [
  { figure: 'gap', title: 'held-out loss over training loss' },
  { figure: 'rise', title: 'last over lowest held-out loss' },
  { figure: 'unrest', title: 'unrest of the training loss' },
];

const ARM_TEXT =
  'One head each on the same cached features; boxes are those of the host. D-ECE: IoU .5, 10 bins, scores of .3 or more. LaECE0: any overlap, 25 bins, scores of .01 or more; both raw. Excess and error: partial correlation of the variance beyond what the bins force with the squared error, a polynomial of the score taken out.';

const LOSS_TEXT =
  'Losses are of the law alone, per epoch; unrest: mean second difference of the training loss over its mean, 0 where it falls evenly.';

const RULE_COLUMNS: readonly StudyColumn[] = [
  { figure: 'kept', title: 'boxes kept', digits: 0 },
  { figure: 'kept by fixed', title: 'by the fixed base', digits: 0 },
  { figure: 'exchanged', title: 'not in as many by score', digits: 1 },
  { figure: 'ap50 without a cut', title: 'AP50 without a cut' },
  { figure: 'ap50', title: 'AP50 of the rule' },
  { figure: 'ap50 over fixed', title: 'over the fixed base' },
  { figure: 'ap50 over equal', title: 'over as many boxes', digits: 4 },
  { figure: 'ap50 over no cut', title: 'over no cut' },
  { figure: 'recall over equal', title: 'recall over as many', digits: 4 },
  { figure: 'precision over equal', title: 'precision over as many', digits: 4 },
  { figure: 'far recall over fixed', title: 'far recall over the fixed base' },
  { figure: 'far recall over equal', title: 'over as many', digits: 4 },
  { figure: 'near recall over equal', title: 'near recall over as many', digits: 4 },
];

const RULE_TEXT =
  'Keep E > base − 0.3 Var, against E > base (as the note compares), against the fixed threshold that keeps as many boxes in this slice, and against the whole list. Lights are those of the table beside the pictures; far: objects below 32 × 32 px.';

const FORMS: readonly TableForm[] = [
  {
    table: BINS_TABLE.table,
    title: 'Number of bins',
    section: 'Bins',
    text: `${ARM_TEXT} ${LOSS_TEXT}`,
    columns: [...ARM_COLUMNS, ...VARIANCE_COLUMNS, ...LOSS_COLUMNS],
    base: BINS_TABLE.rows[0]!.row,
  },
  {
    table: 'decode',
    title: 'How the law is read',
    section: 'Decoding',
    text: 'The same boxes of the default head, before suppression, with the expectation, the peak, the peak with equal ones ordered by the expectation, or the median as score. Nothing is trained anew.',
    columns: [
      ...ARM_COLUMNS.slice(0, 4),
      { figure: 'signed', title: 'score − IoU' },
      { figure: 'boxes above 0', title: 'boxes above 0 a picture', digits: 0 },
    ],
    base: 'expectation',
  },
  {
    table: LABELS_TABLE.table,
    title: 'Labels and focal factor',
    section: 'Labels',
    text: `Quality: the aligned quality of assigned anchors. Smoothed: .95 / .05, and .8 below IoU .5. Hard: 1 / 0. ${ARM_TEXT}`,
    columns: [...ARM_COLUMNS, ...VARIANCE_COLUMNS],
    base: LABELS_TABLE.rows[0]!.row,
  },
  {
    table: WEIGHTS_TABLE.table,
    title: 'Weight of the loss',
    section: 'Weight',
    text: `All classes of the data, whose loss weighs 0.5 and shares the adapter. With one class AdamW divides any weight out again. ${ARM_TEXT}`,
    columns: [...ARM_COLUMNS, VARIANCE_COLUMNS[0]!],
    base: WEIGHTS_TABLE.rows[0]!.row,
  },
  ...['quality targets', 'published labels'].map(
    (targets): TableForm => ({
      table: `rules, ${targets}`,
      title: `Dynamic threshold on a head of ${targets}`,
      section: 'Dynamic threshold',
      text: RULE_TEXT,
      columns: RULE_COLUMNS,
    }),
  ),
  {
    table: 'suppression',
    title: 'Suppression ordered by E · exp(−2 Var)',
    section: 'Suppression',
    text: 'Minus suppression ordered by E; AP without a threshold, recall of as many boxes as there are objects. Head of the default.',
    columns: [
      { figure: 'ap50 gain', title: 'AP50', digits: 4, plot: 'difference; larger is better' },
      { figure: 'ap gain', title: 'AP', digits: 4 },
      { figure: 'recall gain', title: 'recall', digits: 4 },
      { figure: 'far recall gain', title: 'recall, far', digits: 4 },
      { figure: 'near recall gain', title: 'recall, near', digits: 4 },
    ],
  },
  {
    table: 'laws',
    title: 'The law in fewer numbers',
    section: 'Compact laws',
    text: 'Laws over ten bins of boxes of score .1 or more, and what stands for them. Tails: mean error of P(score above .278, .5, .722), which lie between two bins. Mass outside: beyond 0 and 1. Two answers: share of laws that hesitate between two, how many of these the form still shows, and how often the two flags agree. Impossible: part of the range of the variance that no law of that expectation can have.',
    columns: [
      { figure: 'error of E', title: 'error of E', digits: 4 },
      { figure: 'error of Var', title: 'of Var', digits: 4 },
      { figure: 'tail low', title: 'of P(≥ .278)' },
      { figure: 'tail middle', title: 'of P(≥ .5)', plot: 'mean absolute error; smaller is better' },
      { figure: 'tail high', title: 'of P(≥ .722)' },
      { figure: 'mass outside', title: 'mass outside' },
      { figure: 'bimodal', title: 'two answers' },
      { figure: 'bimodal found', title: 'of them shown' },
      { figure: 'flag agrees', title: 'flags agree' },
      { figure: 'impossible', title: 'impossible' },
    ],
  },
  {
    table: 'passes',
    title: 'Which part knows what',
    section: 'DFL and MC dropout',
    text: 'A head trained without any night picture, with dropout .1 and 8 passes. Law: mean variance of the passes. Dropout: variance of their means. Each is asked to tell the boxes of noisy pictures (standard deviation 25 of 255), of the night, and of another world (blood cells under a microscope) from those of day and dusk on the same held-out cameras: .5 is a guess, and below it the part is smaller there. At equal scores: pairs within a twentieth of the score only. Errors: partial correlation with the squared error, the score taken out. Boxes of score .05 or more.',
    columns: [
      { figure: 'boxes', title: 'boxes', digits: 0 },
      { figure: 'mean score', title: 'score' },
      { figure: 'mean law', title: 'law', digits: 4 },
      { figure: 'mean dropout', title: 'dropout', digits: 5 },
      { figure: 'law tells', title: 'law tells' },
      { figure: 'dropout tells', title: 'dropout tells' },
      {
        figure: 'law tells, equal score',
        title: 'law, equal scores',
        plot: 'AUROC at equal scores; .5 is a guess',
      },
      {
        figure: 'dropout tells, equal score',
        title: 'dropout, equal scores',
        plot: 'AUROC at equal scores; .5 is a guess',
      },
      { figure: 'law − dropout, equal score', title: 'law − dropout' },
      { figure: 'law and error', title: 'law and error' },
      { figure: 'dropout and error', title: 'dropout and error' },
    ],
  },
];

export function studyTables(found: Found): StudyPart {
  return joined([
    ...FORMS.flatMap((form) => formTables(found, form)),
    costTables(found),
    errataTable(errata(), { by: "the product's own code", section: 'Errata' }),
  ]);
}

/** Sizes are counted and compared; times belong to the machine, and stand in words. */
function costTables({ costs }: Found): StudyPart {
  const table = 'cost';
  const columns: readonly StudyColumn[] = [
    { figure: 'channels a place', title: 'channels a place', digits: 0 },
    { figure: 'parameters', title: 'parameters of the model', digits: 0 },
    { figure: 'bytes of the file', title: 'bytes of the file', digits: 0 },
  ];
  return {
    tables: [
      {
        table,
        title: 'Cost of the head',
        section: 'Cost',
        text: 'The same host and adapter, and a score in one channel, or as a law over bins. CPU time on this machine, turn by turn in one run, over that of one channel (95 % interval over resampled rounds); no other machine needs to give the same.',
        columns,
        words: {
          columns: ['bins', 'CPU time'],
          rows: costs.map(({ bins, cpuMs, added }) => [
            nameOfCost(bins),
            `${cpuMs.toFixed(1)} ms${bins === 1 ? '' : `, ${percent(added[0])} (${percent(added[1])} to ${percent(added[2])})`}`,
          ]),
        },
      },
    ],
    rows: costs.flatMap(({ bins, figures }) =>
      columns.map(({ figure }) =>
        seedRow({ table, row: nameOfCost(bins), figure }, [figures[figure] ?? null]),
      ),
    ),
  };
}

const nameOfCost = (bins: number) => (bins === 1 ? 'one channel' : `${bins} bins`);

export function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)} %`;
}
