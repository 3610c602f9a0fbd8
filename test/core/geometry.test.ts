// Boxes, letterboxes and anchors: what must hold for every size, and what must not compile.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Box } from '#core';
import {
  anchorCount,
  boxArea,
  clipBox,
  createAnchorTable,
  createLetterbox,
  iou,
  levelsFor,
  levelsWithCount,
  toFrame,
  toInput,
  varianceToFrame,
} from '#core';
import { goldenCase, goldenRows } from '../support/golden.ts';

const px = fc.double({ min: -500, max: 5000, noNaN: true });
const box = fc.tuple(px, px, px, px).map(([a, b, c, d]) => ({
  x1: Math.min(a, c),
  y1: Math.min(b, d),
  x2: Math.max(a, c),
  y2: Math.max(b, d),
}));
const side = fc.integer({ min: 1, max: 4096 });
const size = fc.record({ width: side, height: side });
const policy = fc.record({
  mode: fc.constantFrom('letterbox' as const, 'stretch' as const),
  align: fc.constantFrom('center' as const, 'top-left' as const),
  enlarge: fc.boolean(),
});

function corners([x1, y1, x2, y2]: readonly number[]): Box<'frame'> {
  return { x1: x1!, y1: y1!, x2: x2!, y2: y2! };
}

describe('iou', () => {
  it('agrees with the golden pairs', () => {
    const { boxes, expect: expected } = goldenCase('nms.json', 'iou_pairs');
    for (const [row, a] of boxes.entries()) {
      for (const [column, b] of boxes.entries()) {
        expect(iou(corners(a), corners(b))).toBeCloseTo(expected.iou[row][column], 14);
      }
    }
  });

  it.each(goldenRows('nms.json', 'iou_edges'))('%s', (_, { a, b, iou: expected }) => {
    expect(iou(corners(a), corners(b))).toBe(expected);
  });

  it('is symmetric and lies in [0, 1]', () => {
    fc.assert(
      fc.property(box, box, (a, b) => {
        const overlap = iou(a, b);
        expect(overlap).toBe(iou(b, a));
        expect(overlap).toBeGreaterThanOrEqual(0);
        expect(overlap).toBeLessThanOrEqual(1 + 1e-12);
      }),
    );
  });
});

describe('clipBox', () => {
  it('leaves only what lies inside, and nothing without an area', () => {
    expect(clipBox({ x1: -20, y1: -10, x2: 30, y2: 30 }, 64, 64)).toEqual({ x1: 0, y1: 0, x2: 30, y2: 30 });
    expect(clipBox({ x1: 70, y1: 0, x2: 90, y2: 10 }, 64, 64)).toBeUndefined();
    expect(clipBox({ x1: -9, y1: 0, x2: 0, y2: 10 }, 64, 64)).toBeUndefined();
    fc.assert(
      fc.property(box, size, (any, frame) => {
        const clipped = clipBox(any, frame.width, frame.height);
        if (clipped === undefined) return;
        expect(boxArea(clipped)).toBeGreaterThan(0);
        expect(Math.min(clipped.x1, clipped.y1)).toBeGreaterThanOrEqual(0);
        expect(clipped.x2).toBeLessThanOrEqual(frame.width);
        expect(clipped.y2).toBeLessThanOrEqual(frame.height);
      }),
    );
  });
});

