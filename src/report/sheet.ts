// Panels in a grid under one title, as one SVG: a page that is narrower lets the same panels wrap.
import { escaped } from './labels.ts';
import { type Chart, renderPng } from './render-chart.ts';
import { COLOURS, FONT, FONT_SIZE } from './style.ts';

export interface SheetOptions {
  readonly title: string;
  /** Under the title: how to read it. One line or more. */
  readonly note?: string | readonly string[];
  /** Panels side by side, 1 or more. Default 3. */
  readonly columns?: number;
  readonly description: string;
}

const MARGIN = 14;
const LINE = 15;
/** Px left of a text. */
const INDENT = 8;

/** @param panels SVGs, each with its width and height in px */
export async function sheetOf(panels: readonly string[], options: SheetOptions): Promise<Chart> {
  const { title, note = [], columns = 3, description } = options;
  const lines = typeof note === 'string' ? [note] : note;
  const { content, width, height } = grid(panels, Math.max(1, Math.min(columns, panels.length)));
  const header = titleStrip(title, lines, width);
  const top = MARGIN + sizeOf(header).height;
  const size = { width: width + 2 * MARGIN, height: top + height + MARGIN };
  const svg = [
    `${opening(size)}<rect width="${size.width}" height="${size.height}" fill="${COLOURS.surface}"/>`,
    header.replace('<svg', `<svg x="${MARGIN}" y="${MARGIN / 2}"`),
    `<g transform="translate(${MARGIN},${top})">`,
    ...content,
    '</g>',
    '</svg>',
  ].join('\n');
  return { svg, png: await renderPng(svg), panels, heading: [title, ...lines], description };
}

/** A title and the lines below it, broken where they are longer than the width. */
export function titleStrip(title: string, lines: readonly string[], width: number): string {
  const said = lines.flatMap((line) => wrapped(line, width - 2 * INDENT));
  const height = FONT_SIZE.heading + 8 + said.length * LINE + 4;
  const texts = said.map((line, place) =>
    svgText(line, {
      x: INDENT,
      y: FONT_SIZE.heading + 5 + (place + 1) * LINE,
      size: FONT_SIZE.label,
      colour: COLOURS.quiet,
    }),
  );
  return [
    `${opening({ width, height })}<rect width="${width}" height="${height}" fill="${COLOURS.surface}"/>`,
    svgText(title, { x: INDENT, y: FONT_SIZE.heading + 4, size: FONT_SIZE.heading, weight: 'bold' }),
    ...texts,
    '</svg>',
  ].join('\n');
}

/** Panels under each other as one panel, as wide as the widest. */
export function stacked(panels: readonly string[]): string {
  const { content, width, height } = grid(panels, 1);
  const ground = `<rect width="${width}" height="${height}" fill="${COLOURS.surface}"/>`;
  return [opening({ width, height }) + ground, ...content, '</svg>'].join('\n');
}

export function opening({ width, height }: { readonly width: number; readonly height: number }): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}">`;
}

function grid(panels: readonly string[], columns: number) {
  const sizes = panels.map(sizeOf);
  const across = Math.max(0, ...sizes.map(({ width }) => width));
  const content: string[] = [];
  let height = 0;
  for (let first = 0; first < panels.length; first += columns) {
    const row = panels.slice(first, first + columns);
    for (const [place, panel] of row.entries()) {
      const at = `<svg x="${place * across}" y="${height}"`;
      content.push(withIds(panel, `p${first + place}-`).replace('<svg', at));
    }
    height += Math.max(...sizes.slice(first, first + columns).map((size) => size.height));
  }
  return { content, width: across * Math.min(columns, panels.length), height };
}

/** Ids are names in the whole document: two panels must not share them. */
export function withIds(svg: string, prefix: string): string {
  return svg.replace(/<[^>]+>/g, (tag) =>
    tag.replace(/ id="/g, ` id="${prefix}`).replace(/url\(#/g, `url(#${prefix}`),
  );
}

function sizeOf(svg: string): { readonly width: number; readonly height: number } {
  const [, width, height] = /^<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? [];
  return { width: Number(width), height: Number(height) };
}

/** Lines of about the given width: SVG itself breaks none. */
function wrapped(line: string, width: number): readonly string[] {
  const most = Math.max(20, Math.floor(width / (FONT_SIZE.label * 0.5)));
  const lines: string[] = [];
  for (const word of line.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight?: 'bold';
  readonly colour?: string;
}

export function svgText(content: string, { x, y, size, weight, colour = COLOURS.text }: TextStyle): string {
  const bold = weight ? ` font-weight="${weight}"` : '';
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${colour}"${bold} xml:space="preserve">${escaped(content)}</text>`;
}
