// Enlarging: px centres correspond, so that boxes stay where they are.
import { describe, expect, it } from 'vitest';
import { openPicture } from '#data/images';
import { enlargeRgb } from '../../../src/data/images/enlarge.ts';
import { fromRgb, rectanglePixels } from './pictures.ts';

function greyRow(values: readonly number[]): Uint8Array {
  return Uint8Array.from(values.flatMap((value) => [value, value, value]));
}

/** Centre of the brightness along x, in px of a picture of width `from`. */
function centreX(rgb: Uint8Array, width: number, height: number, from: number): number {
  let sum = 0;
  let moment = 0;
  for (let i = 0; i < width * height; i++) {
    const value = rgb[i * 3] ?? 0;
    sum += value;
    moment += value * ((i % width) + 0.5);
  }
  return (moment / sum) * (from / width);
}

describe('enlarging', () => {
  it('takes a quarter and three quarters of the neighbours at twice the size', () => {
    const twice = enlargeRgb(greyRow([0, 200]), { width: 2, height: 1 }, { width: 4, height: 1 });
    expect([...twice]).toEqual([...greyRow([0, 50, 150, 200])]);
    const down = enlargeRgb(greyRow([0, 200]), { width: 1, height: 2 }, { width: 1, height: 4 });
    expect([...down]).toEqual([...greyRow([0, 50, 150, 200])]);
  });

  it('keeps the channels apart', () => {
    const solid = Uint8Array.of(200, 40, 10, 200, 40, 10);
    const large = enlargeRgb(solid, { width: 2, height: 1 }, { width: 5, height: 3 });
    for (let i = 0; i < 15; i++) expect([...large.subarray(i * 3, i * 3 + 3)]).toEqual([200, 40, 10]);
  });

  it('leaves the picture in its place, also where one side grows and the other shrinks', async () => {
    const size = { width: 64, height: 64 };
    const rgb = rectanglePixels(size, { x1: 16, y1: 8, x2: 48, y2: 24 }, 0);
    for (const made of [fromRgb(rgb, size).png(), fromRgb(rgb, size).ensureAlpha().png()]) {
      const picture = await openPicture(await made.toBuffer());
      for (const [width, height] of [
        [128, 128],
        [84, 84],
        [200, 32],
        [32, 200],
        [64, 64],
      ] as const) {
        const { rgb: scaled } = await picture.resizeTo({ width, height });
        expect(scaled.length).toBe(width * height * 3);
        expect(Math.abs(centreX(scaled, width, height, 64) - 32), `${width}x${height}`).toBeLessThan(0.02);
      }
    }
  });
});