describe('letterbox', () => {
  it('returns a box that went there and back', () => {
    fc.assert(
      fc.property(box, size, size, policy, (there, frame, input, fit) => {
        const letterbox = createLetterbox(frame, input, fit);
        const back = toFrame(letterbox, toInput(letterbox, there));
        for (const key of ['x1', 'y1', 'x2', 'y2'] as const) {
          expect(Math.abs(back[key] - there[key])).toBeLessThan(
            1e-6 * (1 + Math.abs(there[key]) + frame.width),
          );
        }
      }),
    );
  });

  it('has whole pads, and content that fits', () => {
    fc.assert(
      fc.property(size, size, policy, (frame, input, fit) => {
        const { content, padLeft, padTop } = createLetterbox(frame, input, fit);
        for (const value of [content.width, content.height, padLeft, padTop]) {
          expect(Number.isInteger(value)).toBe(true);
        }
        expect(padLeft + content.width).toBeLessThanOrEqual(input.width);
        expect(padTop + content.height).toBeLessThanOrEqual(input.height);
      }),
    );
  });

  it('puts 768x576 into 640x640 with 80 px above and below', () => {
    const letterbox = createLetterbox({ width: 768, height: 576 }, { width: 640, height: 640 });
    expect(letterbox).toMatchObject({ content: { width: 640, height: 480 }, padLeft: 0, padTop: 80 });
  });

  it('keeps a small picture small where enlarging is off', () => {
    const fit = { mode: 'letterbox', align: 'top-left', enlarge: false } as const;
    const letterbox = createLetterbox({ width: 64, height: 32 }, { width: 640, height: 640 }, fit);
    expect(letterbox).toMatchObject({ content: { width: 64, height: 32 }, padLeft: 0, padTop: 0, scaleX: 1 });
  });

  it('scales a variance with the square of the length', () => {
    const letterbox = createLetterbox({ width: 1280, height: 640 }, { width: 640, height: 640 });
    const variance = varianceToFrame(letterbox, { x1: 1, y1: 2, x2: 3, y2: 4 });
    expect(variance).toEqual({ x1: 4, y1: 8, x2: 12, y2: 16 });
  });
});

describe('types', () => {
  it('do not mix spaces', () => {
    const letterbox = createLetterbox({ width: 10, height: 10 }, { width: 10, height: 10 });
    const frame: Box<'frame'> = toFrame(letterbox, { x1: 0, y1: 0, x2: 1, y2: 1 } as Box<'input'>);
    const input: Box<'input'> = toInput(letterbox, frame);
    // @ts-expect-error a box of the input is not a box of the frame
    clipBox(input, 10, 10);
    // @ts-expect-error a box of the frame is already in frame px
    toFrame(letterbox, frame);
    // @ts-expect-error boxes of two spaces have no overlap
    iou(frame, input);
    expect(input).toEqual({ x1: 0, y1: 0, x2: 1, y2: 1 });
  });
});

describe('anchors', () => {
  it.each([
    [640, 640, [8, 16, 32], 8400],
    [416, 416, [8, 16, 32], 3549],
    [192, 192, [8, 16, 32], 756],
    [320, 320, [8, 16, 32], 2100],
    [640, 384, [8, 16, 32], 5040],
    [300, 300, [8, 16, 32], 38 * 38 + 19 * 19 + 10 * 10],
  ])('%i x %i at strides %j: %i', (width, height, strides, count) => {
    expect(anchorCount(levelsFor({ width, height }, strides))).toBe(count);
    expect(
      levelsWithCount({ width, height }, count).map((levels) => levels.map((l) => l.stride)),
    ).toContainEqual(strides);
  });

  it('says nothing where no usual set fits', () => {
    expect(levelsWithCount({ width: 640, height: 640 }, 8401)).toEqual([]);
  });

  it('lists cells row by row, level after level', () => {
    const table = createAnchorTable(levelsFor({ width: 32, height: 16 }, [8, 16]));
    expect(table.count).toBe(8 + 2);
    expect([...table.columns]).toEqual([0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
    expect([...table.rows]).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
    expect([...table.strides]).toEqual([8, 8, 8, 8, 8, 8, 8, 8, 16, 16]);
  });
});

describe('an odd px of padding', () => {
  it('lies to the right and below, as the training frameworks put it', () => {
    const tall = createLetterbox({ width: 100, height: 101 }, { width: 64, height: 64 });
    expect(tall).toMatchObject({ content: { width: 63, height: 64 }, padLeft: 0, padTop: 0 });
    const wide = createLetterbox({ width: 640, height: 356 }, { width: 64, height: 65 });
    expect(wide).toMatchObject({ content: { width: 64, height: 36 }, padLeft: 0, padTop: 14 });
  });
});
