// Variance voting: the sides of a kept box become a mean over its neighbours, the sure ones counting most.
import { iouOfRows } from './box-rows.ts';
import type { Candidates } from './candidates.ts';
import type { VoteSuppression } from './suppression.ts';

/** Rows that suppression fills; their length is the most that is kept. */
export interface KeptRows {
  readonly places: Int32Array;
  readonly scores: Float32Array;
  /** Float32[4 * most], x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  /** Float32[4 * most] in input px². */
  readonly boxVariances: Float32Array;
}

interface VotingOptions {
  readonly policy: VoteSuppression;
  /** Strictly more suppresses. */
  readonly iou: number;
  readonly agnostic: boolean;
  readonly kept: KeptRows;
}

/**
 * Variance of a coordinate that is a whole number of px: labels are no finer, and a law in one bin would else have
 * variance 0 and outvote all others.
 */
const LEAST_VARIANCE_PX2 = 1 / 12;

/**
 * He et al., "Bounding Box Regression with Uncertainty for Accurate Object Detection" (CVPR 2019), algorithm 1 with hard
 * suppression. For the box b of the highest score that is left, over the boxes j that are left (b included) with
 * IoU(b, j) > minIou, per side: x = Σ w_j x_j, w_j ∝ exp(−(1 − IoU(b, j))² / sigma) / σ_j².
 *
 * The variance of the mean is that of the mixture of the voters, Σ w_j σ_j² + Σ w_j (x_j − x)²: neighbours err together,
 * so that the Σ w_j² σ_j² of independent voters would promise too much, and where they disagree it should show. A box
 * without neighbours keeps its own.
 * @param order candidate places by falling score, `order[0..read)`
 * @returns how many were kept, and whether any were left when the limit was reached
 */
export function voteSuppress(
  candidates: Candidates & { readonly boxVariances: Float32Array },
  order: Int32Array,
  read: number,
  { policy, iou, agnostic, kept }: VotingOptions,
): { count: number; unread: boolean } {
  const { boxes, classIds, scores } = candidates;
  const gone = new Uint8Array(read);
  const votes = new Votes(candidates);
  let count = 0;
  for (let rank = 0; rank < read; rank++) {
    if (gone[rank] === 1) continue;
    if (count === kept.places.length) return { count, unread: true };
    const picked = order[rank]!;
    votes.begin(picked);
    for (let other = rank + 1; other < read; other++) {
      const place = order[other]!;
      if (gone[other] === 1 || (!agnostic && classIds[place] !== classIds[picked])) continue;
      const overlap = iouOfRows(boxes, 4 * picked, boxes, 4 * place);
      if (overlap > policy.minIou) votes.add(place, Math.exp(-((1 - overlap) ** 2) / policy.sigma));
      if (overlap > iou) gone[other] = 1;
    }
    votes.write(kept, count);
    kept.places[count] = picked;
    kept.scores[count++] = scores[picked]!;
  }
  return { count, unread: false };
}

/** Sums per side over the voters of one box, relative to that box so that nothing cancels. */
class Votes {
  readonly #boxes: Float32Array;
  readonly #variances: Float32Array;
  readonly #weights = new Float64Array(4);
  readonly #offsets = new Float64Array(4);
  readonly #squares = new Float64Array(4);
  readonly #spreads = new Float64Array(4);
  #first = 0;

  constructor({ boxes, boxVariances }: Candidates & { readonly boxVariances: Float32Array }) {
    this.#boxes = boxes;
    this.#variances = boxVariances;
  }

  begin(picked: number): void {
    this.#first = 4 * picked;
    for (const sums of [this.#weights, this.#offsets, this.#squares, this.#spreads]) sums.fill(0);
    this.add(picked, 1);
  }

  add(place: number, nearness: number): void {
    for (let side = 0; side < 4; side++) {
      const variance = this.#variances[4 * place + side]!;
      const weight = nearness / Math.max(variance, LEAST_VARIANCE_PX2);
      const offset = this.#boxes[4 * place + side]! - this.#boxes[this.#first + side]!;
      this.#weights[side]! += weight;
      this.#offsets[side]! += weight * offset;
      this.#squares[side]! += weight * offset * offset;
      this.#spreads[side]! += weight * variance;
    }
  }

  write({ boxes, boxVariances }: KeptRows, slot: number): void {
    for (let side = 0; side < 4; side++) {
      const weight = this.#weights[side]!;
      const offset = this.#offsets[side]! / weight;
      boxes[4 * slot + side] = this.#boxes[this.#first + side]! + offset;
      const scatter = Math.max(0, this.#squares[side]! / weight - offset * offset);
      boxVariances[4 * slot + side] = this.#spreads[side]! / weight + scatter;
    }
  }
}
