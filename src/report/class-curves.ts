// Curves per class and their mean: precision over recall; F1, precision and recall over confidence.
import { DataError } from '#core';
import { chartLabels } from './labels.ts';
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
import { type Chart, singleChart } from './render-chart.ts';
import { stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

/** One line of a chart over classes. */
export interface ClassCurve {
  readonly name: string;
  /** Objects of the class: the most frequent ones get a colour and a name. */
  readonly count: number;
  /** [T], each in [0, 1]. */
  readonly values: ArrayLike<number>;
}

export interface PrecisionRecallCurve extends ClassCurve {
  /** Area under it; stands beside the name. */
  readonly averagePrecision?: number;
}

export interface PrecisionRecallOptions {
  /** [T] rising, in [0, 1]; `values` of the curves are the precision there. */
  readonly recalls: ArrayLike<number>;
  readonly classes: readonly PrecisionRecallCurve[];
  readonly mean?: { readonly values: ArrayLike<number>; readonly averagePrecision?: number };
  /** Overlap that makes a hit. */
  readonly iou: number;
}

export interface ConfidenceCurveOptions {
  readonly quantity: 'F1' | 'precision' | 'recall';
  /** [T] rising, in [0, 1]. */
  readonly thresholds: ArrayLike<number>;
  readonly classes: readonly ClassCurve[];
  readonly mean?: ArrayLike<number>;
  /** Is marked. */
  readonly best?: { readonly threshold: number; readonly value: number };
}

/** Lines that a reader can tell apart. */
const NAMED = 6;
/** Points of a line: more than there are px. */
const POINTS = 201;
const HEIGHT = 280;

/** @throws DataError without a class, or where a curve is not as long as `recalls` */
export async function precisionRecallChart(options: PrecisionRecallOptions): Promise<Chart> {
  const { recalls, classes, mean, iou } = options;
  const withArea = (name: string, area: number | undefined) =>
    area === undefined ? name : `${name} ${decimals(area)}`;
  const title = 'Precision and recall';
  return classCurves({
    title,
    note: `at IoU ${iou}${mean?.averagePrecision === undefined ? '' : `; beside the names: average precision`}`,
    axes: ['recall', 'precision'],
    positions: recalls,
    classes: classes.map((curve) => ({ ...curve, after: withArea('', curve.averagePrecision) })),
    ...(mean === undefined
      ? {}
      : { mean: mean.values, meanLabel: withArea('all classes', mean.averagePrecision) }),
  });
}

/** @throws DataError without a class, or where a curve is not as long as `thresholds` */
export async function confidenceChart(options: ConfidenceCurveOptions): Promise<Chart> {
  const { quantity, thresholds, classes, mean, best } = options;
  const found =
    best === undefined
      ? 'by the least confidence that is kept'
      : `best ${decimals(best.value)} at confidence ${decimals(best.threshold, 3)}`;
  return classCurves({
    title: `${quantity === 'F1' ? 'F1' : `${quantity[0]?.toUpperCase()}${quantity.slice(1)}`} and confidence`,
    note: found,
    axes: ['confidence', quantity],
    positions: thresholds,
    classes,
    ...(mean === undefined ? {} : { mean, meanLabel: 'all classes' }),
    ...(best === undefined ? {} : { best }),
  });
}

interface Curves {
  readonly title: string;
  readonly note: string;
  readonly axes: readonly [x: string, y: string];
  readonly positions: ArrayLike<number>;
  readonly classes: readonly (ClassCurve & { readonly after?: string })[];
  readonly mean?: ArrayLike<number>;
  readonly meanLabel?: string;
  readonly best?: { readonly threshold: number; readonly value: number };
}

async function classCurves(curves: Curves): Promise<Chart> {
  const { title, note, axes, positions, classes, mean } = curves;
  if (classes.length === 0) {
    throw new DataError(`chart '${title}': there is no class to draw`, {
      hint: 'give the curves of at least one class',
    });
  }
  for (const { name, values } of [...classes, ...(mean ? [{ name: 'mean', values: mean }] : [])]) {
    if (values.length === positions.length) continue;
    throw new DataError(
      `chart '${title}': the curve of ${name} has ${values.length} points, expected ${positions.length}`,
      { hint: 'give one value for each position' },
    );
  }
  const byCount = classes.map((_, place) => place).sort((a, b) => countOf(classes, b) - countOf(classes, a));
  const named = byCount.slice(0, NAMED);
  const rest = byCount.slice(NAMED);
  const subtitle = [
    note,
    ...(rest.length > 0
      ? [`named: the ${named.length} most frequent of ${classes.length} classes; thin: the others`]
      : []),
  ];
  const labels = labelsOf(classes, named);
  const panel = await renderPanel({
    title,
    subtitle,
    height: HEIGHT,
    layer: layersOf(curves, { named, rest, labels }),
  });
  const entries = seriesEntries(labels, mean && curves.meanLabel);
  return singleChart(
    stacked([panel, legendStrip(entries, PANEL_WIDTH)]),
    `${title}: curves of ${axes[1]} over ${axes[0]} for ${classes.length} classes${mean ? ' and their mean' : ''}; ${note}.`,
  );
}

function countOf(classes: readonly ClassCurve[], place: number): number {
  return classes[place]?.count ?? 0;
}

function labelsOf(classes: Curves['classes'], named: readonly number[]): readonly string[] {
  const names = chartLabels(
    named.map((place) => classes[place]?.name ?? ''),
    15,
  );
  return names.map((name, place) => name + (classes[named[place] ?? -1]?.after ?? ''));
}

interface Picked {
  /** Places of the classes with a name, and of the others. */
  readonly named: readonly number[];
  readonly rest: readonly number[];
  readonly labels: readonly string[];
}

function layersOf(curves: Curves, { named, rest, labels }: Picked): readonly object[] {
  const { axes, positions, classes, mean, meanLabel = '', best } = curves;
  const picked = thinned(
    Array.from(positions, (_, place) => place),
    POINTS,
  );
  const rows = (values: ArrayLike<number>, series: string) =>
    picked.map((place) => ({ at: positions[place], value: values[place], series }));
  const x = shareAxis('at', axes[0]);
  const y = shareAxisY('value', axes[1]);
  const encoding = {
    x,
    y,
    order: { value: null },
    ...seriesEncoding(labels, mean && meanLabel),
  };
  const unnamed = rest.flatMap((place) => rows(classes[place]?.values ?? [], `${place}`));
  const lines = named.flatMap((place, line) => rows(classes[place]?.values ?? [], labels[line] ?? ''));
  return [
    ...(unnamed.length === 0
      ? []
      : [
          {
            data: { values: unnamed },
            mark: { type: 'line', color: COLOURS.faint, strokeWidth: 0.7 },
            encoding: { x, y, order: { value: null }, detail: { field: 'series' } },
          },
        ]),
    { data: { values: lines }, mark: { type: 'line', strokeWidth: 1.5 }, encoding },
    ...(mean === undefined
      ? []
      : [{ data: { values: rows(mean, meanLabel) }, mark: { type: 'line', strokeWidth: 3 }, encoding }]),
    ...(best === undefined ? [] : bestMarks(best, x, y)),
  ];
}

function bestMarks(best: { readonly threshold: number; readonly value: number }, x: object, y: object) {
  const data = { values: [{ at: best.threshold, value: best.value }] };
  return [
    { data, mark: { type: 'rule', color: COLOURS.quiet, strokeDash: [3, 3] }, encoding: { x } },
    {
      data,
      mark: {
        type: 'point',
        filled: true,
        color: COLOURS.dark,
        stroke: COLOURS.surface,
        size: 90,
        opacity: 1,
      },
      encoding: { x, y },
    },
  ];
}
