// The loops of suppression on candidates: order by rank, then keep or decay. Bounded by counts, never by time.
import { fuseBoxes } from './box-fusion.ts';
import { areaOfRow } from './box-rows.ts';
import { voteSuppress } from './box-voting.ts';
import type { Candidates } from './candidates.ts';
import { ModelError } from './errors.ts';
import { RankSorter } from './rank.ts';
import { softSuppress } from './soft-nms.ts';
import type { SuppressionPolicy } from './suppression.ts';

export interface SuppressorOptions {
  readonly policy: SuppressionPolicy;
  /** IoU in [0, 1]; strictly more suppresses. */
  readonly iou: number;
  /** Boxes of different classes suppress each other too. */
  readonly agnostic: boolean;
  /** Most boxes that are kept. */
  readonly maxDet: number;
  /** Most candidates that are looked at, best rank first. */
  readonly maxCandidates: number;
}

/** Reused between calls: valid until the next one. */
export interface Kept {
  readonly count: number;
  /** Int32[count]: places among the candidates, by falling rank. */
  readonly places: Int32Array;
  /** Float32[count]: scores, lowered by `soft` and by a mean of `wbf`, else as they came. */
  readonly scores: Float32Array;
  /** Float32[4 * count], x1 y1 x2 y2 in input px: where `vote` and `wbf` moved the boxes; absent for the others. */
  readonly boxes?: Float32Array;
  /** Float32[4 * count] in input px², beside `boxes`; absent where the candidates have none. */
  readonly boxVariances?: Float32Array;
  /** `maxDet` were kept and candidates were left unread. */
  readonly detectionLimitReached: boolean;
  /** There were more than `maxCandidates`. */
  readonly candidateLimitReached: boolean;
}

export interface Suppressor {
  /**
   * @param places places among the candidates that take part, `places[0..count)`, rising
   * @param accepts asked by `soft` for every lowered score before it is kept
   * @throws ModelError where the policy needs a variance that the candidates lack
   */
  suppress(
    candidates: Candidates,
    places: Int32Array,
    count: number,
    accepts?: (place: number, score: number) => boolean,
  ): Kept;
}

export function createSuppressor(options: SuppressorOptions): Suppressor {
  return new GreedySuppressor(options);
}

class GreedySuppressor implements Suppressor {
  readonly #options: SuppressorOptions;
  readonly #sorter = new RankSorter();
  readonly #places: Int32Array;
  readonly #scores: Float32Array;
  readonly #boxes: Float32Array;
  readonly #boxVariances: Float32Array;
  readonly #kept: KeptBoxes;
  #ranks = new Float32Array(0);

  constructor(options: SuppressorOptions) {
    this.#options = options;
    this.#places = new Int32Array(options.maxDet);
    this.#scores = new Float32Array(options.maxDet);
    const moved = movesBoxes(options.policy) ? 4 * options.maxDet : 0;
    this.#boxes = new Float32Array(moved);
    this.#boxVariances = new Float32Array(moved);
    this.#kept = new KeptBoxes(options.maxDet);
  }

