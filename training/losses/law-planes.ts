// Softmax laws whose bins lie in planes of a map [channels, rows, columns]: the bins of one cell are a whole plane apart.
// A block of cells is turned round in a scratch, so that planes are read in rows and laws are summed in registers.
import { expOfNegative } from './exponential.ts';
import type { FrozenFactors, Numbers } from './types.ts';

/** Cells at a time: their laws fit a level-1 cache. */
export const BLOCK_CELLS = 128;

/** Laws of all cells of one map. */
export interface LawPlanes {
  logits: Numbers;
  /** Start of the first bin's plane. */
  offset: number;
  /** Step between the planes of neighbouring bins: cells of the level. */
  plane: number;
}

export interface RunMoments {
  /**
   * E[bin] of at most `BLOCK_CELLS` cells, given as anchors [from, to) of a list of which `base` is cell 0.
   *
   * @param means receives to − from values
   */
  meansInto(
    means: Float64Array,
    planes: LawPlanes,
    anchors: Int32Array,
    from: number,
    to: number,
    base: number,
  ): void;
}

export function createRunMoments(bins: number): RunMoments {
  const scratch = new Float64Array(BLOCK_CELLS * bins);
  return {
    meansInto(means, { logits, offset, plane }, anchors, from, to, base) {
      const count = to - from;
      for (let bin = 0; bin < bins; bin++) {
        const first = offset - base + bin * plane;
        for (let index = 0; index < count; index++) {
          scratch[index * bins + bin] = logits[first + anchors[from + index]!]!;
        }
      }
      for (let index = 0; index < count; index++) {
        const first = index * bins;
        const peak = peakOf(scratch, first, bins);
        let total = 0;
        let weighted = 0;
        for (let bin = 0; bin < bins; bin++) {
          const mass = expOfNegative(scratch[first + bin]! - peak);
          total += mass;
          weighted += bin * mass;
        }
        means[index] = weighted / total;
      }
    },
  };
}

function peakOf(values: Float64Array, first: number, count: number): number {
  let peak = values[first]!;
  for (let index = 1; index < count; index++) {
    const value = values[first + index]!;
    if (!(value <= peak)) peak = value;
  }
  return peak;
}

/** State of an anchor that takes the background's loss. */
export const BACKGROUND = 0;

export interface BackgroundRow extends LawPlanes {
  cells: number;
  /** Per cell from `stateOffset`: `BACKGROUND` takes the loss, anything else gets a gradient of 0. */
  states: Uint8Array;
  stateOffset: number;
  /** Same layout as the logits. */
  gradient: Numbers;
  scale: number;
  /** Where the target lies, in bins. */
  position: number;
  /** Exponent of the detached focal factor. */
  gamma: number;
  /** Two factors a cell from its offset; only with gamma > 0. */
  frozen: FrozenFactors | undefined;
}

export interface BackgroundLoss {
  /** Writes the gradient of the distribution focal loss towards one target everywhere; returns the sum of its values. */
  writeInto(row: BackgroundRow): number;
}

export function createBackgroundLoss(bins: number): BackgroundLoss {
  const scratch = new Float64Array(BLOCK_CELLS * bins);
  return {
    writeInto(row) {
      const { logits, gradient, plane, cells, states, stateOffset } = row;
      let value = 0;
      for (let from = 0; from < cells; from += BLOCK_CELLS) {
        const count = Math.min(BLOCK_CELLS, cells - from);
        for (let bin = 0; bin < bins; bin++) {
          const first = row.offset + from + bin * plane;
          for (let index = 0; index < count; index++) scratch[index * bins + bin] = logits[first + index]!;
        }
        for (let index = 0; index < count; index++) {
          const first = index * bins;
          if (states[stateOffset + from + index] === BACKGROUND) {
            value += lawToGradient(scratch, first, bins, row, from + index);
          } else scratch.fill(0, first, first + bins);
        }
        for (let bin = 0; bin < bins; bin++) {
          const first = row.offset + from + bin * plane;
          for (let index = 0; index < count; index++) gradient[first + index] = scratch[index * bins + bin]!;
        }
      }
      return value;
    },
  };
}

/** Logits in, scale · ((f_l w_l + f_r w_r) p − two-hot) out; returns the loss. */
function lawToGradient(
  law: Float64Array,
  first: number,
  bins: number,
  row: BackgroundRow,
  cell: number,
): number {
  const { scale, position, gamma } = row;
  const leftAt = first + Math.floor(position);
  const rightAt = Math.min(leftAt + 1, first + bins - 1);
  let right = position - Math.floor(position);
  let left = 1 - right;
  const leftLogit = law[leftAt]!;
  const rightLogit = law[rightAt]!;
  const peak = peakOf(law, first, bins);
  let total = 0;
  for (let at = first; at < first + bins; at++) {
    const mass = expOfNegative(law[at]! - peak);
    law[at] = mass;
    total += mass;
  }
  if (gamma > 0) {
    left *= focalFactor(row, cell, 0, law[leftAt]! / total);
    right *= focalFactor(row, cell, 1, law[rightAt]! / total);
  }
  const share = (scale * (left + right)) / total;
  for (let at = first; at < first + bins; at++) law[at]! *= share;
  law[leftAt]! -= scale * left;
  law[rightAt]! -= scale * right;
  const logTotal = Math.log(total) + peak;
  const value = left * (logTotal - leftLogit);
  return right > 0 ? value + right * (logTotal - rightLogit) : value;
}

function focalFactor(
  { frozen, gamma }: BackgroundRow,
  cell: number,
  place: number,
  probability: number,
): number {
  const at = frozen === undefined ? 0 : frozen.offset + 2 * cell + place;
  if (frozen?.held) return frozen.values[at]!;
  const current = (1 - probability) ** gamma;
  if (frozen) frozen.values[at] = current;
  return current;
}
