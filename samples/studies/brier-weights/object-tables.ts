// Heads on real labels as tables: one per optimiser, the grid of exponents, linear heads, and paired differences.
import { type StudyColumn, type StudyFile, type StudyRow, seedRow } from '../common/study-file.ts';
import { type Arm, CROSS_ENTROPY, OPTIMIZERS, type Optimizer, WEIGHT_NAMES, type Weight } from './arms.ts';
import type { HeadFigures } from './objects.ts';

/** Steps as the weights make them, or of the size that cross entropy has. */
export const AS_IT_IS = 'as it is';
export const SAME_STEP = 'same step';

/** Rows of differences, short enough for a chart. */
export const ENTROPY_ROW = 'Brier − cross entropy';

export function gradientRow(weight: Weight): string {
  return `${weight === 'dual focal' ? 'dual' : weight}: gradient − loss`;
}

export function otherRow(other: Weight): string {
  return `Brier − ${other}`;
}

/** Figures of every arm of one set, seed by seed. */
export interface SetRuns {
  readonly set: string;
  readonly runs: ReadonlyMap<Arm, readonly HeadFigures[]>;
}

type FigureName = keyof HeadFigures;

const BEFORE: StudyColumn = { figure: 'ece', title: 'ECE', plot: '15 bins, raw; lower is better' };
const AFTER: StudyColumn = {
  figure: 'eceScaled',
  title: 'ECE, temperature',
  plot: '15 bins, temperature of the validation camera; lower is better',
};
const TEMPERATURE: StudyColumn = {
  figure: 'temperature',
  title: 'T',
  digits: 2,
  plot: '1: none is needed; above 1 the head is too sure, below too soft',
};

const COLUMNS: Readonly<Record<Arm['group'], readonly StudyColumn[]>> = {
  main: [
    BEFORE,
    AFTER,
    TEMPERATURE,
    { figure: 'gain', title: 'ECE taken by T' },
    { figure: 'signed', title: 'confidence − accuracy' },
    { figure: 'accuracy', title: 'accuracy' },
    { figure: 'nll', title: 'NLL' },
    { figure: 'brier', title: 'Brier' },
  ],
  grid: [withoutPlot(BEFORE), withoutPlot(AFTER), withoutPlot(TEMPERATURE)],
  linear: [withoutPlot(BEFORE), withoutPlot(AFTER), withoutPlot(TEMPERATURE)],
};

function withoutPlot({ figure, title, digits }: StudyColumn): StudyColumn {
  return { figure, title, ...(digits !== undefined && { digits }) };
}

const TITLES: Readonly<Record<Arm['group'], string>> = {
  main: 'heads',
  grid: 'other exponents',
  linear: 'linear heads',
};

const TEXTS: Readonly<Record<Arm['group'], string>> = {
  main: 'Heads of one hidden layer on the features of the frozen host at the anchors of labelled objects; γ 2, β 2. Two groups of pictures test, a third fits the temperature, the rest trains. "Same step": every gradient divided by the mean weight of its batch. Seeds under which a head diverged, or no finite temperature is best, are left out of its figures.',
  grid: 'The same with other exponents. With β 1 the Brier weight is 2^γ times the focal one, whatever the number of classes: AdamW learns nearly the same from both, SGD takes larger steps.',
  linear: 'The same without a hidden layer.',
};

export function tableName(set: string, group: Arm['group'], optimizer: Optimizer): string {
  return `${set}, ${group}, ${optimizer}`;
}

export function differencesName(set: string, optimizer: Optimizer): string {
  return `${set}, differences, ${optimizer}`;
}