  suppress(
    candidates: Candidates,
    places: Int32Array,
    count: number,
    accepts?: (place: number, score: number) => boolean,
  ): Kept {
    const { policy, maxCandidates } = this.#options;
    const ranks = this.#rank(candidates, places, count);
    const order = this.#sorter.sort(places, ranks, count);
    const read = Math.min(count, maxCandidates);
    const kept = this.#keep(candidates, order, read, accepts);
    return {
      count: kept.count,
      places: this.#places,
      scores: this.#scores,
      ...(movesBoxes(policy) && { boxes: this.#boxes }),
      ...(movesBoxes(policy) && candidates.boxVariances && { boxVariances: this.#boxVariances }),
      detectionLimitReached: kept.unread,
      candidateLimitReached: count > maxCandidates,
    };
  }

  #keep(
    candidates: Candidates,
    order: Int32Array,
    read: number,
    accepts: ((place: number, score: number) => boolean) | undefined,
  ): { count: number; unread: boolean } {
    const { policy, iou, agnostic } = this.#options;
    const kept = {
      places: this.#places,
      scores: this.#scores,
      boxes: this.#boxes,
      boxVariances: this.#boxVariances,
    };
    switch (policy.kind) {
      case 'soft':
        return softSuppress(candidates, order, read, { ...policy, ...kept, agnostic, accepts });
      case 'vote': {
        const boxVariances = expectPresent(candidates.boxVariances, 'variance of the box', policy.kind);
        return voteSuppress({ ...candidates, boxVariances }, order, read, { policy, iou, agnostic, kept });
      }
      case 'wbf':
        return fuseBoxes(candidates, order, read, { policy, iou, agnostic, kept });
      default:
        return this.#hard(candidates, order, read);
    }
  }

  #hard(candidates: Candidates, order: Int32Array, read: number): { count: number; unread: boolean } {
    const { iou, agnostic, maxDet } = this.#options;
    const { boxes, classIds, scores } = candidates;
    const kept = this.#kept;
    kept.clear();
    for (let index = 0; index < read; index++) {
      if (kept.count === maxDet) return { count: maxDet, unread: true };
      const place = order[index]!;
      const group = agnostic ? 0 : classIds[place]!;
      if (kept.covers(boxes, 4 * place, group, iou)) continue;
      this.#places[kept.count] = place;
      this.#scores[kept.count] = scores[place]!;
      kept.add(boxes, 4 * place, group);
    }
    return { count: kept.count, unread: false };
  }

  /** The number that orders: the score itself, or the score lowered by how unsure the model is. */
  #rank(candidates: Candidates, places: Int32Array, count: number): Float32Array {
    const { policy } = this.#options;
    if (policy.kind !== 'uncertainty' && policy.kind !== 'box-uncertainty') return candidates.scores;
    if (this.#ranks.length < candidates.scores.length) {
      this.#ranks = new Float32Array(candidates.scores.length);
    }
    const ranks = this.#ranks;
    const doubt = doubtOf(candidates, policy.kind);
    for (let index = 0; index < count; index++) {
      const place = places[index]!;
      ranks[place] = candidates.scores[place]! * Math.exp(-policy.lambda * doubt(place));
    }
    return ranks;
  }
}

function movesBoxes({ kind }: SuppressionPolicy): boolean {
  return kind === 'vote' || kind === 'wbf';
}

/** How unsure the model is of a candidate, without a unit. */
function doubtOf(
  { boxes, scoreVariances, boxVariances }: Candidates,
  kind: 'uncertainty' | 'box-uncertainty',
): (place: number) => number {
  if (kind === 'uncertainty') {
    const variances = expectPresent(scoreVariances, 'variance of the score', kind);
    return (place) => variances[place]!;
  }
  const variances = expectPresent(boxVariances, 'variance of the box', kind);
  return (place) => boxUncertainty(boxes, variances, place);
}

/** Mean over the sides of std / size along that axis: without a unit; Infinity for a box without an area. */
export function boxUncertainty(boxes: Float32Array, variances: Float32Array, place: number): number {
  const first = 4 * place;
  const width = boxes[first + 2]! - boxes[first]!;
  const height = boxes[first + 3]! - boxes[first + 1]!;
  if (!(width > 0 && height > 0)) return Infinity;
  const horizontal = Math.sqrt(variances[first]!) + Math.sqrt(variances[first + 2]!);
  const vertical = Math.sqrt(variances[first + 1]!) + Math.sqrt(variances[first + 3]!);
  return (horizontal / width + vertical / height) / 4;
}

function expectPresent(values: Float32Array | undefined, what: string, policy: string): Float32Array {
  if (values !== undefined) return values;
  throw new ModelError(`suppression '${policy}' needs the ${what}, which this model does not give`, {
    hint: "use suppression 'hard' or 'soft' with this model",
  });
}

/** Boxes kept so far, chained by class, so that a candidate meets only boxes that may suppress it. */
class KeptBoxes {
  count = 0;
  readonly #boxes: Float64Array;
  readonly #areas: Float64Array;
  readonly #next: Int32Array;
  /** By class id: the slot added last, -1 for none. */
  #newest = new Int32Array(0);

  constructor(capacity: number) {
    this.#boxes = new Float64Array(4 * capacity);
    this.#areas = new Float64Array(capacity);
    this.#next = new Int32Array(capacity);
  }

  clear(): void {
    this.count = 0;
    this.#newest.fill(-1);
  }

  add(boxes: Float32Array, first: number, group: number): void {
    const slot = this.count++;
    for (let side = 0; side < 4; side++) this.#boxes[4 * slot + side] = boxes[first + side]!;
    this.#areas[slot] = areaOfRow(boxes, first);
    if (group >= this.#newest.length) this.#reserve(group + 1);
    this.#next[slot] = this.#newest[group]!;
    this.#newest[group] = slot;
  }

  #reserve(groups: number): void {
    const grown = new Int32Array(groups * 2).fill(-1);
    grown.set(this.#newest);
    this.#newest = grown;
  }

  /** Whether a kept box of this group overlaps by more than `threshold`. */
  covers(boxes: Float32Array, first: number, group: number, threshold: number): boolean {
    const kept = this.#boxes;
    const x1 = boxes[first]!;
    const y1 = boxes[first + 1]!;
    const x2 = boxes[first + 2]!;
    const y2 = boxes[first + 3]!;
    const area = areaOfRow(boxes, first);
    if (group >= this.#newest.length) return false;
    for (let slot = this.#newest[group]!; slot >= 0; slot = this.#next[slot]!) {
      const at = 4 * slot;
      const width = Math.min(x2, kept[at + 2]!) - Math.max(x1, kept[at]!);
      if (width <= 0) continue;
      const height = Math.min(y2, kept[at + 3]!) - Math.max(y1, kept[at + 1]!);
      if (height <= 0) continue;
      const intersection = width * height;
      if (intersection / (area + this.#areas[slot]! - intersection) > threshold) return true;
    }
    return false;
  }
}
