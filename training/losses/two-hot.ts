// Distribution focal loss: cross entropy of a law over bins with a target spread over the two bins beside it
// (Li et al. 2020, generalised focal loss, eq. 6), from logits, so that nothing is clipped.
import { DataError } from '#core';
import type { FrozenFactors, Numbers } from './types.ts';

/** One law and its target; the gradient is added to what is there. */
export interface TwoHotRow {
  logits: Numbers;
  offset: number;
  /** Step between bins, here and in the gradient. */
  stride: number;
  /** Where the target lies, in bins: [0, bins − 1]. */
  position: number;
  /**
   * Exponent of the detached focal factor (1 − p)^gamma on each of the two bins; 0 leaves it out. Above 0 it moves
   * the optimum between the bins: p_r / p_l = (w_r / w_l)^(1 / (1 + gamma)).
   */
  gamma: number;
  gradient: Numbers;
  gradientOffset: number;
  gradientStride: number;
  /** Multiplies the gradient, not the value. */
  scale: number;
  /** Needs two places from its offset. */
  readonly frozen?: FrozenFactors;
}

export interface TwoHotLoss {
  /** @returns the loss, from the entropy of the target (at most ln 2 at gamma 0) upwards */
  addInto(row: TwoHotRow): number;
}

export function createTwoHotLoss(bins: number): TwoHotLoss {
  const law = new Float64Array(bins); // exp(z − peak)
  return {
    addInto(row) {
      const { logits, offset, stride, position, gamma, gradient, gradientOffset, gradientStride, scale } =
        row;
      let peak = -Infinity;
      for (let bin = 0; bin < bins; bin++) {
        const logit = logits[offset + bin * stride]!;
        if (!(logit <= peak)) peak = logit;
      }
      let total = 0;
      for (let bin = 0; bin < bins; bin++) {
        const mass = Math.exp(logits[offset + bin * stride]! - peak);
        law[bin] = mass;
        total += mass;
      }
      // The right bin is clamped only after the weights are formed: clamping first makes both weights 0 at the last bin.
      const left = Math.floor(position);
      const right = Math.min(left + 1, bins - 1);
      let leftFactor = left + 1 - position;
      let rightFactor = position - left;
      if (gamma > 0 || row.frozen) {
        leftFactor *= focalFactor(row, law, total, left, 0);
        rightFactor *= focalFactor(row, law, total, right, 1);
      }
      const share = (scale * (leftFactor + rightFactor)) / total;
      for (let bin = 0; bin < bins; bin++) {
        gradient[gradientOffset + bin * gradientStride]! += share * law[bin]!;
      }
      gradient[gradientOffset + left * gradientStride]! -= scale * leftFactor;
      gradient[gradientOffset + right * gradientStride]! -= scale * rightFactor;
      const logTotal = Math.log(total) + peak;
      let value = leftFactor * (logTotal - logits[offset + left * stride]!);
      if (rightFactor > 0) value += rightFactor * (logTotal - logits[offset + right * stride]!);
      return value;
    },
  };
}

function focalFactor(row: TwoHotRow, law: Float64Array, total: number, bin: number, place: number): number {
  const { frozen, gamma } = row;
  if (frozen?.held) return frozen.values[frozen.offset + place]!;
  const factor = gamma > 0 ? (1 - law[bin]! / total) ** gamma : 1;
  if (frozen) frozen.values[frozen.offset + place] = factor;
  return factor;
}

/**
 * Where a score in [0, 1] lies between its anchors i / (bins − 1), in bins; outside values are clamped.
 *
 * @throws DataError for NaN, which would otherwise spread over the whole network
 */
export function scorePosition(target: number, bins: number): number {
  if (Number.isNaN(target)) {
    throw new DataError('a target of the score distribution is NaN', {
      hint: 'look for boxes of no finite size among the labels: edge-detect inspect data=...',
    });
  }
  return Math.min(Math.max(target, 0), 1) * (bins - 1);
}

/** Targets stop short of the last bin of a box side, so that there is always a bin to the right (as YOLOv8 clamps). */
const LAST_BIN_MARGIN = 0.01;

/** A distance in cells where a law over `bins` bins can express it. */
export function sidePosition(cells: number, bins: number): number {
  return Math.min(Math.max(cells, 0), bins - 1 - LAST_BIN_MARGIN);
}
