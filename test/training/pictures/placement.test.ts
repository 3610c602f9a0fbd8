import { describe, expect, it } from 'vitest';
import { paintHoles, targetsBehind } from '../../../training/pictures/cutout.ts';
import { coveredRegion, joinPictureTargets, placeTargets } from '../../../training/pictures/placement.ts';
import { joinTargets } from '../../../training/pictures/targets.ts';

const CANVAS = { width: 100, height: 80 };
const STAY = { scaleX: 1, scaleY: 1, offsetX: 0, offsetY: 0 };

function targets(boxes: readonly number[][], ignored: readonly number[][] = []) {
  return {
    boxes: Float32Array.from(boxes.flat()),
    classIds: Int32Array.from(boxes, (_, index) => index),
    ignoreBoxes: Float32Array.from(ignored.flat()),
  };
}

describe('placed objects', () => {
  it('are clipped, ignored with a tenth or less left, and gone when nothing is visible', () => {
    const placed = placeTargets(
      targets([
        [10, 10, 30, 30],
        [80, 10, 120, 30], // half of it
        [98, 10, 138, 30], // a twentieth
        [110, 10, 130, 30],
      ]),
      STAY,
      CANVAS,
    );
    expect([...placed.boxes]).toEqual([10, 10, 30, 30, 80, 10, 100, 30]);
    expect([...placed.classIds]).toEqual([0, 1]);
    expect([...placed.ignoreBoxes]).toEqual([98, 10, 100, 30]);
  });

  it('are ignored where a side is below 2 px', () => {
    const half = { ...STAY, scaleX: 0.5, scaleY: 0.5 };
    const placed = placeTargets(
      targets([
        [10, 10, 14, 30],
        [10, 10, 13, 30],
      ]),
      half,
      CANVAS,
    );
    expect([...placed.boxes]).toEqual([5, 5, 7, 15]);
    expect([...placed.ignoreBoxes]).toEqual([5, 5, 6.5, 15]);
  });

  it('are turned around by a mirror, crowds too', () => {
    const mirror = { ...STAY, scaleX: -1, offsetX: 100 };
    const placed = placeTargets(targets([[10, 10, 30, 30]], [[0, 0, 50, 5]]), mirror, CANVAS);
    expect([...placed.boxes]).toEqual([70, 10, 90, 30]);
    expect([...placed.ignoreBoxes]).toEqual([50, 0, 100, 5]);
  });

  it('cover the px whose centres they contain', () => {
    const content = { width: 10, height: 10 };
    const at = (offsetX: number) => {
      const { x1, x2 } = coveredRegion({ ...STAY, offsetX, offsetY: 0 }, content, CANVAS);
      return [x1, x2];
    };
    expect(at(3)).toEqual([3, 13]);
    expect(at(3.4)).toEqual([3, 13]);
    expect(at(3.6)).toEqual([4, 14]);
    expect(at(-4)).toEqual([0, 6]);
    expect(at(-40)).toEqual([0, 0]);
    expect(at(200)).toEqual([100, 100]);
  });
});

describe('objects behind holes', () => {
  it('are ignored whole where more than six tenths are hidden', () => {
    const objects = targets([
      [0, 0, 10, 10],
      [20, 0, 30, 10],
    ]);
    const hole = (x: number, width: number) => ({ x1: x, y1: 0, x2: x + width, y2: 10 });
    const seen = targetsBehind(objects, [hole(0, 6), hole(20, 7)]);
    expect([...seen.boxes]).toEqual([0, 0, 10, 10]);
    expect([...seen.classIds]).toEqual([0]);
    expect([...seen.ignoreBoxes]).toEqual([20, 0, 30, 10]);
  });

  it('are painted over exactly', () => {
    const canvas = { pixels: new Uint8Array(3 * 4 * 3), width: 4, height: 3 };
    paintHoles(canvas, [{ x1: 1, y1: 1, x2: 3, y2: 3 }], 7);
    const red = [...canvas.pixels].filter((_, index) => index % 3 === 0);
    expect(red).toEqual([0, 0, 0, 0, 0, 7, 7, 0, 0, 7, 7, 0]);
  });
});

describe('targets of a batch', () => {
  it('lie one after another, with pictures of nothing between them', () => {
    const nothing = targets([]);
    const two = targets(
      [
        [1, 1, 5, 5],
        [2, 2, 6, 6],
      ],
      [[0, 0, 1, 1]],
    );
    const batch = joinTargets([nothing, two, nothing, two]);
    expect([...batch.starts]).toEqual([0, 0, 2, 2, 4]);
    expect([...batch.classIds]).toEqual([0, 1, 0, 1]);
    expect([...batch.ignoreStarts]).toEqual([0, 0, 1, 1, 2]);
    expect(batch.boxes.length).toBe(16);
    expect(batch.ignoreBoxes.length).toBe(8);
    expect(joinPictureTargets([two, nothing, two])).toEqual({
      boxes: batch.boxes,
      classIds: batch.classIds,
      ignoreBoxes: batch.ignoreBoxes,
    });
  });
});
