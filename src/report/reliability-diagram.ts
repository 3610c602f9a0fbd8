// Does a confidence come true: per class as small multiples, per slice in one picture; always with the counts.
import { DataError } from '#core';
import { chartLabels } from './labels.ts';
import { legendStrip, seriesEntries } from './legend.ts';
import {
  countAxisY,
  diagonal,
  PANEL_WIDTH,
  renderPanel,
  seriesEncoding,
  shareAxis,
  shareAxisY,
} from './panel-spec.ts';
import { type Chart, singleChart } from './render-chart.ts';
import { sheetOf, stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

/** Detections of like confidence. Bins may be of any width: the edges come with them. */
export interface ReliabilityBin {
  /** Edges of the bin, in [0, 1]. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly meanConfidence: number;
  /** Share that is right, or mean quality. */
  readonly meanTarget: number;
  /** Interval of `meanTarget`. */
  readonly interval?: readonly [low: number, high: number];
}

/** Bins of one class or of one slice. */
export interface ReliabilitySeries {
  readonly name: string;
  readonly bins: readonly ReliabilityBin[];
  /** The figures beside it, such as `D-ECE 0.043`. */
  readonly note?: string;
}

export interface ReliabilityOptions {
  readonly title?: string;
  /** What should have come true. Default `share that is right`. */
  readonly target?: string;
  /** Diagrams drawn: those with the most detections. Default 12. */
  readonly most?: number;
}

const HEIGHT = { diagram: 220, counts: 90 };

/**
 * One diagram per class. The most frequent ones only, and the note says so.
 * @throws DataError where no bin holds a detection
 */
export async function reliabilityDiagrams(
  series: readonly ReliabilitySeries[],
  { title = 'Reliability by class', target = 'share that is right', most = 12 }: ReliabilityOptions = {},
): Promise<Chart> {
  const filled = filledSeries(series, title);
  const drawn = filled.toSorted((a, b) => total(b.bins) - total(a.bins)).slice(0, most);
  const limited =
    drawn.length < filled.length
      ? [`The ${drawn.length} of ${filled.length} classes with the most detections.`]
      : [];
  const note = [
    'Bars: what came true in each bin; points: at the mean confidence of the bin; dashes: said and true agree.',
    ...limited,
  ];
  return sheetOf(await Promise.all(drawn.map((one) => diagram(one, target))), {
    title,
    note,
    description:
      `${title}: ${target} against confidence for ${drawn.map(({ name }) => name).join(', ')}. ${limited.join('')}`.trim(),
  });
}

/**
 * The slices of one evaluation, such as day and dusk, over each other.
 * @throws DataError where no bin holds a detection
 */
export async function reliabilityOverlay(
  series: readonly ReliabilitySeries[],
  { title = 'Reliability by slice', target = 'share that is right' }: Omit<ReliabilityOptions, 'most'> = {},
): Promise<Chart> {
  const filled = filledSeries(series, title);
  const labels = chartLabels(filled.map(({ name }) => name));
  const rows = filled.flatMap(({ bins }, place) => bins.map((bin) => ({ ...bin, series: labels[place] })));
  const [x, y] = [shareAxis('meanConfidence', ''), shareAxisY('meanTarget', target)];
  const encoding = { x, y, ...seriesEncoding(labels) };
  const curves = await renderPanel({
    title,
    subtitle: filled.flatMap(({ note }, place) => (note === undefined ? [] : [`${labels[place]}: ${note}`])),
    height: HEIGHT.diagram + 30,
    layer: [
      diagonal(0, 1, { x, y }),
      ...intervals(rows, { x, y }, { color: encoding.color }),
      { data: { values: rows }, mark: { type: 'line', strokeWidth: 2, aria: false }, encoding },
      {
        data: { values: rows },
        mark: { type: 'point', filled: true, size: 30, opacity: 1, aria: false },
        encoding,
      },
    ],
  });
  const greatest = Math.max(...rows.map(({ count }) => count));
  const steps = filled.flatMap(({ bins }, place) =>
    bins.flatMap(({ from, to, count }) => [from, to].map((at) => ({ at, count, series: labels[place] }))),
  );
  const counts = await renderPanel({
    title: '',
    height: HEIGHT.counts,
    layer: [
      {
        data: { values: steps },
        mark: { type: 'line', strokeWidth: 1.6, aria: false },
        encoding: {
          x: shareAxis('at', 'confidence'),
          y: countAxisY('count', 'detections', greatest),
          order: { value: null },
          ...seriesEncoding(labels),
        },
      },
    ],
  });
  return singleChart(
    stacked([curves, legendStrip(seriesEntries(labels), PANEL_WIDTH), counts]),
    `${title}: ${target} against confidence for ${filled.map(({ name, note }) => (note ? `${name} (${note})` : name)).join(', ')}.`,
  );
}

function filledSeries(series: readonly ReliabilitySeries[], title: string): readonly ReliabilitySeries[] {
  const filled = series
    .map((one) => ({ ...one, bins: one.bins.filter(({ count }) => count > 0) }))
    .filter(({ bins }) => bins.length > 0);
  if (filled.length > 0) return filled;
  throw new DataError(`chart '${title}': no bin holds a detection`, {
    hint: 'evaluate on pictures with objects, or lower the least score',
  });
}

function total(bins: readonly ReliabilityBin[]): number {
  return bins.reduce((sum, { count }) => sum + count, 0);
}

async function diagram({ name, bins, note }: ReliabilitySeries, target: string): Promise<string> {
  const [x, y] = [shareAxis('meanConfidence', ''), shareAxisY('meanTarget', target)];
  const values = bins.map((bin) => ({ ...bin, zero: 0 }));
  const edges = { x: { ...x, field: 'from' }, x2: { field: 'to' } };
  const said = [`${total(bins)} detections`, ...(note === undefined ? [] : [note])].join(', ');
  const upper = await renderPanel({
    title: chartLabels([name], 32)[0] ?? '',
    subtitle: said,
    height: HEIGHT.diagram,
    layer: [
      {
        data: { values },
        mark: { type: 'rect', color: COLOURS.light, opacity: 0.55, stroke: COLOURS.surface, aria: false },
        encoding: { ...edges, y, y2: { field: 'zero' } },
      },
      diagonal(0, 1, { x, y }),
      ...intervals(values, { x, y }, { color: { value: COLOURS.dark } }),
      {
        data: { values },
        mark: { type: 'point', filled: true, color: COLOURS.dark, size: 36, opacity: 1, aria: false },
        encoding: { x, y },
      },
    ],
  });
  const greatest = Math.max(...bins.map(({ count }) => count));
  const lower = await renderPanel({
    title: '',
    height: HEIGHT.counts,
    layer: [
      {
        data: { values },
        mark: { type: 'rect', color: COLOURS.main, stroke: COLOURS.surface, aria: false },
        encoding: {
          x: { ...shareAxis('from', 'confidence') },
          x2: { field: 'to' },
          y: countAxisY('count', 'detections', greatest),
          y2: { field: 'zero' },
        },
      },
    ],
  });
  return stacked([upper, lower]);
}

function intervals(
  bins: readonly ReliabilityBin[],
  { x, y }: { readonly x: object; readonly y: object },
  encoding: object,
): readonly object[] {
  const values = bins.flatMap((bin) =>
    bin.interval === undefined ? [] : [{ ...bin, low: bin.interval[0], high: bin.interval[1] }],
  );
  if (values.length === 0) return [];
  return [
    {
      data: { values },
      mark: { type: 'rule', strokeWidth: 1.3, opacity: 0.6, aria: false },
      encoding: { ...encoding, x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
    },
  ];
}
