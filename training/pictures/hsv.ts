// Hue, saturation and value changed as the habitual augmentation does: three factors a picture, by lookup tables.
import type { Random } from '#core';
import type { AugmentConfig } from './augment-config.ts';
import type { Region } from './placement.ts';
import type { Canvas } from './types.ts';

/** hue is added in turns; saturation and value are multiplied and capped at 1. */
export interface HsvChange {
  readonly hue: number;
  readonly saturation: number;
  readonly value: number;
}

export function drawHsv(random: Random, { hsv_h, hsv_s, hsv_v }: AugmentConfig): HsvChange {
  return {
    hue: random.between(-1, 1) * hsv_h,
    saturation: 1 + random.between(-1, 1) * hsv_s,
    value: 1 + random.between(-1, 1) * hsv_v,
  };
}

/**
 * In place, by the hexcone model (Smith, "Color gamut transform pairs", 1978): the highest channel is v, the lowest
 * v·(1 − s), and the hue sets which they are and where the third lies.
 */
export function changeHsv(canvas: Canvas, region: Region, change: HsvChange): void {
  const { hue, saturation, value } = change;
  if (hue === 0 && saturation === 1 && value === 1) return;
  const { pixels, width } = canvas;
  const bright = Float32Array.from({ length: 256 }, (_, byte) => Math.min(255, byte * value));
  const spread = Float32Array.from({ length: 256 }, (_, max) => (max === 0 ? 0 : saturation / max));
  const hueShift = (((hue * 6) % 6) + 6) % 6;
  const inverse = Float32Array.from({ length: 256 }, (_, range) => 1 / range);
  for (let y = region.y1; y < region.y2; y++) {
    const end = 3 * (y * width + region.x2);
    for (let at = 3 * (y * width + region.x1); at < end; at += 3) {
      const red = pixels[at]!;
      const green = pixels[at + 1]!;
      const blue = pixels[at + 2]!;
      const max = Math.max(red, green, blue);
      const range = max - Math.min(red, green, blue);
      const light = bright[max]!;
      const depth = light * Math.min(1, range * spread[max]!);
      const perTurn = inverse[range]!;
      let turn = hueShift;
      if (range > 0) {
        if (max === red) turn += (green - blue) * perTurn;
        else if (max === green) turn += 2 + (blue - red) * perTurn;
        else turn += 4 + (red - green) * perTurn;
      }
      if (turn < 0) turn += 6;
      else if (turn >= 6) turn -= 6;
      const sixth = turn | 0;
      const fraction = turn - sixth;
      // The highest channel, the lowest, and the one between them, which falls or rises within a sixth of the turn.
      const high = (light + 0.5) | 0;
      const low = (light - depth + 0.5) | 0;
      const between = (light - depth * (sixth & 1 ? fraction : 1 - fraction) + 0.5) | 0;
      pixels[at] = sixth === 0 || sixth === 5 ? high : sixth === 1 || sixth === 4 ? between : low;
      pixels[at + 1] = sixth === 1 || sixth === 2 ? high : sixth === 0 || sixth === 3 ? between : low;
      pixels[at + 2] = sixth === 3 || sixth === 4 ? high : sixth === 2 || sixth === 5 ? between : low;
    }
  }
}
