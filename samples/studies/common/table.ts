// Summaries as tables in Markdown, which terminals and READMEs both show.
import type { ArmSummary, Range } from './summary.ts';

export interface Column {
  /** Name of the figure. */
  readonly figure: string;
  readonly title: string;
  readonly digits?: number;
  /** The figure is 0 or 1: `2 of 3` says how many seeds it was 1 for. */
  readonly counts?: boolean;
}

/** One row per arm, `mean (low to high)` over the seeds in each cell. */
export function figureTable(
  summaries: readonly ArmSummary[],
  columns: readonly Column[],
  kind: 'figures' | 'differences' = 'figures',
): string {
  const signed = kind === 'differences';
  const rows = summaries.flatMap((summary) => {
    const ranges = summary[kind];
    if (ranges === undefined) return [];
    return [[summary.arm, ...columns.map((column) => cellOf(column, ranges[column.figure], signed))]];
  });
  return markdownTable(['', ...columns.map(({ title }) => title)], rows);
}

function cellOf(
  { digits = 3, counts = false }: Column,
  range: Range | null | undefined,
  signed: boolean,
): string {
  if (range == null) return '–';
  if (counts) return `${Math.round(range.mean * range.count)} of ${range.count}`;
  const { mean, low, high } = range;
  const [center, from, to] = [mean, low, high].map((value) => short(value, digits, signed));
  return range.count === 1 ? `${center}` : `${center} (${from} to ${to})`;
}

/** `.459` for 0.459: the figures of a study lie in [-1, 1], and the table is wide enough without their zeros. */
function short(value: number, digits: number, signed: boolean): string {
  const text = value.toFixed(digits).replace(/^(-?)0\./, '$1.');
  return signed && value >= 0 ? `+${text}` : text;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
