// Names of series under a panel. vega's own legend takes its room from the plot, and guesses it.

import { escaped } from './labels.ts';
import { opening, svgText } from './sheet.ts';
import { COLOURS, FONT_SIZE, SERIES_COLOURS, SERIES_DASHES } from './style.ts';

export interface LegendEntry {
  readonly label: string;
  readonly colour: string;
  /** Dashes of a line; without, an area. */
  readonly dash?: readonly number[];
  /** Of a line, px. Default 2. */
  readonly width?: number;
  /** Of an area. Default 1. */
  readonly opacity?: number;
}

const ROW = 17;
const LEFT = 42;
const SAMPLE = 22;
/** Px of a sign, on the safe side. */
const SIGN = 5.6;

/** An SVG of the given width; entries in columns that are wide enough for the longest. */
export function legendStrip(entries: readonly LegendEntry[], width: number): string {
  const longest = Math.max(...entries.map(({ label }) => label.length));
  const room = width - LEFT;
  const columns = Math.max(1, Math.min(entries.length, Math.floor(room / (SAMPLE + 12 + longest * SIGN))));
  const across = Math.min(room / columns, SAMPLE + 24 + longest * SIGN);
  const height = Math.ceil(entries.length / columns) * ROW + 8;
  const parts = entries.map((entry, place) => {
    const [x, y] = [LEFT + (place % columns) * across, Math.floor(place / columns) * ROW + ROW / 2];
    return sample(entry, x, y) + svgText(entry.label, { x: x + SAMPLE + 6, y: y + 4, size: FONT_SIZE.label });
  });
  const ground = `<rect width="${width}" height="${height}" fill="${COLOURS.surface}"/>`;
  return [opening({ width, height }) + ground, ...parts, '</svg>'].join('\n');
}

function sample({ colour, dash, width = 2, opacity = 1 }: LegendEntry, x: number, y: number): string {
  if (dash === undefined) {
    return `<rect x="${x + 8}" y="${y - 6}" width="12" height="12" fill="${colour}" fill-opacity="${opacity}" stroke="${COLOURS.quiet}" stroke-width="0.5"/>`;
  }
  const dashes = dash[1] === 0 ? '' : ` stroke-dasharray="${escaped(dash.join(','))}"`;
  return `<line x1="${x}" x2="${x + SAMPLE}" y1="${y}" y2="${y}" stroke="${colour}" stroke-width="${width}"${dashes}/>`;
}

/** As `seriesEncoding` draws them. */
export function seriesEntries(labels: readonly string[], emphasised?: string): readonly LegendEntry[] {
  const lines = labels.map((label, place) => ({
    label,
    colour: SERIES_COLOURS[place % SERIES_COLOURS.length] ?? COLOURS.main,
    dash: SERIES_DASHES[place % SERIES_DASHES.length] ?? [1, 0],
  }));
  if (emphasised === undefined) return lines;
  return [{ label: emphasised, colour: COLOURS.dark, dash: [1, 0], width: 3 }, ...lines];
}
