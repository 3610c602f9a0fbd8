// Draws a picture onto the canvas where its placement says, by bilinear inverse mapping in whole numbers.
import type { Size } from '#core';
import { coveredRegion, type Placement, type Region } from './placement.ts';
import type { Canvas } from './types.ts';

/** Weights are in 256ths, so that a product of two fits into 16 bits beside the byte. */
const ONE = 256;

interface Taps {
  /** Nearer sample before, per px of the region. */
  readonly first: Int32Array;
  /** Its neighbour; the same at the borders. */
  readonly second: Int32Array;
  /** Weight of `second` in 0..256. */
  readonly weight: Int32Array;
  /** No px mixes two samples: the rows can be copied. */
  readonly exact: boolean;
}

/**
 * Samples the picture at the centre of every px that it covers; borders are repeated, so that nothing of the padding
 * bleeds in.
 * @param content Uint8[size.height * size.width * 3]
 * @returns the px that were written
 */
export function drawPlaced(
  canvas: Canvas,
  content: Uint8Array,
  { size, placement }: { readonly size: Size; readonly placement: Placement },
): Region {
  const region = coveredRegion(placement, size, canvas);
  const across = tapsOf(region.x1, region.x2, placement.scaleX, placement.offsetX, size.width);
  const down = tapsOf(region.y1, region.y2, placement.scaleY, placement.offsetY, size.height);
  for (let row = 0; row < region.y2 - region.y1; row++) {
    const to = 3 * ((region.y1 + row) * canvas.width + region.x1);
    const above = 3 * size.width * down.first[row]!;
    const below = 3 * size.width * down.second[row]!;
    const weight = down.weight[row]!;
    if (across.exact && weight === 0) copyRow(canvas.pixels, to, content, above, across.first);
    else mixRow(canvas.pixels, to, content, above, below, weight, across);
  }
  return region;
}

function tapsOf(start: number, end: number, scale: number, offset: number, length: number): Taps {
  const count = Math.max(0, end - start);
  const first = new Int32Array(count);
  const second = new Int32Array(count);
  const weight = new Int32Array(count);
  let exact = true;
  for (let index = 0; index < count; index++) {
    const position = (start + index + 0.5 - offset) / scale - 0.5;
    const inside = Math.min(length - 1, Math.max(0, position));
    const before = Math.floor(inside);
    const share = Math.round((inside - before) * ONE);
    // A full step is the next sample itself.
    first[index] = share === ONE ? before + 1 : before;
    weight[index] = share === ONE ? 0 : share;
    second[index] = Math.min(length - 1, first[index]! + 1);
    exact &&= weight[index] === 0;
  }
  return { first, second, weight, exact };
}

function copyRow(pixels: Uint8Array, to: number, content: Uint8Array, row: number, first: Int32Array): void {
  for (let index = 0, place = to; index < first.length; index++, place += 3) {
    const from = row + 3 * first[index]!;
    pixels[place] = content[from]!;
    pixels[place + 1] = content[from + 1]!;
    pixels[place + 2] = content[from + 2]!;
  }
}

/** Every value a plain local, so that the compiler keeps them in registers. */
function mixRow(
  pixels: Uint8Array,
  to: number,
  content: Uint8Array,
  above: number,
  below: number,
  down: number,
  { first, second, weight }: Taps,
): void {
  const up = ONE - down;
  for (let index = 0, place = to; index < first.length; index++, place += 3) {
    const left = 3 * first[index]!;
    const right = 3 * second[index]!;
    const toRight = weight[index]!;
    const toLeft = ONE - toRight;
    const a = toLeft * up;
    const b = toRight * up;
    const c = toLeft * down;
    const d = toRight * down;
    const aboveLeft = above + left;
    const aboveRight = above + right;
    const belowLeft = below + left;
    const belowRight = below + right;
    pixels[place] =
      (content[aboveLeft]! * a +
        content[aboveRight]! * b +
        content[belowLeft]! * c +
        content[belowRight]! * d +
        0x8000) >>
      16;
    pixels[place + 1] =
      (content[aboveLeft + 1]! * a +
        content[aboveRight + 1]! * b +
        content[belowLeft + 1]! * c +
        content[belowRight + 1]! * d +
        0x8000) >>
      16;
    pixels[place + 2] =
      (content[aboveLeft + 2]! * a +
        content[aboveRight + 2]! * b +
        content[belowLeft + 2]! * c +
        content[belowRight + 2]! * d +
        0x8000) >>
      16;
  }
}
