// Does a predicted spread come true: predicted against measured error, and where the truth falls in the law (PIT).
import { DataError } from '#core';
import { shortened } from './labels.ts';
import { diagonal, renderPanel, shareAxis, Y_EXTENT } from './panel-spec.ts';
import type { Chart } from './render-chart.ts';
import { sheetOf } from './sheet.ts';
import { COLOURS } from './style.ts';

/** Detections of like predicted spread, such as a fifth of them. */
export interface SpreadGroup {
  readonly count: number;
  /** Mean that was predicted. */
  readonly predicted: number;
  /** Mean that was measured, in the same unit. */
  readonly measured: number;
  /** Interval of `measured`. */
  readonly interval?: readonly [low: number, high: number];
}

/** One quantity, such as an edge of the box or the score. */
export interface SpreadPanel {
  readonly name: string;
  /** Such as `sigma, px` or `variance, score²`. */
  readonly unit: string;
  readonly groups: readonly SpreadGroup[];
}

/**
 * Predicted against measured, by rising prediction. Above the dashes the model is too sure of itself.
 * @throws DataError where no group holds a detection
 */
export async function sigmaCalibrationChart(
  panels: readonly SpreadPanel[],
  { title = 'Predicted and measured error' } = {},
): Promise<Chart> {
  const filled = panels
    .map((one) => ({ ...one, groups: one.groups.filter(({ count }) => count > 0) }))
    .filter(({ groups }) => groups.length > 0);
  if (filled.length === 0) {
    throw new DataError(`chart '${title}': no group holds a detection`, {
      hint: 'evaluate a model that states its variance, on pictures with objects',
    });
  }
  return sheetOf(await Promise.all(filled.map(spreadPanel)), {
    title,
    note: 'Each point: detections of like predicted error. Above the dashes the model is too sure, below it doubts too much.',
    description: `${title}: ${filled.map(({ name, groups }) => `${name}, ${groups.length} groups`).join('; ')}.`,
  });
}

async function spreadPanel({ name, unit, groups }: SpreadPanel): Promise<string> {
  const all = groups.flatMap(({ predicted, measured, interval = [] }) => [predicted, measured, ...interval]);
  const positive = all.filter((value) => value > 0);
  const [least, greatest] = [Math.min(...positive), Math.max(...positive, 1e-9)];
  // Variances differ by factors of a hundred: equal steps would press all but one group into the corner.
  const log = positive.length === all.length && greatest / least > 30;
  const [from, to] = log ? [least / 1.4, greatest * 1.4] : [0, greatest * 1.08];
  const scale = { domain: [from, to], nice: false, ...(log ? { type: 'log' } : {}) };
  const axis = log ? { values: logTicks(from, to), format: '~g' } : { format: '~g', tickCount: 4 };
  const x = { field: 'predicted', type: 'quantitative', title: `predicted ${unit}`, scale, axis };
  const y = {
    field: 'measured',
    type: 'quantitative',
    title: `measured ${unit}`,
    scale,
    axis: { ...axis, minExtent: Y_EXTENT },
  };
  const values = groups.map(({ interval, ...group }, place) => ({
    ...group,
    label: `${place + 1}`,
    low: interval?.[0] ?? group.measured,
    high: interval?.[1] ?? group.measured,
  }));
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const mark = { aria: false, color: COLOURS.main };
  return renderPanel({
    title: shortened(name, 32),
    subtitle: `${count} detections in ${groups.length} groups${log ? ', logarithmic axes' : ''}`,
    height: 290,
    layer: [
      diagonal(from, to, { x, y }),
      {
        data: { values },
        mark: { ...mark, type: 'rule', strokeWidth: 1.6 },
        encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
      },
      { data: { values }, mark: { ...mark, type: 'line', strokeWidth: 1, opacity: 0.5 }, encoding: { x, y } },
      {
        data: { values },
        mark: { ...mark, type: 'point', filled: true, size: 60, opacity: 1 },
        encoding: { x, y },
      },
      {
        data: { values },
        mark: { type: 'text', dx: 8, dy: 9, color: COLOURS.text, aria: false },
        encoding: { x, y, text: { field: 'label' } },
      },
    ],
  });
}

