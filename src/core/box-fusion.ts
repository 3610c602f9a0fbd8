// Weighted boxes fusion: overlapping boxes become one, their mean weighted by score, instead of one that wins.
import { iouOfRows } from './box-rows.ts';
import type { KeptRows } from './box-voting.ts';
import type { Candidates } from './candidates.ts';
import type { FusionSuppression } from './suppression.ts';

interface FusionOptions {
  readonly policy: FusionSuppression;
  /** Strictly more joins. */
  readonly iou: number;
  readonly agnostic: boolean;
  readonly kept: KeptRows;
}

/** A score of 0 must not make a mean of nothing. */
const LEAST_WEIGHT = 1e-30;

/**
 * Solovyev, Wang and Gabruseva, "Weighted boxes fusion" (Image and Vision Computing 107, 2021), section 3, for one model.
 * By falling score, a box joins the fused box of its class that it overlaps most, the earlier one where equal, if by
 * more than `iou`; else it begins one. Per side, over the members: x = Σ s_j x_j / Σ s_j. The score is the mean of the
 * members', or the highest. Once as many are begun as may be kept, boxes can only join.
 *
 * The variance of a side is that of the mixture of the members, w_j = s_j / Σ s: Σ w_j σ_j² + Σ w_j (x_j − x)².
 * @param order candidate places by falling score, `order[0..read)`
 * @returns how many were kept, by falling score of their best member; whether boxes were left that began none
 */
export function fuseBoxes(
  candidates: Candidates,
  order: Int32Array,
  read: number,
  { policy, iou, agnostic, kept }: FusionOptions,
): { count: number; unread: boolean } {
  const { classIds, scores } = candidates;
  const clusters = new Clusters(candidates, kept.places.length);
  let unread = false;
  for (let rank = 0; rank < read; rank++) {
    const place = order[rank]!;
    const group = agnostic ? 0 : classIds[place]!;
    const found = clusters.find(place, group, iou);
    if (found >= 0) clusters.join(found, place);
    else if (clusters.count < kept.places.length) {
      kept.places[clusters.count] = place;
      clusters.begin(place, group);
    } else unread = true;
  }
  for (let slot = 0; slot < clusters.count; slot++) {
    const best = scores[kept.places[slot]!]!;
    kept.scores[slot] = policy.score === 'highest' ? best : clusters.meanScore(slot);
    clusters.write(kept, slot);
  }
  return { count: clusters.count, unread };
}

class Clusters {
  count = 0;
  readonly #candidates: Candidates;
  readonly #fused: Float64Array;
  readonly #groups: Int32Array;
  readonly #sizes: Int32Array;
  readonly #scores: Float64Array;
  readonly #weights: Float64Array;
  readonly #sums: Float64Array;
  readonly #squares: Float64Array;
  readonly #spreads: Float64Array;

  constructor(candidates: Candidates, most: number) {
    this.#candidates = candidates;
    [this.#groups, this.#sizes] = [new Int32Array(most), new Int32Array(most)];
    [this.#scores, this.#weights] = [new Float64Array(most), new Float64Array(most)];
    [this.#fused, this.#sums] = [new Float64Array(4 * most), new Float64Array(4 * most)];
    [this.#squares, this.#spreads] = [new Float64Array(4 * most), new Float64Array(4 * most)];
  }

  /** @returns the slot that the box overlaps most, by more than `iou`; -1 for none */
  find(place: number, group: number, iou: number): number {
    let [best, found] = [iou, -1];
    for (let slot = 0; slot < this.count; slot++) {
      if (this.#groups[slot] !== group) continue;
      const overlap = iouOfRows(this.#candidates.boxes, 4 * place, this.#fused, 4 * slot);
      if (overlap > best) [best, found] = [overlap, slot];
    }
    return found;
  }

  begin(place: number, group: number): void {
    this.#groups[this.count] = group;
    this.join(this.count++, place);
  }

  join(slot: number, place: number): void {
    const { boxes, boxVariances, scores } = this.#candidates;
    const weight = Math.max(scores[place]!, LEAST_WEIGHT);
    this.#sizes[slot]!++;
    this.#scores[slot]! += scores[place]!;
    this.#weights[slot]! += weight;
    for (let side = 0; side < 4; side++) {
      const at = 4 * slot + side;
      const value = boxes[4 * place + side]!;
      this.#sums[at]! += weight * value;
      this.#squares[at]! += weight * value * value;
      this.#spreads[at]! += weight * (boxVariances?.[4 * place + side] ?? 0);
      this.#fused[at] = this.#sums[at]! / this.#weights[slot]!;
    }
  }

  meanScore(slot: number): number {
    return this.#scores[slot]! / this.#sizes[slot]!;
  }

  write({ boxes, boxVariances }: KeptRows, slot: number): void {
    for (let at = 4 * slot; at < 4 * slot + 4; at++) {
      const [weight, mean] = [this.#weights[slot]!, this.#fused[at]!];
      boxes[at] = mean;
      // A lone box has no scatter; what rounding leaves of it must not show.
      const scatter = this.#sizes[slot] === 1 ? 0 : Math.max(0, this.#squares[at]! / weight - mean * mean);
      boxVariances[at] = this.#spreads[at]! / weight + scatter;
    }
  }
}
