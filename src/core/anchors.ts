// Where the locations of a head lie: feature levels for an input size, and the anchors of all levels in one row.
import type { Level } from './head-layout.ts';
import type { Size } from './shapes.ts';

/** Strides that detectors are built with, most usual first. */
export const STRIDE_SETS: readonly (readonly number[])[] = [
  [8, 16, 32],
  [8, 16, 32, 64],
  [4, 8, 16, 32],
  [16, 32],
  [8, 16],
  [16],
  [32],
  [8],
];

/** One level per stride; a cell that reaches over the edge counts, as padded convolutions make it. */
export function levelsFor(input: Size, strides: readonly number[]): Level[] {
  return strides.map((stride) => ({
    stride,
    columns: Math.ceil(input.width / stride),
    rows: Math.ceil(input.height / stride),
  }));
}

/** Locations over all levels. */
export function anchorCount(levels: readonly Level[]): number {
  return levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0);
}

/** Every usual set of levels that has exactly this many locations at this input size. */
export function levelsWithCount(input: Size, count: number): Level[][] {
  return STRIDE_SETS.map((strides) => levelsFor(input, strides)).filter(
    (levels) => anchorCount(levels) === count,
  );
}

/** Cell and stride of every anchor, levels one after the other, row by row. */
export interface AnchorTable {
  readonly count: number;
  /** Float32[A]: column of the cell. */
  readonly columns: Float32Array;
  /** Float32[A]: row of the cell. */
  readonly rows: Float32Array;
  /** Float32[A]: input px per cell. */
  readonly strides: Float32Array;
}

export function createAnchorTable(levels: readonly Level[]): AnchorTable {
  const count = anchorCount(levels);
  const columns = new Float32Array(count);
  const rows = new Float32Array(count);
  const strides = new Float32Array(count);
  let anchor = 0;
  for (const level of levels) {
    for (let row = 0; row < level.rows; row++) {
      for (let column = 0; column < level.columns; column++, anchor++) {
        columns[anchor] = column;
        rows[anchor] = row;
        strides[anchor] = level.stride;
      }
    }
  }
  return { count, columns, rows, strides };
}
