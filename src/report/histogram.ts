// How often which value: of scores, variances, box sizes, brightness.
import type { TopLevelSpec } from 'vega-lite';
import { DataError } from '#core';
import { type Chart, renderChart } from './render-chart.ts';

export interface HistogramOptions {
  readonly title: string;
  /** Quantity and unit. */
  readonly axis: string;
  /** What is counted. Default `count`. */
  readonly counted?: string;
  /** Default 20. */
  readonly bins?: number;
  /** Default: from the least to the greatest value. Values outside are left out of the bars. */
  readonly range?: readonly [from: number, to: number];
}

/** @throws DataError where no value is finite */
export async function histogram(values: ArrayLike<number>, options: HistogramOptions): Promise<Chart> {
  const { title, axis, counted = 'count', bins = 20 } = options;
  const finite = Array.from(values).filter(Number.isFinite);
  if (finite.length === 0) {
    throw new DataError(`histogram '${title}': none of ${values.length} values is a finite number`, {
      hint: 'give at least one finite value',
    });
  }
  const [from, to] = options.range ?? rangeOf(finite);
  const counts = countBins(finite, bins, from, to);
  const step = (to - from) / bins;
  const rows = counts.map((count, bin) => ({ from: from + bin * step, to: from + (bin + 1) * step, count }));
  const spec = {
    title: { text: title, subtitle: counted },
    width: 320,
    height: 180,
    data: { values: rows },
    mark: { type: 'bar', binSpacing: 1 },
    encoding: {
      x: { field: 'from', bin: 'binned', type: 'quantitative', title: axis, scale: { domain: [from, to] } },
      x2: { field: 'to' },
      y: { field: 'count', type: 'quantitative', title: null, axis: { tickMinStep: 1 } },
    },
  };
  return renderChart(
    spec as unknown as TopLevelSpec,
    `${title}: histogram of ${finite.length} values over ${axis}.`,
  );
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  let [least, greatest] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  }
  return least < greatest ? [least, greatest] : [least - 0.5, least + 0.5];
}

function countBins(values: readonly number[], bins: number, from: number, to: number): readonly number[] {
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) {
    if (value < from || value > to) continue;
    const bin = Math.min(bins - 1, Math.floor(((value - from) / (to - from)) * bins));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}
