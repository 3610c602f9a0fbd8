// Where a picture lies on the canvas: scaled, shifted and mirrored along the axes, never turned.
import type { Size } from '#core';
import type { PictureTargets } from './types.ts';

/** canvas = content · scale + offset on each axis, in px with (0, 0) the outer corner; a negative scale mirrors. */
export interface Placement {
  readonly scaleX: number;
  readonly scaleY: number;
  readonly offsetX: number;
  readonly offsetY: number;
}

/** Whole px of the canvas that a picture covers: x1 ≤ x < x2, y1 ≤ y < y2. */
export interface Region {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** An object of which less than this share of its area is left in the picture is no target any more. */
export const MIN_AREA_LEFT = 0.1;
/** Nor is one that is narrower or lower than this, in input px. */
export const MIN_SIDE_PX = 2;

/** First `inner`, then `outer`. */
export function composePlacements(outer: Placement, inner: Placement): Placement {
  return {
    scaleX: outer.scaleX * inner.scaleX,
    scaleY: outer.scaleY * inner.scaleY,
    offsetX: outer.scaleX * inner.offsetX + outer.offsetX,
    offsetY: outer.scaleY * inner.offsetY + outer.offsetY,
  };
}

/** The px whose centres lie inside the placed picture. */
export function coveredRegion(placement: Placement, content: Size, canvas: Size): Region {
  const [x1, x2] = coveredSpan(placement.scaleX, placement.offsetX, content.width, canvas.width);
  const [y1, y2] = coveredSpan(placement.scaleY, placement.offsetY, content.height, canvas.height);
  return { x1, y1, x2, y2 };
}

function coveredSpan(scale: number, offset: number, length: number, limit: number): [number, number] {
  const start = Math.min(offset, offset + scale * length);
  const end = Math.max(offset, offset + scale * length);
  const inside = (value: number) => Math.min(limit, Math.max(0, Math.ceil(value - 0.5)));
  return [inside(start), inside(end)];
}

/**
 * Objects where the placement puts them, clipped to the canvas. An object with less than `MIN_AREA_LEFT` of its area or
 * `MIN_SIDE_PX` of a side left becomes a region without loss where a remainder is visible, and is gone where none is;
 * so does one that was smaller than that before, unless the placement leaves everything as it is.
 */
export function placeTargets(targets: PictureTargets, placement: Placement, canvas: Size): PictureTargets {
  const boxes: number[] = [];
  const classIds: number[] = [];
  const ignoreBoxes: number[] = [];
  forEachPlaced(targets.boxes, placement, (box, index) => {
    const clipped = clip(box, canvas);
    if (isEmpty(clipped)) return;
    if (isEnoughLeft(box, clipped)) {
      boxes.push(...clipped);
      classIds.push(targets.classIds[index]!);
    } else ignoreBoxes.push(...clipped);
  });
  forEachPlaced(targets.ignoreBoxes, placement, (box) => {
    const clipped = clip(box, canvas);
    if (!isEmpty(clipped)) ignoreBoxes.push(...clipped);
  });
  return {
    boxes: Float32Array.from(boxes),
    classIds: Int32Array.from(classIds),
    ignoreBoxes: Float32Array.from(ignoreBoxes),
  };
}

export function joinPictureTargets(parts: readonly PictureTargets[]): PictureTargets {
  const join = (select: (part: PictureTargets) => Float32Array) =>
    Float32Array.from(parts.flatMap((part) => [...select(part)]));
  return {
    boxes: join(({ boxes }) => boxes),
    classIds: Int32Array.from(parts.flatMap(({ classIds }) => [...classIds])),
    ignoreBoxes: join(({ ignoreBoxes }) => ignoreBoxes),
  };
}

type Corners = readonly [number, number, number, number];

function forEachPlaced(
  boxes: Float32Array,
  { scaleX, scaleY, offsetX, offsetY }: Placement,
  visit: (box: Corners, index: number) => void,
): void {
  for (let index = 0; 4 * index < boxes.length; index++) {
    const xa = boxes[4 * index]! * scaleX + offsetX;
    const ya = boxes[4 * index + 1]! * scaleY + offsetY;
    const xb = boxes[4 * index + 2]! * scaleX + offsetX;
    const yb = boxes[4 * index + 3]! * scaleY + offsetY;
    visit([Math.min(xa, xb), Math.min(ya, yb), Math.max(xa, xb), Math.max(ya, yb)], index);
  }
}

function clip([x1, y1, x2, y2]: Corners, { width, height }: Size): Corners {
  const within = (value: number, most: number) => Math.min(most, Math.max(0, value));
  return [within(x1, width), within(y1, height), within(x2, width), within(y2, height)];
}

const isEmpty = ([x1, y1, x2, y2]: Corners) => !(x2 > x1 && y2 > y1);

function isEnoughLeft(before: Corners, after: Corners): boolean {
  const width = after[2] - after[0];
  const height = after[3] - after[1];
  const areaBefore = (before[2] - before[0]) * (before[3] - before[1]);
  return width >= MIN_SIDE_PX && height >= MIN_SIDE_PX && width * height >= MIN_AREA_LEFT * areaBefore;
}
