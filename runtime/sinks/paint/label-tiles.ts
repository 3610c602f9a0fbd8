// Text for labels, drawn once: a tile per class name and one per digit, put together for each label.
import { renderSvg } from '#data/images';
import type { Mask } from './canvas.ts';

/** Tiles that are kept; the oldest go first. 80 classes in three sizes fit. */
const MAX_TILES = 512;
const SIGNS = '0123456789.±#';
const MAX_NAME_LETTERS = 40;

export interface LabelTiles {
  /** Draws what is missing for these names. Must be awaited before `compose`. */
  prepare(names: readonly string[], fontPx: number): Promise<void>;
  /** The label `name 0.82 ±0.06` with a margin around; even width and height. Valid until the next call. */
  compose(name: string, numbers: string, fontPx: number): Mask;
}

/** @param onNotice told once where no font is found, so that labels stay without text */
export function createLabelTiles(onNotice: (message: string) => void): LabelTiles {
  const tiles = new Map<string, Mask>();
  let toldOfFonts = false;
  let scratch = new Uint8Array(0);

  const keep = async (key: string, text: string, fontPx: number, cellPx: number | undefined) => {
    if (tiles.has(key)) return;
    const tile = await renderText(text, fontPx, cellPx);
    tiles.set(key, tile);
    if (!toldOfFonts && text.trim() !== '' && !tile.coverage.some((value) => value > 0)) {
      toldOfFonts = true;
      onNotice('no font was found here, so boxes are painted without text; install fonts-dejavu-core');
    }
  };

  return {
    async prepare(names, fontPx) {
      const hasSigns = tiles.has(`${fontPx} ${SIGNS[0]}`);
      if (hasSigns && names.every((name) => tiles.has(`${fontPx} name ${name}`))) return;
      const wanted = [...SIGNS].map((sign) =>
        keep(`${fontPx} ${sign}`, sign, fontPx, signWidth(sign, fontPx)),
      );
      const missing = new Set(names.filter((name) => !tiles.has(`${fontPx} name ${name}`)));
      await Promise.all([
        ...wanted,
        ...[...missing].map((name) => keep(`${fontPx} name ${name}`, name, fontPx, undefined)),
      ]);
      const needed = SIGNS.length + new Set(names).size;
      for (const key of tiles.keys()) {
        if (tiles.size <= Math.max(MAX_TILES, needed)) break;
        if (!isNeeded(key, names, fontPx)) tiles.delete(key);
      }
    },
    compose(name, numbers, fontPx) {
      const margin = Math.round(fontPx * 0.35);
      const parts = [
        tiles.get(`${fontPx} name ${name}`),
        undefined,
        ...[...numbers].map((sign) => tiles.get(`${fontPx} ${sign}`)),
      ];
      const space = Math.round(fontPx * 0.3);
      const textWidth = parts.reduce((sum, part) => sum + (part?.width ?? space), 0);
      const width = even(textWidth + 2 * margin);
      const height = tileHeight(fontPx);
      if (scratch.length < width * height) scratch = new Uint8Array(width * height);
      const coverage = scratch.subarray(0, width * height).fill(0);
      let x = margin;
      for (const part of parts) {
        if (part) copyTile(part, coverage, width, x);
        x += part?.width ?? space;
      }
      return { width, height, coverage };
    },
  };
}

function isNeeded(key: string, names: readonly string[], fontPx: number): boolean {
  return (
    names.some((name) => key === `${fontPx} name ${name}`) ||
    [...SIGNS].some((sign) => key === `${fontPx} ${sign}`)
  );
}

function copyTile(tile: Mask, coverage: Uint8Array, width: number, x: number): void {
  const { width: columns, height: rows, coverage: from } = tile;
  for (let y = 0; y < rows; y++) {
    // Rows are so short that a loop beats the call of `set`.
    for (let i = 0; i < columns; i++) coverage[y * width + x + i] = from[y * columns + i]!;
  }
}

function even(value: number): number {
  return value + (value % 2);
}

function tileHeight(fontPx: number): number {
  return even(Math.round(fontPx * 1.36));
}

/** Digits stand in cells of one width, so that a label does not tremble while its score changes. */
function signWidth(sign: string, fontPx: number): number {
  const ems = sign === '.' ? 0.34 : sign === '±' || sign === '#' ? 0.8 : 0.66;
  return Math.round(fontPx * ems);
}

/** @param cellPx width of the tile with the text in its middle; without it the tile is as wide as the text */
async function renderText(text: string, fontPx: number, cellPx: number | undefined): Promise<Mask> {
  const letters = [...text];
  const shown =
    letters.length > MAX_NAME_LETTERS ? `${letters.slice(0, MAX_NAME_LETTERS - 1).join('')}…` : text;
  const width = cellPx ?? Math.ceil(fontPx * (1.2 * [...shown].length + 1));
  const height = tileHeight(fontPx);
  const place = cellPx === undefined ? 'x="0"' : `x="${cellPx / 2}" text-anchor="middle"`;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<text ${place} y="${Math.round(height * 0.74)}" font-family="DejaVu Sans, Liberation Sans, Arial, sans-serif" ` +
    `font-weight="600" font-size="${fontPx}" fill="#fff">${escapeXml(shown)}</text></svg>`;
  const { rgba } = await renderSvg(svg);
  const coverage = new Uint8Array(width * height).map((_, i) => rgba[i * 4 + 3]!);
  return cellPx === undefined ? trimRight({ width, height, coverage }) : { width, height, coverage };
}

function trimRight({ width, height, coverage }: Mask): Mask {
  let used = 0;
  for (let i = 0; i < coverage.length; i++) if (coverage[i]! > 0) used = Math.max(used, (i % width) + 1);
  const trimmed = new Uint8Array(used * height);
  for (let y = 0; y < height; y++) trimmed.set(coverage.subarray(y * width, y * width + used), y * used);
  return { width: used, height, coverage: trimmed };
}

function escapeXml(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  // Control characters are not allowed in XML, not even escaped.
  return text.replace(/\p{Cc}/gu, ' ').replace(/[&<>]/g, (sign) => names[sign] ?? sign);
}
