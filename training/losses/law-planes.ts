// Softmax laws whose bins lie in planes of a map [channels, rows, columns]: the bins of one cell are a whole plane apart,
// so everything here goes bin by bin over a block of cells and not cell by cell over the bins.
import type { FrozenFactors, Numbers } from './types.ts';

/** Cells at a time: ten bins of them, logits and gradients, fit a level-1 cache. */
export const BLOCK_CELLS = 256;

/** Laws of all cells of one map. */
export interface LawPlanes {
  logits: Numbers;
  /** Start of the first bin's plane. */
  offset: number;
  /** Step between the planes of neighbouring bins: cells of the level. */
  plane: number;
}

/** E[bin] of a list of at most `BLOCK_CELLS` cells, given as anchors of which `base` is cell 0. */
export function createRunMoments(): {
  meansInto(
    means: Float64Array,
    planes: LawPlanes,
    bins: number,
    anchors: Int32Array,
    from: number,
    to: number,
    base: number,
  ): void;
} {
  const peaks = new Float64Array(BLOCK_CELLS);
  const totals = new Float64Array(BLOCK_CELLS);
  return {
    meansInto(means, { logits, offset, plane }, bins, anchors, from, to, base) {
      const count = to - from;
      const shift = offset - base;
      for (let index = 0; index < count; index++) peaks[index] = logits[shift + anchors[from + index]!]!;
      for (let bin = 1; bin < bins; bin++) {
        const first = shift + bin * plane;
        for (let index = 0; index < count; index++) {
          const logit = logits[first + anchors[from + index]!]!;
          if (!(logit <= peaks[index]!)) peaks[index] = logit;
        }
      }
      for (let index = 0; index < count; index++) {
        totals[index] = Math.exp(logits[shift + anchors[from + index]!]! - peaks[index]!);
        means[index] = 0;
      }
      for (let bin = 1; bin < bins; bin++) {
        const first = shift + bin * plane;
        for (let index = 0; index < count; index++) {
          const mass = Math.exp(logits[first + anchors[from + index]!]! - peaks[index]!);
          totals[index]! += mass;
          means[index]! += bin * mass;
        }
      }
      for (let index = 0; index < count; index++) means[index]! /= totals[index]!;
    },
  };
}

/** States of anchors that the background pass leaves alone. */
export const BACKGROUND = 0;

export interface BackgroundRow extends LawPlanes {
  bins: number;
  cells: number;
  /** Per cell from `stateOffset`: `BACKGROUND` takes the loss, anything else gets a gradient of 0. */
  states: Uint8Array;
  stateOffset: number;
  /** Same layout as the logits. */
  gradient: Numbers;
  scale: number;
  /** The target lies on this bin and the next; 0 for plain background. */
  leftBin: number;
  /** Share of the target on the next bin. */
  rightShare: number;
  /** Exponent of the detached focal factor. */
  gamma: number;
  /** Two factors a cell from its offset; only with gamma > 0. */
  frozen: FrozenFactors | undefined;
}

export interface BackgroundLoss {
  /** Writes the gradient of the background's distribution focal loss and returns the sum of its values. */
  writeInto(row: BackgroundRow): number;
}

export function createBackgroundLoss(): BackgroundLoss {
  const peaks = new Float64Array(BLOCK_CELLS);
  const totals = new Float64Array(BLOCK_CELLS);
  const rights = new Float64Array(BLOCK_CELLS);
  return {
    writeInto(row) {
      let value = 0;
      for (let from = 0; from < row.cells; from += BLOCK_CELLS) {
        const count = Math.min(BLOCK_CELLS, row.cells - from);
        massInto(row, from, count, peaks, totals);
        value += finishBlock(row, from, count, peaks, totals, rights);
      }
      return value;
    },
  };
}

/** exp(z − peak) of every bin into the gradient, their sums into `totals`. */
function massInto(
  row: BackgroundRow,
  from: number,
  count: number,
  peaks: Float64Array,
  totals: Float64Array,
): void {
  const { logits, gradient, plane, bins } = row;
  const first = row.offset + from;
  for (let index = 0; index < count; index++) {
    peaks[index] = logits[first + index]!;
    totals[index] = 0;
  }
  for (let bin = 1; bin < bins; bin++) {
    const start = first + bin * plane;
    for (let index = 0; index < count; index++) {
      const logit = logits[start + index]!;
      if (!(logit <= peaks[index]!)) peaks[index] = logit;
    }
  }
  for (let bin = 0; bin < bins; bin++) {
    const start = first + bin * plane;
    for (let index = 0; index < count; index++) {
      const mass = Math.exp(logits[start + index]! - peaks[index]!);
      gradient[start + index] = mass;
      totals[index]! += mass;
    }
  }
}

/** Turns masses into scale · ((f_l w_l + f_r w_r) p − two-hot) and sums the values. */
function finishBlock(
  row: BackgroundRow,
  from: number,
  count: number,
  peaks: Float64Array,
  totals: Float64Array,
  rights: Float64Array,
): number {
  const { logits, gradient, plane, bins, states, stateOffset, scale, rightShare, gamma } = row;
  const first = row.offset + from;
  const leftPlane = first + row.leftBin * plane;
  const rightPlane = leftPlane + plane;
  let value = 0;
  for (let index = 0; index < count; index++) {
    if (states[stateOffset + from + index] !== BACKGROUND) {
      totals[index] = 0;
      rights[index] = 0;
      peaks[index] = 0;
      continue;
    }
    let left = 1 - rightShare;
    let right = rightShare;
    const total = totals[index]!;
    if (gamma > 0) {
      left *= factor(row, from + index, 0, gradient[leftPlane + index]! / total);
      if (right > 0) right *= factor(row, from + index, 1, gradient[rightPlane + index]! / total);
    }
    const logTotal = Math.log(total) + peaks[index]!;
    value += left * (logTotal - logits[leftPlane + index]!);
    if (right > 0) value += right * (logTotal - logits[rightPlane + index]!);
    totals[index] = (scale * (left + right)) / total;
    peaks[index] = scale * left;
    rights[index] = scale * right;
  }
  for (let bin = 0; bin < bins; bin++) {
    const start = first + bin * plane;
    for (let index = 0; index < count; index++) gradient[start + index]! *= totals[index]!;
  }
  for (let index = 0; index < count; index++) gradient[leftPlane + index]! -= peaks[index]!;
  if (rightShare > 0) {
    for (let index = 0; index < count; index++) gradient[rightPlane + index]! -= rights[index]!;
  }
  return value;
}

function factor({ frozen, gamma }: BackgroundRow, cell: number, place: number, probability: number): number {
  const at = frozen === undefined ? 0 : frozen.offset + 2 * cell + place;
  if (frozen?.held) return frozen.values[at]!;
  const current = (1 - probability) ** gamma;
  if (frozen) frozen.values[at] = current;
  return current;
}
