// Where the object is: CIoU of the decoded box, and the distribution of its sides, on assigned anchors.
import type { BoxCode } from '#onnx';
import type { AnchorGrid } from '../../assign/anchor-grid.ts';
import { createBoxCodec } from '../box-codec.ts';
import { createCiou } from '../ciou.ts';
import { createTwoHotLoss, sidePosition, type TwoHotRow } from '../two-hot.ts';
import type { BoxPlace } from '../types.ts';
import { type Batch, createPlaceFinder } from './batch.ts';

/** Sums before weights and the normaliser. */
export interface BoxSums {
  /** Σ target · (1 − CIoU). */
  box: number;
  /** Σ target · mean over sides of their distribution focal loss. */
  boxDfl: number;
}

export interface BoxTerm {
  /** Adds the gradients, scaled, to columns that are 0; returns the sums. */
  evaluate(batch: Batch, boxScale: number, dflScale: number): BoxSums;
}

const SIDES = 4;

export function createBoxTerm(grid: AnchorGrid, code: BoxCode): BoxTerm {
  const codec = createBoxCodec(code);
  const ciou = createCiou();
  const bins = code.kind === 'dfl' ? code.bins : 0;
  const twoHot = createTwoHotLoss(bins);
  const placeOf = createPlaceFinder(grid);
  const empty = new Float32Array(0);
  const corners = new Float64Array(SIDES);
  const dCorners = new Float64Array(SIDES);
  let alphas = new Float64Array(0);
  const place: BoxPlace = {
    raw: empty,
    offset: 0,
    stride: 0,
    column: 0,
    row: 0,
    cellPx: 0,
    level: 0,
    location: 0,
  };
  const row: TwoHotRow = {
    logits: empty,
    offset: 0,
    stride: 0,
    position: 0,
    gamma: 0,
    gradient: empty,
    gradientOffset: 0,
    gradientStride: 0,
    scale: 0,
  };
  const sums = { box: 0, boxDfl: 0 };

  /** Mean over the four sides of one anchor. */
  function addSides(boxes: Float32Array, object: number, scale: number): number {
    let value = 0;
    row.logits = place.raw;
    row.stride = place.stride;
    row.gradientStride = place.stride;
    row.scale = scale / SIDES;
    for (let side = 0; side < SIDES; side++) {
      const centre = (side & 1) === 0 ? place.column + 0.5 : place.row + 0.5;
      const edge = boxes[4 * object + side]! / place.cellPx;
      row.position = sidePosition(side < 2 ? centre - edge : edge - centre, bins);
      row.offset = place.offset + side * bins * place.stride;
      row.gradientOffset = row.offset;
      value += twoHot.addInto(row);
    }
    return value / SIDES;
  }

  return {
    evaluate({ positives, levels, gradients, boxes, held }, boxScale, dflScale) {
      if (alphas.length < positives.count) alphas = new Float64Array(2 * positives.count);
      sums.box = 0;
      sums.boxDfl = 0;
      for (let index = 0; index < positives.count; index++) {
        const anchor = placeOf(positives.pictures[index]!, positives.anchors[index]!);
        const object = positives.objects[index]!;
        const quality = positives.targets[index]!;
        place.raw = levels[anchor.level]!.box;
        place.offset = anchor.map * codec.channels * anchor.cells + anchor.cell;
        place.stride = anchor.cells;
        place.column = anchor.column;
        place.row = anchor.row;
        place.cellPx = anchor.cellPx;
        place.level = anchor.level;
        place.location = anchor.location;
        const gradient = gradients[anchor.level]!.box;
        codec.decodeInto(place, corners, 0);
        const heldAlpha = held ? alphas[index] : undefined;
        const overlap = ciou.valueAndGradient(corners, 0, boxes, 4 * object, dCorners, heldAlpha);
        alphas[index] = overlap.alpha;
        sums.box += quality * (1 - overlap.ciou);
        codec.backwardInto(place, dCorners, -boxScale * quality, gradient);
        if (bins === 0) continue;
        row.gradient = gradient;
        sums.boxDfl += quality * addSides(boxes, object, dflScale * quality);
      }
      return sums;
    },
  };
}
