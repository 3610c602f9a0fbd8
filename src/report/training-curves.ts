// How a training went, on one page: losses, average precision, calibration, step size over the epochs.
import type { TopLevelSpec } from 'vega-lite';
import { DataError } from '#core';
import { type Chart, renderChart } from './render-chart.ts';
import { COLOURS } from './style.ts';

/** A line of `results.csv`: columns by name. */
export interface ResultsRow {
  readonly epoch: number;
  readonly [column: string]: number;
}

interface Series {
  readonly column: string;
  readonly label: string;
  readonly colour: string;
}

interface Panel {
  readonly title: string;
  /** Quantity and unit of the y axis; stands under the title, where it can be read. */
  readonly axis: string;
  readonly series: readonly Series[];
}

/**
 * Small multiples over the epochs. Columns that are missing, values that are not finite and panels without any are
 * left out.
 * @throws DataError where no row has a number to draw
 */
export async function trainingCurves(rows: readonly ResultsRow[]): Promise<Chart> {
  const panels = panelsOf(rows);
  if (panels.length === 0) {
    throw new DataError(`${rows.length} rows of results hold nothing to draw`, {
      hint: 'expected columns such as train/box_loss, metrics/mAP50(B) or lr/pg0',
    });
  }
  const spec = { concat: panels.map((panel) => panelSpec(panel, rows)), columns: 3 };
  return renderChart(
    spec as TopLevelSpec,
    `Curves over ${rows.length} epochs: ${panels.map(({ title }) => title).join(', ')}.`,
  );
}

const LOSS_NAMES: Readonly<Record<string, string>> = {
  box: 'Box',
  cls: 'Classes',
  dfl: 'Box distribution',
  quality: 'Score distribution',
  logit_range: 'Logit range',
};

function panelsOf(rows: readonly ResultsRow[]): readonly Panel[] {
  const columns = new Set(rows.flatMap((row) => Object.keys(row).filter((key) => Number.isFinite(row[key]))));
  const stems = new Set(Array.from(columns, (name) => /^(?:train|val)\/(.+)_loss$/.exec(name)?.[1]));
  const losses = Array.from(stems).flatMap((stem) => (stem === undefined ? [] : [lossPanel(stem)]));
  return [...losses, ...OTHER_PANELS].flatMap((panel) => {
    const series = panel.series.filter(({ column }) => columns.has(column));
    return series.length > 0 ? [{ ...panel, series }] : [];
  });
}

function lossPanel(stem: string): Panel {
  return {
    title: `${LOSS_NAMES[stem] ?? stem} loss`,
    axis: 'loss, mean of the epoch',
    series: [
      { column: `train/${stem}_loss`, label: 'train', colour: COLOURS.light },
      { column: `val/${stem}_loss`, label: 'val', colour: COLOURS.dark },
    ],
  };
}

const OTHER_PANELS: readonly Panel[] = [
  {
    title: 'Average precision',
    axis: 'AP on val, 0 to 1',
    series: [
      { column: 'metrics/mAP50(B)', label: 'mAP50', colour: COLOURS.main },
      { column: 'metrics/mAP50-95(B)', label: 'mAP50-95', colour: COLOURS.dark },
    ],
  },
  {
    title: 'Precision and recall',
    axis: 'share on val, 0 to 1',
    series: [
      { column: 'metrics/precision(B)', label: 'precision', colour: COLOURS.main },
      { column: 'metrics/recall(B)', label: 'recall', colour: COLOURS.dark },
    ],
  },
  {
    title: 'Calibration error of the score',
    axis: 'error on val, 0 is calibrated',
    series: [
      { column: 'metrics/D-ECE', label: 'D-ECE', colour: COLOURS.main },
      { column: 'metrics/LaECE0', label: 'LaECE0', colour: COLOURS.dark },
    ],
  },
  {
    title: 'Learning rate',
    axis: 'step size of the optimiser',
    series: [{ column: 'lr/pg0', label: '', colour: COLOURS.main }],
  },
];

function panelSpec({ title, axis, series }: Panel, rows: readonly ResultsRow[]): object {
  const points = series.map(({ column }) =>
    rows.flatMap((row) => {
      const value = row[column];
      return value !== undefined && Number.isFinite(value) ? [{ epoch: row.epoch, value }] : [];
    }),
  );
  const x = {
    field: 'epoch',
    type: 'quantitative',
    title: 'epoch',
    axis: { tickMinStep: 1, format: 'd' },
    scale: { nice: false },
  };
  const y = { field: 'value', type: 'quantitative', title: null };
  const shifts = labelShifts(points);
  const layer = series.flatMap(({ label, colour }, place) => {
    const values = points[place] ?? [];
    const encoding = { x, y };
    const mark = { type: 'line', color: colour, point: values.length === 1 ? { color: colour } : false };
    const text = { type: 'text', text: label, color: colour, align: 'left', dx: 4, dy: shifts[place] ?? 0 };
    return [
      { data: { values }, mark, encoding },
      { data: { values: values.slice(-1) }, mark: text, encoding },
    ];
  });
  return { title: { text: title, subtitle: axis }, width: 210, height: 130, layer };
}

/** Shifts in px that keep two labels at line ends apart. */
function labelShifts(points: readonly (readonly { readonly value: number }[])[]): readonly number[] {
  const [first, second] = points.map((list) => list.at(-1)?.value);
  if (first === undefined || second === undefined) return [0, 0];
  const all = points.flat().map(({ value }) => value);
  const range = Math.max(0, ...all) - Math.min(0, ...all);
  if (range > 0 && Math.abs(first - second) / range > 0.1) return [0, 0];
  return first >= second ? [-6, 6] : [6, -6];
}
