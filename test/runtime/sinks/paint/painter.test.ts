// What is painted into a frame: where it lies, in which colour, and that nothing else changes.

import { describe, expect, it } from 'vitest';
import type { Detection } from '#core';
import type { FullFrame } from '../../../../runtime/frame.ts';
import { canvasOf } from '../../../../runtime/sinks/paint/canvas.ts';
import { createPainter } from '../../../../runtime/sinks/paint/index.ts';
import { createLabelTiles } from '../../../../runtime/sinks/paint/label-tiles.ts';
import { labelNumbers } from '../../../../runtime/sinks/paint/painter.ts';
import { classColour, textColour } from '../../../../runtime/sinks/paint/palette.ts';

const CAR: Detection = {
  box: { x1: 100, y1: 80, x2: 220, y2: 180 },
  classId: 2,
  className: 'car',
  score: 0.82,
  rawScore: 0.82,
};
const GREY = 90;

function frame(format: FullFrame['format'], width = 320, height = 240): FullFrame {
  if (format === 'rgb24')
    return { format, width, height, data: new Uint8Array(width * height * 3).fill(GREY) };
  const data = new Uint8Array(width * height * 1.5).fill(128);
  data.fill(GREY, 0, width * height);
  return { format, width, height, data };
}

/** First component of a px: red, or luma. */
function at({ format, width, data }: FullFrame, x: number, y: number): number {
  return data[(y * width + x) * (format === 'rgb24' ? 3 : 1)]!;
}

const painter = createPainter();

for (const format of ['rgb24', 'yuv420p'] as const) {
  describe(format, () => {
    const colour = canvasOf(frame(format)).components(classColour(2))[0];

    it('has lines of the class colour on the four edges and leaves the inside alone', async () => {
      const full = frame(format);
      await painter.paint(full, [CAR]);
      for (const [x, y] of [
        [100, 130],
        [220, 130],
        [160, 180],
        [160, 79],
      ] as const) {
        const near = [at(full, x - 1, y), at(full, x, y), at(full, x, y - 1)];
        expect(near, `edge at ${x},${y}`).toContain(colour);
      }
      for (let y = 90; y < 170; y++) for (let x = 110; x < 210; x++) expect(at(full, x, y)).toBe(GREY);
      expect(at(full, 90, 130)).toBe(GREY);
      expect(at(full, 230, 200)).toBe(GREY);
    });

    it('has a label above the box with text on the class colour', async () => {
      const full = frame(format);
      await painter.paint(full, [CAR]);
      const above: number[] = [];
      for (let y = 62; y < 78; y++) for (let x = 102; x < 150; x++) above.push(at(full, x, y));
      expect(above).toContain(colour);
      const text = canvasOf(full).components(textColour(classColour(2)))[0];
      expect(above).toContain(text);
    });

    it('shows the variance of each edge as a veil of one sigma to both sides', async () => {
      const full = frame(format);
      const boxVariance = { x1: 400, y1: 0, x2: 16, y2: 100 };
      await painter.paint(full, [{ ...CAR, boxVariance }]);
      const veiled = (x: number, y: number) => at(full, x, y) !== GREY;
      expect([79, 81, 118, 121].map((x) => veiled(x, 130))).toEqual([false, true, true, false]);
      expect([215, 217, 222, 225].map((x) => veiled(x, 130))).toEqual([false, true, true, false]);
      expect([168, 171, 188, 191].map((y) => veiled(160, y))).toEqual([false, true, true, false]);
      expect(veiled(160, 84)).toBe(false);
      const blend = at(full, 90, 130);
      expect(Math.abs(blend - GREY)).toBeLessThan(Math.abs(colour - GREY) * 0.5 + 1);
    });

    it('stays inside the frame, whatever the boxes', async () => {
      const full = frame(format, 64, 48);
      const guarded = new Uint8Array(full.data.length + 64).fill(7);
      const data = guarded.subarray(32, 32 + full.data.length);
      data.set(full.data);
      const boxes = [
        { x1: -500, y1: -500, x2: 5000, y2: 5000 },
        { x1: 60, y1: 40, x2: 90, y2: 90 },
        { x1: -90, y1: -90, x2: -10, y2: -10 },
        { x1: 10, y1: 10, x2: 10, y2: 10 },
        { x1: 100, y1: 100, x2: 200, y2: 200 },
        { x1: 30, y1: 20, x2: 34, y2: 24 },
      ];
      const boxVariance = { x1: 900, y1: 900, x2: 900, y2: 900 };
      for (const box of boxes) {
        await painter.paint({ ...full, data }, [
          { ...CAR, box, boxVariance, className: 'a very long name of a class' },
        ]);
      }
      expect(guarded.subarray(0, 32).every((value) => value === 7)).toBe(true);
      expect(guarded.subarray(32 + full.data.length).every((value) => value === 7)).toBe(true);
    });
  });
}

