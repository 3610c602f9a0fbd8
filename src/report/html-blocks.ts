// The parts of a report as HTML. Every text of the caller is escaped here, and nowhere else.
import { DataError } from '#core';
import { inlineSvg } from './inline-svg.ts';
import { escaped } from './labels.ts';
import type { Chart } from './render-chart.ts';

export interface TableColumn {
  readonly label: string;
  /** Digits after the point of its numbers. Default: whole numbers stay whole, others get 3. */
  readonly digits?: number;
}

/** Null: nothing to measure. */
export type TableCell = string | number | null;

export type ReportBlock =
  | { readonly kind: 'text'; readonly text: string }
  /** What a reader must not miss. */
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'figure'; readonly chart: Chart; readonly caption?: string }
  | {
      readonly kind: 'table';
      readonly caption: string;
      readonly columns: readonly TableColumn[];
      /** The first cell names its row. */
      readonly rows: readonly (readonly TableCell[])[];
    }
  /** Is opened by the reader; what is long or for few belongs here. */
  | { readonly kind: 'fold'; readonly label: string; readonly blocks: readonly ReportBlock[] };

type Table = Extract<ReportBlock, { readonly kind: 'table' }>;
type Figure = Extract<ReportBlock, { readonly kind: 'figure' }>;

/** @param id of the section; the ids of its charts begin with it */
export function blocksHtml(blocks: readonly ReportBlock[], id: string): string {
  const parts: string[] = [];
  let figures: string[] = [];
  const endFigures = () => {
    if (figures.length > 0) parts.push(`<div class="figures">\n${figures.join('\n')}\n</div>`);
    figures = [];
  };
  for (const [place, block] of blocks.entries()) {
    const html = blockHtml(block, `${id}-${place + 1}`);
    if (block.kind === 'figure') {
      figures.push(html);
      continue;
    }
    endFigures();
    parts.push(html);
  }
  endFigures();
  return parts.join('\n');
}

function blockHtml(block: ReportBlock, id: string): string {
  switch (block.kind) {
    case 'text':
      return `<p>${escaped(block.text)}</p>`;
    case 'warning':
      return `<p class="warning" role="note">${escaped(block.text)}</p>`;
    case 'figure':
      return figureHtml(block, id);
    case 'table':
      return tableHtml(block);
    case 'fold':
      return `<details><summary>${escaped(block.label)}</summary>\n${blocksHtml(block.blocks, id)}\n</details>`;
    default:
      return block satisfies never;
  }
}

function figureHtml({ chart, caption }: Figure, id: string): string {
  const { panels, heading = [], description } = chart;
  const [title, ...notes] = heading;
  const said = [
    ...(title ? [`<strong>${escaped(title)}</strong>`] : []),
    ...[...notes, ...(caption === undefined ? [] : [caption])].map((note) => `<span>${escaped(note)}</span>`),
  ];
  const boxes = panels.map((panel, place) => {
    const label = panels.length === 1 ? description : `${description} Part ${place + 1} of ${panels.length}.`;
    // Only the first part says it all: a reader hears the sentence once.
    const own = place === 0 ? label : `Part ${place + 1} of ${panels.length}.`;
    return `<div>${inlineSvg(panel, own, `${id}-${place + 1}-`)}</div>`;
  });
  return [
    '<figure>',
    ...(said.length > 0 ? [`<figcaption>${said.join(' ')}</figcaption>`] : []),
    `<div class="panels">${boxes.join('\n')}</div>`,
    '</figure>',
  ].join('\n');
}

function tableHtml({ caption, columns, rows }: Table): string {
  const wrong = rows.find((row) => row.length !== columns.length);
  if (wrong !== undefined) {
    throw new DataError(
      `table '${caption}': the row of ${wrong[0]} has ${wrong.length} cells, expected ${columns.length}`,
      { hint: 'give a cell, or null, for each column' },
    );
  }
  const words = columns.map((_, column) => rows.every((row) => typeof row[column] === 'string'));
  const open = (tag: string, column: number, scope = '') =>
    `<${tag}${scope}${words[column] && column > 0 ? ' class="words"' : ''}>`;
  const head = columns.map(
    ({ label }, column) => `${open('th', column, ' scope="col"')}${escaped(label)}</th>`,
  );
  const body = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const text = cellText(cell, columns[column]?.digits);
      return column === 0 ? `<th scope="row">${text}</th>` : `${open('td', column)}${text}</td>`;
    });
    return `<tr>${cells.join('')}</tr>`;
  });
  return [
    `<div class="scroll" tabindex="0" role="region" aria-label="${escaped(caption)}">`,
    `<table><caption>${escaped(caption)}</caption>`,
    `<thead><tr>${head.join('')}</tr></thead>`,
    `<tbody>\n${body.join('\n')}\n</tbody></table></div>`,
  ].join('\n');
}

function cellText(cell: TableCell, digits: number | undefined): string {
  if (typeof cell === 'string') return escaped(cell);
  if (cell === null || !Number.isFinite(cell)) return '–';
  return cell.toFixed(digits ?? (Number.isInteger(cell) ? 0 : 3)).replace(/^-/, '−');
}
