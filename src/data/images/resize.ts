// Scales rgb24 to the size of the network's input.

import sharp, { type ResizeOptions } from 'sharp';

/** Bilinear, smoothed where it shrinks, to exactly the size that is asked for. */
export const EXACT_BILINEAR = { fit: 'fill', kernel: 'linear' } as const satisfies ResizeOptions;

import type { Size } from '#core';

/**
 * @param rgb rgb24 [from.height, from.width, 3]
 * @returns rgb24 [to.height, to.width, 3], never the memory of `rgb`: one may be painted on while the other is read
 */
export async function resizeRgb(rgb: Uint8Array, from: Size, to: Size): Promise<Uint8Array> {
  if (from.width === to.width && from.height === to.height) return rgb.slice();
  return sharp(rgb, { raw: { width: from.width, height: from.height, channels: 3 }, limitInputPixels: false })
    .resize({ width: to.width, height: to.height, ...EXACT_BILINEAR })
    .raw()
    .toBuffer();
}