export function objectTables(runs: SetRuns): Pick<StudyFile, 'tables' | 'rows'> {
  const groups = ['main', 'grid', 'linear'] as const;
  const places = groups.flatMap((group) => OPTIMIZERS.map((optimizer) => ({ group, optimizer })));
  return {
    tables: [
      ...OPTIMIZERS.map((optimizer) => ({
        table: differencesName(runs.set, optimizer),
        section: runs.set,
        title: `${runs.set}, ${optimizer}: differences under the same seed`,
        text: 'Heads with one hidden layer, γ 2, β 2; all but cross entropy weighted on gradients where nothing else is said. Below 0: the first one is better calibrated.',
        columns: [
          { figure: 'ece', title: 'ECE', plot: 'below 0: the first is better' },
          { figure: 'eceScaled', title: 'ECE, temperature', plot: 'below 0: the first is better' },
        ],
      })),
      ...places.map(({ group, optimizer }) => ({
        table: tableName(runs.set, group, optimizer),
        section: runs.set,
        folded: group !== 'main',
        title: `${runs.set}, ${optimizer}: ${TITLES[group]}`,
        text: TEXTS[group],
        columns: COLUMNS[group],
      })),
    ],
    rows: [
      ...OPTIMIZERS.flatMap((optimizer) => differenceRows(runs, optimizer)),
      ...places.flatMap(({ group, optimizer }) => armRows(runs, group, optimizer)),
    ],
  };
}

function armRows({ set, runs }: SetRuns, group: Arm['group'], optimizer: Optimizer): readonly StudyRow[] {
  return [...runs].flatMap(([arm, figures]) => {
    if (arm.group !== group || arm.optimizer !== optimizer) return [];
    const place = { table: tableName(set, group, optimizer), row: arm.weight, series: arm.form };
    return COLUMNS[group].map(({ figure }) =>
      seedRow(
        { ...place, figure },
        figures.map((one) => one[figure as FigureName]),
      ),
    );
  });
}

/** Gradient against loss, Brier against the others, and Brier on gradients against cross entropy. */
export const DIFFERENCES: readonly Difference[] = [
  ...WEIGHT_NAMES.flatMap((weight) => [
    { row: gradientRow(weight), series: AS_IT_IS, a: [weight, 'gradient'], b: [weight, 'loss'] } as const,
    {
      row: gradientRow(weight),
      series: SAME_STEP,
      a: [weight, 'gradient, same step'],
      b: [weight, 'loss, same step'],
    } as const,
  ]),
  ...(['dual focal', 'focal'] as const).flatMap((other) => [
    { row: otherRow(other), series: AS_IT_IS, a: ['Brier', 'gradient'], b: [other, 'gradient'] } as const,
    {
      row: otherRow(other),
      series: SAME_STEP,
      a: ['Brier', 'gradient, same step'],
      b: [other, 'gradient, same step'],
    } as const,
  ]),
  { row: ENTROPY_ROW, series: AS_IT_IS, a: ['Brier', 'gradient'], b: [CROSS_ENTROPY, 'loss'] },
  { row: ENTROPY_ROW, series: SAME_STEP, a: ['Brier', 'gradient, same step'], b: [CROSS_ENTROPY, 'loss'] },
];

interface Difference {
  readonly row: string;
  readonly series: string;
  readonly a: ArmKey;
  readonly b: ArmKey;
}

type ArmKey = readonly [weight: string, form: Arm['form']];

function differenceRows({ set, runs }: SetRuns, optimizer: Optimizer): readonly StudyRow[] {
  const find = ([weight, form]: ArmKey) =>
    [...runs].find(
      ([arm]) =>
        arm.group === 'main' && arm.optimizer === optimizer && arm.weight === weight && arm.form === form,
    )?.[1];
  return DIFFERENCES.flatMap(({ row, series, a, b }) => {
    const [first, second] = [find(a), find(b)];
    if (first === undefined || second === undefined) return [];
    return (['ece', 'eceScaled'] as const).map((figure) => {
      const values = first.map((one, seed) => {
        const [own, other] = [one[figure], second[seed]?.[figure]];
        return own == null || other == null ? null : own - other;
      });
      return seedRow({ table: differencesName(set, optimizer), row, series, figure }, values);
    });
  });
}
