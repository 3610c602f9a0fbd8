// Enlarges rgb24 bilinearly. sharp samples at x / scale - 0.5 instead of (x + 0.5) / scale - 0.5 when it enlarges, which
// moves the picture, and with it every box, by half an input px to the right and down against a video of the same.
import type { Size } from '#core';

interface Taps {
  /** Place of the nearer sample on the left, per output px. */
  readonly first: Int32Array;
  /** Its neighbour on the right; the same at the borders. */
  readonly second: Int32Array;
  /** Weight of `second` in 0..256. */
  readonly weight: Int32Array;
}

/**
 * @param rgb rgb24 [from.height, from.width, 3]
 * @param to at least as large as `from` on both sides
 * @returns rgb24 [to.height, to.width, 3]; px centres correspond, borders are repeated
 */
export function enlargeRgb(rgb: Uint8Array, from: Size, to: Size): Uint8Array {
  const wide = widen(rgb, from, to.width);
  const { first, second, weight } = tapsOf(from.height, to.height);
  const result = new Uint8Array(to.width * to.height * 3);
  const rowLength = to.width * 3;
  for (let y = 0; y < to.height; y++) {
    const above = (first[y] ?? 0) * rowLength;
    const below = (second[y] ?? 0) * rowLength;
    const down = weight[y] ?? 0;
    const row = y * rowLength;
    for (let i = 0; i < rowLength; i++) {
      const sum = (wide[above + i] ?? 0) * (256 - down) + (wide[below + i] ?? 0) * down;
      result[row + i] = (sum + 0x8000) >> 16;
    }
  }
  return result;
}

/** 256 times the values, [from.height, width, 3]. */
function widen(rgb: Uint8Array, from: Size, width: number): Uint16Array {
  const { first, second, weight } = tapsOf(from.width, width);
  const wide = new Uint16Array(width * from.height * 3);
  for (let y = 0, place = 0; y < from.height; y++) {
    const row = y * from.width;
    for (let x = 0; x < width; x++) {
      const left = (row + (first[x] ?? 0)) * 3;
      const right = (row + (second[x] ?? 0)) * 3;
      const across = weight[x] ?? 0;
      const kept = 256 - across;
      wide[place++] = (rgb[left] ?? 0) * kept + (rgb[right] ?? 0) * across;
      wide[place++] = (rgb[left + 1] ?? 0) * kept + (rgb[right + 1] ?? 0) * across;
      wide[place++] = (rgb[left + 2] ?? 0) * kept + (rgb[right + 2] ?? 0) * across;
    }
  }
  return wide;
}

function tapsOf(from: number, to: number): Taps {
  const first = new Int32Array(to);
  const second = new Int32Array(to);
  const weight = new Int32Array(to);
  for (let place = 0; place < to; place++) {
    const position = Math.min(from - 1, Math.max(0, ((place + 0.5) * from) / to - 0.5));
    const left = Math.floor(position);
    first[place] = left;
    second[place] = Math.min(from - 1, left + 1);
    weight[place] = Math.round((position - left) * 256);
  }
  return { first, second, weight };
}
