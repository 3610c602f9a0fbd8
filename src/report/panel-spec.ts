// What the panels of reports have in common: their width, axes over shares and counts, curves told apart twice.
import type { TopLevelSpec } from 'vega-lite';
import { renderSpec } from './render-chart.ts';
import { stacked, titleStrip } from './sheet.ts';
import { COLOURS, SERIES_COLOURS, SERIES_DASHES } from './style.ts';

/** Px: beside the margins of a page it fits a phone of 390. */
export const PANEL_WIDTH = 344;

/** px kept for the labels of the y axis, so that panels under each other line up. */
export const Y_EXTENT = 34;

export interface Panel {
  readonly title: string;
  readonly subtitle?: string | readonly string[];
  /** Px of plot and axes. */
  readonly height: number;
  readonly layer: readonly object[];
}

/** A panel of exactly the common width. vega would take the room of a long title from the plot: ours stands above. */
export async function renderPanel({ title, subtitle = [], height, layer }: Panel): Promise<string> {
  const spec = { width: PANEL_WIDTH, height, autosize: { type: 'fit', contains: 'padding' }, layer };
  const plot = await renderSpec(spec as unknown as TopLevelSpec);
  if (title === '') return plot;
  return stacked([
    titleStrip(title, typeof subtitle === 'string' ? [subtitle] : subtitle, PANEL_WIDTH),
    plot,
  ]);
}

export function shareAxis(field: string, title: string, domain: readonly [number, number] = [0, 1]) {
  return { field, type: 'quantitative', title, scale: { domain, nice: false, zero: false } };
}

/** The same on the y axis, with room for its labels. */
export function shareAxisY(field: string, title: string, domain: readonly [number, number] = [0, 1]) {
  return { ...shareAxis(field, title, domain), axis: { minExtent: Y_EXTENT } };
}

/** Axis over counts of which some are thousands and some none: linear below 1, logarithmic above. */
export function countAxisY(field: string, title: string, greatest: number) {
  const powers = Array.from({ length: 9 }, (_, power) => 10 ** power).filter((value) => value <= greatest);
  const thinned = powers.length > 4 ? powers.filter((_, place) => place % 2 === 0) : powers;
  return {
    field,
    type: 'quantitative',
    title,
    axis: { values: [0, ...thinned], labelExpr: "format(datum.value, '~s')", minExtent: Y_EXTENT },
    scale: { type: 'symlog', constant: 1, domain: [0, Math.max(1, greatest)], nice: false },
  };
}

/** Colours of named series. `legendStrip` names them.
 * @param emphasised one more series that stands out
 */
export function seriesScale(labels: readonly string[], emphasised?: string) {
  return scaleOver(labels, SERIES_COLOURS, emphasised === undefined ? [] : [[emphasised, COLOURS.dark]]);
}

/** Colour and dashes of named series. */
export function seriesEncoding(labels: readonly string[], emphasised?: string) {
  const dashes = scaleOver(labels, SERIES_DASHES, emphasised === undefined ? [] : [[emphasised, [1, 0]]]);
  return { color: seriesScale(labels, emphasised), strokeDash: dashes };
}

function scaleOver(
  labels: readonly string[],
  values: readonly unknown[],
  more: readonly (readonly [label: string, value: unknown])[],
) {
  const domain = [...labels, ...more.map(([label]) => label)];
  const range = [
    ...labels.map((_, place) => values[place % values.length]),
    ...more.map(([, value]) => value),
  ];
  return { field: 'series', type: 'nominal', sort: null, scale: { domain, range }, legend: null };
}

/** Where what was said came true. */
export function diagonal(from: number, to: number, axes: { readonly x: object; readonly y: object }): object {
  return {
    data: {
      values: [
        { diagonalX: from, diagonalY: from },
        { diagonalX: to, diagonalY: to },
      ],
    },
    mark: { type: 'line', color: COLOURS.quiet, strokeDash: [3, 3], strokeWidth: 1 },
    encoding: { x: { ...axes.x, field: 'diagonalX' }, y: { ...axes.y, field: 'diagonalY' } },
  };
}

/**
 * Axis of names. vega guesses the width of a text half again too large, so the room is set here.
 * @param labels what stands beside it
 */
export function nameAxis(labels: readonly string[]) {
  const extent = Math.ceil(Math.max(...labels.map((label) => label.length)) * 6 + 8);
  return { labelLimit: 400, labelOverlap: false, grid: false, minExtent: extent, maxExtent: extent };
}

/** At most so many of a list, evenly, with its first and last. */
export function thinned<T>(values: ArrayLike<T>, most: number): readonly T[] {
  const { length } = values;
  if (length <= most) return Array.from(values);
  return Array.from(
    { length: most },
    (_, place) => values[Math.round((place * (length - 1)) / (most - 1))] as T,
  );
}

/** `0.62`; `none` for what is no number. */
export function decimals(value: number, digits = 2): string {
  return Number.isFinite(value) ? value.toFixed(digits) : 'none';
}
