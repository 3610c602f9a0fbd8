// Pictures that the tests make, and a finder of the white rectangle inside them.

import sharp, { type Sharp } from 'sharp';
import type { Size } from '#core';

export interface Corners {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** rgb24 of one grey with a white rectangle. */
export function rectanglePixels(size: Size, white: Corners, background = 24): Uint8Array {
  const rgb = new Uint8Array(size.width * size.height * 3).fill(background);
  for (let y = white.y1; y < white.y2; y++) {
    rgb.fill(255, (y * size.width + white.x1) * 3, (y * size.width + white.x2) * 3);
  }
  return rgb;
}

export function fromRgb(rgb: Uint8Array, { width, height }: Size): Sharp {
  return sharp(rgb, { raw: { width, height, channels: 3 } });
}

/** Bounding box of the pixels whose three channels are all above 200. */
export function whiteBox(rgb: Uint8Array, { width, height }: Size): Corners {
  const box = { x1: width, y1: height, x2: 0, y2: 0 };
  for (let i = 0; i < width * height; i++) {
    if (Math.min(rgb[i * 3]!, rgb[i * 3 + 1]!, rgb[i * 3 + 2]!) <= 200) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    box.x1 = Math.min(box.x1, x);
    box.y1 = Math.min(box.y1, y);
    box.x2 = Math.max(box.x2, x + 1);
    box.y2 = Math.max(box.y2, y + 1);
  }
  return box;
}

/** rgb24 of noise that no encoder can shorten to nothing. */
export function noisePixels({ width, height }: Size): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: width * height * 3 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

/** A JPEG whose EXIF says how to turn it: a 34-byte APP1 block after the start mark. */
export function withOrientation(jpeg: Uint8Array, orientation: number): Buffer {
  const app1 = Buffer.from(
    `ffe100224578696600004d4d002a00000008000101120003000000010000000000000000`.replace(
      '00010000000000000000',
      `0001${orientation.toString(16).padStart(4, '0')}000000000000`,
    ),
    'hex',
  );
  return Buffer.concat([jpeg.subarray(0, 2), app1, jpeg.subarray(2)]);
}