describe('odd sizes', () => {
  it('are painted in rgb24 up to the last column', async () => {
    const full = frame('rgb24', 321, 241);
    await painter.paint(full, [{ ...CAR, box: { x1: 0, y1: 0, x2: 321, y2: 241 } }]);
    expect(at(full, 320, 120)).toBe(classColour(2)[0]);
    expect(at(full, 160, 240)).toBe(classColour(2)[0]);
  });
});

describe('chroma', () => {
  it('turns with the box and ends where the luma ends', async () => {
    const full = frame('yuv420p');
    await painter.paint(full, [CAR]); // its lines would begin at odd px
    const { width, height, data } = full;
    const u = (x: number, y: number) => data[width * height + (y >> 1) * (width / 2) + (x >> 1)]!;
    for (let x = 90; x < 130; x += 2) {
      const painted = at(full, x, 130) !== GREY;
      expect(at(full, x + 1, 130) !== GREY, `px ${x + 1}`).toBe(painted);
      expect(u(x, 130) !== 128, `chroma at ${x}`).toBe(painted);
    }
  });

  it('gives back the colour of the palette', () => {
    for (const height of [240, 1080]) {
      const { components } = canvasOf(frame('yuv420p', 320, height));
      const [red, green, blue] = height >= 720 ? [1.7927, -0.5329, 2.1124] : [1.596, -0.813, 2.017];
      const green2 = height >= 720 ? -0.2132 : -0.3918;
      for (let classId = 0; classId < 20; classId++) {
        const [y, u, v] = components(classColour(classId));
        const luma = 1.1644 * (y - 16);
        const back = [
          luma + red! * (v - 128),
          luma + green2 * (u - 128) + green! * (v - 128),
          luma + blue! * (u - 128),
        ];
        for (const i of [0, 1, 2]) expect(Math.abs(back[i]! - classColour(classId)[i]!)).toBeLessThan(3);
      }
    }
  });
});

describe('labels', () => {
  it('say the score, its ± where known, and the track', () => {
    expect(labelNumbers(CAR)).toBe('0.82');
    expect(labelNumbers({ ...CAR, scoreVariance: 0.0036 })).toBe('0.82 ±0.06');
    expect(labelNumbers({ ...CAR, scoreVariance: 0, trackId: 7 })).toBe('#7 0.82 ±0.00');
  });

  it('have text for names of any script and signs that XML forbids', async () => {
    const tiles = createLabelTiles((message) => expect.fail(message));
    const names = ['car', 'größer', '<b>&"', 'a\u0007b', 'x'.repeat(300)];
    await tiles.prepare(names, 16);
    const widths = names.map((name) => tiles.compose(name, '0.50', 16).width);
    for (const name of names)
      expect(
        tiles.compose(name, '0.50', 16).coverage.some((value) => value > 200),
        name,
      ).toBe(true);
    expect(widths[4]).toBeLessThan(700);
    expect(widths.every((width) => width % 2 === 0)).toBe(true);
  });

  it('are as wide for one score as for another', async () => {
    const tiles = createLabelTiles(() => undefined);
    await tiles.prepare(['car'], 20);
    expect(tiles.compose('car', '0.11 ±0.11', 20).width).toBe(tiles.compose('car', '0.88 ±0.00', 20).width);
  });

  it('keep a bounded number of tiles', async () => {
    const tiles = createLabelTiles(() => undefined);
    for (let i = 0; i < 700; i++) await tiles.prepare([`name ${i}`, 'car'], 13);
    expect(tiles.compose('car', '', 13).coverage.some((value) => value > 0)).toBe(true);
    const first = tiles.compose('name 0', '', 13);
    expect(first.coverage.some((value) => value > 0)).toBe(false);
  });
});
