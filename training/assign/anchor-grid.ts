// Numbers the locations of a head, and finds those whose centre lies inside a box without visiting the others.
import type { Level } from '#core';

export interface GridLevel extends Level {
  /** Cells of the level. */
  readonly cells: number;
  /** First anchor of the level. */
  readonly start: number;
}

/** Anchors are numbered level by level, location by location, then row by row. */
export interface AnchorGrid {
  /** A = Σ cells · locations. */
  readonly count: number;
  readonly locations: number;
  readonly levels: readonly GridLevel[];
}

export function createAnchorGrid(levels: readonly Level[], locations: number): AnchorGrid {
  let count = 0;
  const numbered = levels.map(({ stride, columns, rows }) => {
    const start = count;
    count += columns * rows * locations;
    return { stride, columns, rows, cells: columns * rows, start };
  });
  return { count, locations, levels: numbered };
}

/** Index of the level that an anchor belongs to. */
export function levelOf({ levels }: AnchorGrid, anchor: number): number {
  let level = levels.length - 1;
  while (level > 0 && anchor < levels[level]!.start) level--;
  return level;
}

/** How far inside a box a centre must lie, in px. */
const INSIDE_MARGIN_PX = 1e-9;

/** A growable list of anchors. */
export interface AnchorList {
  anchors: Int32Array;
  length: number;
}

export function createAnchorList(capacity = 1024): AnchorList {
  return { anchors: new Int32Array(capacity), length: 0 };
}

function push(list: AnchorList, anchor: number): void {
  if (list.length === list.anchors.length) {
    const larger = new Int32Array(2 * list.length);
    larger.set(list.anchors);
    list.anchors = larger;
  }
  list.anchors[list.length++] = anchor;
}

/** Appends, in ascending order, every anchor whose centre lies inside the box `boxes[offset..offset + 4)` (xyxy px). */
export function appendInside(list: AnchorList, grid: AnchorGrid, boxes: Float32Array, offset: number): void {
  const x1 = boxes[offset]!;
  const y1 = boxes[offset + 1]!;
  const x2 = boxes[offset + 2]!;
  const y2 = boxes[offset + 3]!;
  for (const { stride, columns, rows, cells, start } of grid.levels) {
    const firstColumn = firstInside(x1, stride);
    const lastColumn = lastInside(x2, stride, columns);
    const firstRow = firstInside(y1, stride);
    const lastRow = lastInside(y2, stride, rows);
    for (let location = 0; location < grid.locations; location++) {
      for (let row = firstRow; row <= lastRow; row++) {
        const first = start + location * cells + row * columns;
        for (let column = firstColumn; column <= lastColumn; column++) push(list, first + column);
      }
    }
  }
}

/** First cell whose centre lies beyond `edge`. */
function firstInside(edge: number, stride: number): number {
  let cell = Math.max(0, Math.floor(edge / stride - 0.5));
  while ((cell + 0.5) * stride - edge <= INSIDE_MARGIN_PX) cell++;
  return cell;
}

/** Last cell whose centre lies before `edge`; −1 where there is none. */
function lastInside(edge: number, stride: number, count: number): number {
  let cell = Math.min(count - 1, Math.ceil(edge / stride - 0.5));
  while (cell >= 0 && edge - (cell + 0.5) * stride <= INSIDE_MARGIN_PX) cell--;
  return cell;
}

/**
 * Appends the anchors of the cell of the finest level that holds the centre of a box, so that an object that lies
 * between all centres is still learned. Nothing is appended for a box without area or with its centre outside.
 */
export function appendNearest(list: AnchorList, grid: AnchorGrid, boxes: Float32Array, offset: number): void {
  const x1 = boxes[offset]!;
  const y1 = boxes[offset + 1]!;
  const x2 = boxes[offset + 2]!;
  const y2 = boxes[offset + 3]!;
  const finest = grid.levels.reduce((best, level) => (level.stride < best.stride ? level : best));
  const column = Math.floor((x1 + x2) / 2 / finest.stride);
  const row = Math.floor((y1 + y2) / 2 / finest.stride);
  const inside = column >= 0 && row >= 0 && column < finest.columns && row < finest.rows;
  if (!(x2 > x1 && y2 > y1 && inside)) return;
  for (let location = 0; location < grid.locations; location++) {
    push(list, finest.start + location * finest.cells + row * finest.columns + column);
  }
}
