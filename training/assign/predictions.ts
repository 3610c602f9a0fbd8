// What the raw outputs say at the few anchors that lie inside some object: boxes, E[Q] and class probabilities.
// Decoding 4 · 16 logits at every anchor would cost more than all losses together.
import type { BoxCode } from '#onnx';
import { createBoxCodec } from '../losses/box-codec.ts';
import { BLOCK_CELLS, createRunMoments } from '../losses/law-planes.ts';
import type { BoxPlace, Numbers } from '../losses/types.ts';
import { type AnchorGrid, levelOf } from './anchor-grid.ts';
import type { PicturePredictions } from './task-aligned.ts';

/** Raw outputs of one level, [N, locations · channels, rows, columns]. */
export interface RawLevel {
  quality: Numbers;
  classes: Numbers | undefined;
  box: Numbers;
}

export interface PredictionReader extends PicturePredictions {
  /** Points the reader at picture n of a batch. */
  bind(levels: readonly RawLevel[], picture: number): void;
}

export interface ReaderSpec {
  readonly bins: number;
  readonly classCount: number;
  readonly classLaw: 'softmax' | 'sigmoid';
  readonly boxCode: BoxCode;
}

export function createPredictionReader(grid: AnchorGrid, spec: ReaderSpec): PredictionReader {
  const { bins, classCount, classLaw, boxCode } = spec;
  const codec = createBoxCodec(boxCode);
  const qualityMoments = createRunMoments(bins);
  const sideMoments = createRunMoments(boxCode.kind === 'dfl' ? boxCode.bins : 0);
  const boxes = new Float64Array(4 * grid.count);
  const quality = new Float64Array(grid.count);
  const probabilities = new Float64Array(classCount > 1 ? classCount * grid.count : 0);
  const means = new Float64Array(BLOCK_CELLS);
  const place: BoxPlace = {
    raw: new Float32Array(0),
    offset: 0,
    stride: 0,
    column: 0,
    row: 0,
    cellPx: 0,
    level: 0,
    location: 0,
  };
  const planes: { logits: Numbers; offset: number; plane: number } = {
    logits: new Float32Array(0),
    offset: 0,
    plane: 0,
  };
  let levels: readonly RawLevel[] = [];
  let picture = 0;

  function readRun(anchors: Int32Array, from: number, to: number, level: number, location: number): void {
    const { cells, start, columns, stride } = grid.levels[level]!;
    const base = start + location * cells;
    const raw = levels[level]!;
    const map = picture * grid.locations + location;
    planes.plane = cells;
    planes.logits = raw.quality;
    planes.offset = map * bins * cells;
    qualityMoments.meansInto(means, planes, anchors, from, to, base);
    for (let index = from; index < to; index++) quality[anchors[index]!] = means[index - from]! / (bins - 1);
    if (raw.classes) readClasses(raw.classes, map * classCount * cells - base, cells, anchors, from, to);
    if (boxCode.kind === 'dfl') {
      planes.logits = raw.box;
      for (let side = 0; side < 4; side++) {
        planes.offset = (map * codec.channels + side * boxCode.bins) * cells;
        sideMoments.meansInto(means, planes, anchors, from, to, base);
        for (let index = from; index < to; index++) {
          const anchor = anchors[index]!;
          const cell = anchor - base;
          const centre = ((side & 1) === 0 ? cell % columns : Math.floor(cell / columns)) + 0.5;
          const distance = means[index - from]!;
          boxes[4 * anchor + side] = (side < 2 ? centre - distance : centre + distance) * stride;
        }
      }
      return;
    }
    place.raw = raw.box;
    place.stride = cells;
    place.cellPx = stride;
    place.level = level;
    place.location = location;
    for (let index = from; index < to; index++) {
      const anchor = anchors[index]!;
      const cell = anchor - base;
      place.offset = map * codec.channels * cells + cell;
      place.column = cell % columns;
      place.row = Math.floor(cell / columns);
      codec.decodeInto(place, boxes, 4 * anchor);
    }
  }

  function readClasses(
    logits: Numbers,
    shift: number,
    plane: number,
    anchors: Int32Array,
    from: number,
    to: number,
  ): void {
    for (let index = from; index < to; index++) {
      const anchor = anchors[index]!;
      let peak = -Infinity;
      for (let classId = 0; classId < classCount; classId++) {
        const logit = logits[shift + anchor + classId * plane]!;
        if (!(logit <= peak)) peak = logit;
      }
      let total = 0;
      for (let classId = 0; classId < classCount; classId++) {
        const logit = logits[shift + anchor + classId * plane]!;
        const mass = classLaw === 'softmax' ? Math.exp(logit - peak) : 1 / (1 + Math.exp(-logit));
        probabilities[classCount * anchor + classId] = mass;
        total += mass;
      }
      if (classLaw === 'sigmoid') continue;
      for (let classId = 0; classId < classCount; classId++) {
        probabilities[classCount * anchor + classId]! /= total;
      }
    }
  }

  return {
    boxes,
    bind(bound, index) {
      levels = bound;
      picture = index;
    },
    prepare(anchors, count) {
      for (let from = 0; from < count; ) {
        const first = anchors[from]!;
        const level = levelOf(grid, first);
        const { cells, start } = grid.levels[level]!;
        const location = Math.floor((first - start) / cells);
        const low = start + location * cells;
        let to = from + 1;
        while (to < count && to - from < BLOCK_CELLS && anchors[to]! >= low && anchors[to]! < low + cells)
          to++;
        readRun(anchors, from, to, level, location);
        from = to;
      }
    },
    score: (anchor, classId) =>
      classCount > 1 ? quality[anchor]! * probabilities[classCount * anchor + classId]! : quality[anchor]!,
  };
}
