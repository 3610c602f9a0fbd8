// Which scores hits have and which false alarms have: where a threshold can part them.
import { DataError } from '#core';
import { shortened } from './labels.ts';
import { legendStrip } from './legend.ts';
import { countAxisY, PANEL_WIDTH, renderPanel, shareAxis } from './panel-spec.ts';
import type { Chart } from './render-chart.ts';
import { sheetOf, stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

/** Scores of one class or slice, each in [0, 1]. */
export interface ScoreGroup {
  readonly name: string;
  readonly hits: ArrayLike<number>;
  readonly falseAlarms: ArrayLike<number>;
}

const NAMES = ['hits', 'false alarms'] as const;

/**
 * A panel for each group; counts on a logarithmic axis, for false alarms of low score outnumber everything.
 * @throws DataError where no group has a detection
 */
export async function scoreHistogram(
  groups: readonly ScoreGroup[],
  { title = 'Scores of hits and false alarms', bins = 25, most = 12 } = {},
): Promise<Chart> {
  const filled = groups.filter(({ hits, falseAlarms }) => hits.length + falseAlarms.length > 0);
  if (filled.length === 0) {
    throw new DataError(`chart '${title}': no group has a detection`, {
      hint: 'evaluate on pictures with objects, or lower the least score',
    });
  }
  const size = ({ hits, falseAlarms }: ScoreGroup) => hits.length + falseAlarms.length;
  const drawn = filled.length > most ? filled.toSorted((a, b) => size(b) - size(a)).slice(0, most) : filled;
  const note =
    drawn.length < filled.length
      ? { note: `The ${drawn.length} of ${filled.length} with the most detections.` }
      : {};
  return sheetOf(await Promise.all(drawn.map((group) => panel(group, bins))), {
    title,
    ...note,
    description: `${title}: ${drawn.map(({ name, hits, falseAlarms }) => `${name}, ${hits.length} hits and ${falseAlarms.length} false alarms`).join('; ')}.`,
  });
}

async function panel({ name, hits, falseAlarms }: ScoreGroup, bins: number): Promise<string> {
  const values = [hits, falseAlarms].flatMap((scores, kind) =>
    Array.from(countScores(scores, bins), (count, bin) => ({
      kind: NAMES[kind],
      from: bin / bins,
      to: (bin + 1) / bins,
      count,
      zero: 0,
    })),
  );
  const greatest = Math.max(...values.map(({ count }) => count));
  const x = shareAxis('from', 'score');
  const y = countAxisY('count', 'detections', greatest);
  const colours = { domain: NAMES, range: [COLOURS.main, COLOURS.against] };
  const color = { field: 'kind', type: 'nominal', scale: colours, legend: null };
  const steps = values.flatMap((row) => [row.from, row.to].map((at) => ({ ...row, at })));
  const plot = await renderPanel({
    title: shortened(name, 32),
    subtitle: `${hits.length} hits, ${falseAlarms.length} false alarms`,
    height: 210,
    layer: [
      {
        data: { values },
        mark: { type: 'rect', opacity: 0.3, aria: false },
        encoding: {
          x,
          x2: { field: 'to' },
          y,
          y2: { field: 'zero' },
          color,
        },
      },
      {
        data: { values: steps },
        mark: { type: 'line', strokeWidth: 1.8, aria: false },
        encoding: {
          x: { ...x, field: 'at' },
          y,
          order: { value: null },
          color,
        },
      },
    ],
  });
  const entries = NAMES.map((label, place) => ({ label, colour: colours.range[place] ?? '', opacity: 0.5 }));
  return stacked([plot, legendStrip(entries, PANEL_WIDTH)]);
}

function countScores(scores: ArrayLike<number>, bins: number): Float64Array {
  const counts = new Float64Array(bins);
  for (let row = 0; row < scores.length; row++) {
    const score = scores[row] ?? Number.NaN;
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(score * bins)));
    if (Number.isFinite(score)) counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}
