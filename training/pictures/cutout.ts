// Rectangles painted over, so that a head learns to live with hidden parts (DeVries and Taylor, "Cutout", 2017).
import type { Random } from '#core';
import type { Region } from './placement.ts';
import type { Canvas, PictureTargets } from './types.ts';

const MAX_HOLES = 3;
/** Sides of a hole as fractions of the canvas' sides. */
const MIN_SIDE = 0.05;
const MAX_SIDE = 0.25;
/** An object of which less than this share is visible becomes a region without loss. */
export const MIN_VISIBLE = 0.4;

/** One to three holes, anywhere on the canvas. */
export function drawHoles(random: Random, { width, height }: Canvas): Region[] {
  return Array.from({ length: 1 + random.integer(MAX_HOLES) }, () => {
    const holeWidth = Math.max(1, Math.round(random.between(MIN_SIDE, MAX_SIDE) * width));
    const holeHeight = Math.max(1, Math.round(random.between(MIN_SIDE, MAX_SIDE) * height));
    const x1 = random.integer(width - holeWidth + 1);
    const y1 = random.integer(height - holeHeight + 1);
    return { x1, y1, x2: x1 + holeWidth, y2: y1 + holeHeight };
  });
}

/** In place. @param pad grey of the padding, 0..255 */
export function paintHoles({ pixels, width }: Canvas, holes: readonly Region[], pad: number): void {
  for (const { x1, y1, x2, y2 } of holes) {
    for (let y = y1; y < y2; y++) pixels.fill(pad, 3 * (y * width + x1), 3 * (y * width + x2));
  }
}

/** Boxes stay whole; objects that the holes hide for the most part are ignored. Overlapping holes count twice. */
export function targetsBehind(targets: PictureTargets, holes: readonly Region[]): PictureTargets {
  const { boxes, classIds, ignoreBoxes } = targets;
  const hidden = Array.from(classIds, (_, index) => {
    const x1 = boxes[4 * index]!;
    const y1 = boxes[4 * index + 1]!;
    const x2 = boxes[4 * index + 2]!;
    const y2 = boxes[4 * index + 3]!;
    const covered = holes.reduce(
      (sum, hole) =>
        sum +
        Math.max(0, Math.min(x2, hole.x2) - Math.max(x1, hole.x1)) *
          Math.max(0, Math.min(y2, hole.y2) - Math.max(y1, hole.y1)),
      0,
    );
    return covered > (1 - MIN_VISIBLE) * (x2 - x1) * (y2 - y1);
  });
  const select = (wanted: boolean) => boxes.filter((_, place) => hidden[Math.floor(place / 4)] === wanted);
  return {
    boxes: select(false),
    classIds: classIds.filter((_, index) => !hidden[index]),
    ignoreBoxes: Float32Array.from([...ignoreBoxes, ...select(true)]),
  };
}
