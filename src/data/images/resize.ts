// Scales rgb24 to the size of the network's input.

import type { ResizeOptions } from 'sharp';
import type { Size } from '#core';
import { enlargeRgb } from './enlarge.ts';
import { loadSharp } from './load-sharp.ts';

/** Bilinear, smoothed, to exactly the size that is asked for. For shrinking only: see `enlargeRgb`. */
export const EXACT_BILINEAR = { fit: 'fill', kernel: 'linear' } as const satisfies ResizeOptions;

/** The part of a resize that shrinks: what grows along an axis keeps its length there. */
export function shrunkSize(from: Size, to: Size): Size {
  return { width: Math.min(from.width, to.width), height: Math.min(from.height, to.height) };
}

/**
 * @param rgb rgb24 [from.height, from.width, 3]
 * @returns rgb24 [to.height, to.width, 3], never the memory of `rgb`: one may be painted on while the other is read
 */
export async function resizeRgb(rgb: Uint8Array, from: Size, to: Size): Promise<Uint8Array> {
  const small = shrunkSize(from, to);
  const shrunk = isSame(from, small) ? rgb : await shrinkRgb(rgb, from, small);
  if (!isSame(small, to)) return enlargeRgb(shrunk, small, to);
  return shrunk === rgb ? rgb.slice() : shrunk;
}

async function shrinkRgb(rgb: Uint8Array, from: Size, to: Size): Promise<Uint8Array> {
  const sharp = await loadSharp();
  return sharp(rgb, { raw: { width: from.width, height: from.height, channels: 3 }, limitInputPixels: false })
    .resize({ ...to, ...EXACT_BILINEAR })
    .raw()
    .toBuffer();
}

function isSame(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}
