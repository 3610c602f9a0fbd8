// One figure for each slice, with its interval: whether two of them differ can be seen.
import { DataError } from '#core';
import { chartLabels } from './labels.ts';
import { legendStrip, seriesEntries } from './legend.ts';
import { nameAxis, PANEL_WIDTH, renderPanel, seriesScale } from './panel-spec.ts';
import type { Chart } from './render-chart.ts';
import { sheetOf, stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

export interface MetricRow {
  /** The slice. */
  readonly name: string;
  /** Null: too little data for a verdict. */
  readonly value: number | null;
  readonly interval?: readonly [low: number, high: number] | null;
  /** Such as the model or the threshold: beside each other, in colours. */
  readonly series?: string;
}

export interface MetricPanel {
  /** The figure, such as `AP` or `LaECE0`. */
  readonly title: string;
  /** Its unit and which way is good. */
  readonly note?: string;
  /** Default: what the values and intervals span, with 0. */
  readonly domain?: readonly [from: number, to: number];
  readonly rows: readonly MetricRow[];
}

/** @throws DataError without a panel that has a row */
export async function metricDots(
  panels: readonly MetricPanel[],
  { title = 'By slice', note = 'Lines: 95 % intervals.' } = {},
): Promise<Chart> {
  const filled = panels.filter(({ rows }) => rows.length > 0);
  if (filled.length === 0) {
    throw new DataError(`chart '${title}': there is nothing to draw`, { hint: 'give at least one slice' });
  }
  const figures = filled.map(({ title: figure, rows }) => {
    const said = rows.map(({ name, value, series }) => {
      const whose = series === undefined ? name : `${name} ${series}`;
      return `${whose} ${value === null ? 'no verdict' : Number(value.toPrecision(3))}`;
    });
    return `${figure}: ${said.join(', ')}`;
  });
  return sheetOf(await Promise.all(filled.map(dotPanel)), {
    title,
    note,
    description: `${title}. ${figures.join('. ')}.`,
  });
}

async function dotPanel({ title, note, domain, rows }: MetricPanel): Promise<string> {
  const names = Array.from(new Set(rows.map(({ name }) => name)));
  const series = Array.from(new Set(rows.flatMap((row) => row.series ?? [])));
  const slices = chartLabels(names, 24);
  const labels = chartLabels(series);
  const [from, to] = domain ?? spanOf(rows);
  const values = rows.map((row) => ({
    slice: slices[names.indexOf(row.name)],
    series: row.series === undefined ? '' : labels[series.indexOf(row.series)],
    value: row.value,
    low: row.interval?.[0] ?? row.value,
    high: row.interval?.[1] ?? row.value,
    from,
  }));
  const known = values.filter(({ value }) => value !== null);
  const x = {
    field: 'value',
    type: 'quantitative',
    title: null,
    scale: { domain: [from, to], nice: false },
    axis: { grid: true },
  };
  const y = {
    field: 'slice',
    type: 'nominal',
    title: null,
    sort: null,
    scale: { domain: slices },
    axis: nameAxis(slices),
  };
  const several = labels.length > 1;
  const place = several
    ? { yOffset: { field: 'series', type: 'nominal', sort: null, scale: { domain: labels } } }
    : {};
  const colour = several ? { color: seriesScale(labels) } : {};
  const encoding = { x, y, ...place, ...colour };
  const data = { values: known };
  const plot = await renderPanel({
    title,
    ...(note === undefined ? {} : { subtitle: note }),
    height: 48 + names.length * Math.max(24, 15 * labels.length),
    layer: [
      {
        data,
        mark: { type: 'rule', strokeWidth: 2, color: COLOURS.main, aria: false },
        encoding: { ...encoding, x: { ...x, field: 'low' }, x2: { field: 'high' } },
      },
      {
        data,
        mark: { type: 'point', filled: true, size: 60, color: COLOURS.main, opacity: 1, aria: false },
        encoding,
      },
      {
        data: { values: values.filter(({ value }) => value === null) },
        mark: { type: 'text', text: 'no verdict', align: 'left', dx: 4, color: COLOURS.quiet, aria: false },
        encoding: { x: { ...x, field: 'from' }, y, ...place },
      },
    ],
  });
  // Points have no dashes.
  const entries = seriesEntries(labels).map(({ label, colour }) => ({ label, colour }));
  return several ? stacked([plot, legendStrip(entries, PANEL_WIDTH)]) : plot;
}

function spanOf(rows: readonly MetricRow[]): readonly [number, number] {
  const all = rows.flatMap(({ value, interval }) => (value === null ? [] : [value, ...(interval ?? [])]));
  const [least, greatest] = [Math.min(0, ...all), Math.max(0, ...all)];
  const room = (greatest - least) * 0.05 || 0.05;
  return [least < 0 ? least - room : 0, greatest > 0 ? greatest + room : 0];
}