/** Powers of ten; with 2 and 5 between where there are few. */
function logTicks(from: number, to: number): readonly number[] {
  const powers = Array.from({ length: 25 }, (_, place) => place - 12);
  const within = (steps: readonly number[]) =>
    powers.flatMap((power) => steps.map((step) => step * 10 ** power)).filter((at) => at >= from && at <= to);
  const tens = within([1]);
  return tens.length >= 3 ? tens : within([1, 2, 5]);
}

/** Where the truth fell in the predicted law: 0 below all of it, 1 above. */
export interface PitPanel {
  readonly name: string;
  /** [bins] how many fell in each of bins of equal width over [0, 1]. */
  readonly counts: ArrayLike<number>;
}

/**
 * Probability integral transform (Dawid, 1984; Gneiting, Balabdaoui and Raftery, 2007): flat where the laws are right,
 * a U where they are too narrow, a hill where they are too wide.
 * @throws DataError where nothing was counted
 */
export async function pitHistogram(
  panels: readonly PitPanel[],
  { title = 'Where the truth falls in the predicted law' } = {},
): Promise<Chart> {
  const filled = panels.filter(({ counts }) => totalOf(counts) > 0);
  if (filled.length === 0) {
    throw new DataError(`chart '${title}': nothing was counted`, {
      hint: 'evaluate a model that states its variance, on pictures with objects',
    });
  }
  return sheetOf(await Promise.all(filled.map(pitPanel)), {
    title,
    note: 'Flat: the spread is right. U: too narrow, too sure. Hill: too wide. Band: 95 % of what chance does to a flat one.',
    description: `${title}: probability integral transform for ${filled.map(({ name }) => name).join(', ')}.`,
  });
}

async function pitPanel({ name, counts }: PitPanel): Promise<string> {
  const [bins, total] = [counts.length, totalOf(counts)];
  const densities = Array.from(counts, (count) => (count / total) * bins);
  // Normal approximation of the binomial: sd of a share of 1 / bins, times bins.
  const half = 1.96 * Math.sqrt((bins - 1) / total);
  const top = Math.max(1 + half, ...densities) * 1.08;
  const values = densities.map((density, bin) => ({
    from: bin / bins,
    to: (bin + 1) / bins,
    density,
    zero: 0,
  }));
  const x = shareAxis('from', 'share of the law below the truth');
  const y = {
    field: 'density',
    type: 'quantitative',
    title: 'detections, 1 is even',
    scale: { domain: [0, top], nice: false },
    axis: { minExtent: Y_EXTENT },
  };
  const band = {
    data: { values: [{ from: 0, to: 1, low: Math.max(0, 1 - half), high: 1 + half, density: 1 }] },
  };
  return renderPanel({
    title: shortened(name, 32),
    subtitle: `${total} detections`,
    height: 210,
    layer: [
      {
        data: { values },
        mark: { type: 'rect', color: COLOURS.main, stroke: COLOURS.surface, aria: false },
        encoding: { x, x2: { field: 'to' }, y, y2: { field: 'zero' } },
      },
      {
        ...band,
        mark: { type: 'rect', color: COLOURS.against, opacity: 0.2, aria: false },
        encoding: { x, x2: { field: 'to' }, y: { ...y, field: 'low' }, y2: { field: 'high' } },
      },
      {
        ...band,
        mark: { type: 'rule', color: COLOURS.against, strokeDash: [4, 3], strokeWidth: 1.5, aria: false },
        encoding: { y },
      },
    ],
  });
}

function totalOf(counts: ArrayLike<number>): number {
  return Array.from(counts).reduce((sum, count) => sum + count, 0);
}
