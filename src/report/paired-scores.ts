// The same object seen twice, such as by day and at dusk: both scores against each other, and what the difference is.
import { DataError } from '#core';
import { chartLabels, shortened } from './labels.ts';
import { decimals, diagonal, nameAxis, renderPanel, shareAxis, shareAxisY, thinned } from './panel-spec.ts';
import { type Chart, singleChart } from './render-chart.ts';
import { sheetOf } from './sheet.ts';
import { COLOURS } from './style.ts';

/** Pairs of one camera, class or slice. */
export interface PairedGroup {
  readonly name: string;
  /** [K] each, in [0, 1]; equal places are a pair. */
  readonly before: ArrayLike<number>;
  readonly after: ArrayLike<number>;
}

export interface PairedOptions {
  readonly title?: string;
  /** What the two are. */
  readonly labels: readonly [before: string, after: string];
  /** Groups drawn: those with the most pairs. Default 12 in `pairedScores`, 40 in `pairedDifferences`. */
  readonly most?: number;
}

/** Points of one panel: more would be one blot, and a heavy file. */
const POINTS = 400;

/**
 * A panel for each group: every pair a point, on the dashes where nothing changed.
 * @throws DataError where no group has a pair, or its two lists differ in length
 */
export async function pairedScores(
  groups: readonly PairedGroup[],
  { title, labels, most = 12 }: PairedOptions,
): Promise<Chart> {
  const [before, after] = labels;
  const heading = title ?? `Scores, ${before} and ${after}`;
  const filled = filledGroups(groups, heading);
  const drawn = largest(filled, most);
  const note = [
    `Below the dashes: less sure in ${after} than in ${before}. Cross: the medians.`,
    ...(drawn.length < filled.length ? [`The ${drawn.length} of ${filled.length} with the most pairs.`] : []),
  ];
  return sheetOf(await Promise.all(drawn.map((group) => scatter(group, labels))), {
    title: heading,
    note,
    description: `${heading}: ${drawn.map((group) => `${group.name}, ${group.before.length} pairs, median difference ${decimals(quantile(differencesOf(group), 0.5), 3)}`).join('; ')}.`,
  });
}

async function scatter(group: PairedGroup, labels: PairedOptions['labels']): Promise<string> {
  const { name, before, after } = group;
  const pairs = Array.from(before, (from, place) => ({ before: from, after: after[place] ?? 0 }));
  const drawn = thinned(pairs, POINTS);
  const [x, y] = [shareAxis('before', `score, ${labels[0]}`), shareAxisY('after', `score, ${labels[1]}`)];
  const medians = { before: quantile(rising(before), 0.5), after: quantile(rising(after), 0.5) };
  const some = drawn.length < pairs.length ? `, ${drawn.length} drawn` : '';
  const opacity = drawn.length > 150 ? 0.35 : 0.6;
  return renderPanel({
    title: shortened(name, 32),
    subtitle: `${pairs.length} pairs${some}; medians ${decimals(medians.before)} and ${decimals(medians.after)}`,
    height: 300,
    layer: [
      {
        data: { values: drawn },
        mark: { type: 'point', filled: true, size: 18, color: COLOURS.main, opacity, aria: false },
        encoding: { x, y },
      },
      diagonal(0, 1, { x, y }),
      {
        data: { values: [medians] },
        mark: {
          type: 'point',
          shape: 'cross',
          filled: true,
          size: 170,
          color: COLOURS.against,
          stroke: COLOURS.surface,
          opacity: 1,
          aria: false,
        },
        encoding: { x, y },
      },
    ],
  });
}

/**
 * Boxes of the difference of each pair: median, middle half, and from the 5th to the 95th of a hundred.
 * @throws DataError where no group has a pair, or its two lists differ in length
 */
export async function pairedDifferences(
  groups: readonly PairedGroup[],
  { title, labels, most = 40 }: PairedOptions,
): Promise<Chart> {
  const [before, after] = labels;
  const heading = title ?? `Difference of the score, ${after} less ${before}`;
  const filled = filledGroups(groups, heading);
  const drawn = largest(filled, most);
  const names = chartLabels(
    drawn.map(({ name, before: { length } }) => `${shortened(name, 14)} (${length})`),
    30,
  );
  const values = drawn.map((group, place) => {
    const sorted = differencesOf(group);
    const [p5, p25, p50, p75, p95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => quantile(sorted, share));
    return { name: names[place], p5, p25, p50, p75, p95 };
  });
  const reach = Math.min(1, Math.max(0.05, ...values.flatMap(({ p5, p95 }) => [-(p5 ?? 0), p95 ?? 0])) * 1.1);
  const limited =
    drawn.length < filled.length ? [`the ${drawn.length} of ${filled.length} with the most pairs`] : [];
  const svg = await renderPanel({
    title: heading,
    subtitle: [...limited, 'line: median; box: middle half; whiskers: 5 to 95 %', 'in brackets: pairs'],
    height: 64 + 24 * drawn.length,
    layer: differenceLayer(values, reach, names),
  });
  return singleChart(
    svg,
    `${heading}: ${values.map(({ name, p50 = 0 }) => `${name} median ${decimals(p50, 3)}`).join('; ')}.`,
  );
}

function differenceLayer(values: readonly object[], reach: number, names: readonly string[]) {
  const x = shareAxis('p5', 'difference of the score', [-reach, reach]);
  const y = {
    field: 'name',
    type: 'nominal',
    title: null,
    sort: names,
    axis: nameAxis(names),
  };
  const data = { values };
  return [
    {
      data: { values: [{ p5: 0 }] },
      mark: { type: 'rule', color: COLOURS.quiet, strokeDash: [3, 3], aria: false },
      encoding: { x },
    },
    {
      data,
      mark: { type: 'rule', color: COLOURS.main, aria: false },
      encoding: { x, x2: { field: 'p95' }, y },
    },
    {
      data,
      mark: { type: 'bar', color: COLOURS.light, stroke: COLOURS.main, height: { band: 0.5 }, aria: false },
      encoding: { x: { ...x, field: 'p25' }, x2: { field: 'p75' }, y },
    },
    {
      data,
      mark: { type: 'tick', color: COLOURS.dark, thickness: 2.5, height: { band: 0.6 }, aria: false },
      encoding: { x: { ...x, field: 'p50' }, y },
    },
  ];
}

function filledGroups(groups: readonly PairedGroup[], title: string): readonly PairedGroup[] {
  for (const { name, before, after } of groups) {
    if (before.length === after.length) continue;
    throw new DataError(
      `chart '${title}': ${name} has ${before.length} scores before and ${after.length} after`,
      { hint: 'a pair has one of each' },
    );
  }
  const filled = groups.filter(({ before }) => before.length > 0);
  if (filled.length > 0) return filled;
  throw new DataError(`chart '${title}': no group has a pair`, {
    hint: 'compare recordings that show the same objects or places',
  });
}

function largest(groups: readonly PairedGroup[], most: number): readonly PairedGroup[] {
  if (groups.length <= most) return groups;
  return groups.toSorted((a, b) => b.before.length - a.before.length).slice(0, most);
}

/** Rising. */
function differencesOf({ before, after }: PairedGroup): Float64Array {
  return rising(Array.from(before, (from, place) => (after[place] ?? 0) - from));
}

function rising(values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values).sort();
}

/** Linear between ranks (Hyndman and Fan, 1996, definition 7). */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
  return low + (high - low) * (at - Math.floor(at));
}
