// What the terms of a criterion share: the batch's maps, their gradients, and the anchors that answer for objects.
import { type AnchorGrid, levelOf } from '../../assign/anchor-grid.ts';
import type { RawLevel } from '../../assign/predictions.ts';
import type { Numbers } from '../types.ts';

/** Assigned anchors of a whole batch, struct of arrays. */
export interface PositiveList {
  count: number;
  pictures: Int32Array;
  anchors: Int32Array;
  /** Object of each, numbered as in the batch. */
  objects: Int32Array;
  /** Quality targets in [0, 1]. */
  targets: Float64Array;
}

export function createPositiveList(capacity = 256): PositiveList {
  return {
    count: 0,
    pictures: new Int32Array(capacity),
    anchors: new Int32Array(capacity),
    objects: new Int32Array(capacity),
    targets: new Float64Array(capacity),
  };
}

export function reservePositives(list: PositiveList, capacity: number): void {
  if (list.anchors.length >= capacity) return;
  const larger = createPositiveList(2 * capacity);
  larger.pictures.set(list.pictures);
  larger.anchors.set(list.anchors);
  larger.objects.set(list.objects);
  larger.targets.set(list.targets);
  Object.assign(list, { ...larger, count: list.count });
}

export interface Batch {
  pictures: number;
  levels: readonly RawLevel[];
  /** In the layout of `levels`. */
  gradients: readonly RawLevel[];
  /** Uint8[N * A]: `BACKGROUND`, `POSITIVE` or `IGNORED`. */
  states: Uint8Array;
  readonly positives: PositiveList;
  /** Float32[G * 4] and Int32[G] of the batch's objects. */
  boxes: Float32Array;
  classIds: Int32Array;
  /** max(Σ targets, 1). */
  normaliser: number;
  /** True to read detached factors instead of making them. */
  held: boolean;
}

export const POSITIVE = 1;
export const IGNORED = 2;

/** Where one anchor stands in the maps. */
export interface AnchorPlace {
  level: number;
  location: number;
  /** picture · locations + location. */
  map: number;
  cell: number;
  /** Cells of the level: the step between channels. */
  cells: number;
  column: number;
  row: number;
  cellPx: number;
}

/** The place is used again by the next call. */
export function createPlaceFinder(
  grid: AnchorGrid,
): (picture: number, anchor: number) => Readonly<AnchorPlace> {
  const place = { level: 0, location: 0, map: 0, cell: 0, cells: 0, column: 0, row: 0, cellPx: 0 };
  return (picture, anchor) => {
    const level = levelOf(grid, anchor);
    const { start, cells, columns, stride } = grid.levels[level]!;
    const inLevel = anchor - start;
    place.level = level;
    place.location = Math.floor(inLevel / cells);
    place.map = picture * grid.locations + place.location;
    place.cell = inLevel - place.location * cells;
    place.cells = cells;
    place.column = place.cell % columns;
    place.row = Math.floor(place.cell / columns);
    place.cellPx = stride;
    return place;
  };
}

/** Sets a column of channels to 0 in a map that is otherwise 0. */
export function clearColumn(values: Numbers, place: AnchorPlace, channels: number): void {
  const first = place.map * channels * place.cells + place.cell;
  for (let channel = 0; channel < channels; channel++) values[first + channel * place.cells] = 0;
}
