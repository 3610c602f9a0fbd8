// What each threshold would cost: precision, recall and F1 over it, with the operating points that were chosen.
import { DataError } from '#core';
import { shortened } from './labels.ts';
import { legendStrip, seriesEntries } from './legend.ts';
import {
  decimals,
  PANEL_WIDTH,
  renderPanel,
  seriesEncoding,
  shareAxis,
  shareAxisY,
  thinned,
} from './panel-spec.ts';
import type { Chart } from './render-chart.ts';
import { sheetOf, stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

export interface ChosenPoint {
  /** Why this one, such as `best F1`. */
  readonly label: string;
  readonly threshold: number;
}

/** One class or slice. */
export interface ThresholdPanel {
  readonly name: string;
  /** [T] rising, in [0, 1]. */
  readonly thresholds: ArrayLike<number>;
  /** [T] each. */
  readonly precision: ArrayLike<number>;
  readonly recall: ArrayLike<number>;
  readonly f1: ArrayLike<number>;
  readonly points: readonly ChosenPoint[];
}

const SERIES = ['precision', 'recall', 'F1'] as const;
const POINTS = 201;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * @param options `most`: panels drawn, in the order given. Default 12.
 * @throws DataError without a panel
 */
export async function thresholdChart(
  panels: readonly ThresholdPanel[],
  { title = 'Thresholds and what they cost', most = 12 } = {},
): Promise<Chart> {
  if (panels.length === 0) {
    throw new DataError(`chart '${title}': there is no class to draw`, {
      hint: 'give the curves of at least one class',
    });
  }
  const drawn = panels.slice(0, most);
  const note = drawn.length < panels.length ? { note: `The first ${drawn.length} of ${panels.length}.` } : {};
  return sheetOf(await Promise.all(drawn.map(thresholdPanel)), {
    title,
    ...note,
    description: `${title}: precision, recall and F1 over the threshold for ${drawn.map(({ name, points }) => [name, ...points.map(said)].join(', ')).join('; ')}.`,
  });
}

function said({ label, threshold }: ChosenPoint): string {
  return `${label} ${decimals(threshold)}`;
}

async function thresholdPanel(panel: ThresholdPanel): Promise<string> {
  const { name, thresholds, precision, recall, f1, points } = panel;
  const picked = thinned(
    Array.from(thresholds, (_, place) => place),
    POINTS,
  );
  const values = [precision, recall, f1].flatMap((curve, place) =>
    picked.map((index) => ({ at: thresholds[index], value: curve[index], series: SERIES[place] })),
  );
  const x = shareAxis('at', 'threshold');
  const y = shareAxisY('value', 'share');
  const marks = markedPoints(points);
  const plot = await renderPanel({
    title: shortened(name, 32),
    subtitle: points.map((point, place) => `${LETTERS[place] ?? '+'} ${shortened(said(point), 44)}`),
    height: 240,
    layer: [
      {
        data: { values: marks },
        mark: { type: 'rule', color: COLOURS.quiet, strokeDash: [3, 3], aria: false },
        encoding: { x },
      },
      {
        data: { values },
        mark: { type: 'line', aria: false },
        encoding: { x, y, order: { value: null }, ...seriesEncoding(SERIES) },
      },
      {
        data: { values: marks },
        mark: { type: 'text', fontWeight: 'bold', color: COLOURS.text, dx: 2, align: 'left', aria: false },
        encoding: { x, y: { ...y, field: 'height' }, text: { field: 'letters' } },
      },
    ],
  });
  return stacked([plot, legendStrip(seriesEntries(SERIES), PANEL_WIDTH)]);
}

/** Letters at their thresholds; neighbours stand at other heights, or they would cover each other. */
function markedPoints(points: readonly ChosenPoint[]) {
  const rising = points
    .map(({ threshold }, place) => ({ at: threshold, letters: LETTERS[place] ?? '+' }))
    .filter(({ at }) => at >= 0 && at <= 1)
    .sort((a, b) => a.at - b.at);
  return rising.map((mark, place) => ({ ...mark, height: 0.97 - 0.07 * (place % 4) }));
}
