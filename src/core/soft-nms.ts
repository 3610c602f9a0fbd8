// Soft-NMS: overlap lowers a score instead of ending it; after every pick the next highest is looked up anew.
import { iouOfRows } from './box-rows.ts';
import type { Candidates } from './candidates.ts';
import type { SoftSuppression } from './suppression.ts';

interface SoftOptions {
  readonly decay: SoftSuppression['decay'];
  readonly minScore: number;
  readonly agnostic: boolean;
  readonly accepts: ((place: number, score: number) => boolean) | undefined;
  /** Filled with places and lowered scores; their length is the most that is kept. */
  readonly places: Int32Array;
  readonly scores: Float32Array;
}

/**
 * @param order candidate places by falling score, `order[0..read)`
 * @returns how many were kept, and whether some above `minScore` were left when the limit was reached
 */
export function softSuppress(
  { boxes, classIds, scores }: Candidates,
  order: Int32Array,
  read: number,
  options: SoftOptions,
): { count: number; unread: boolean } {
  // Copies: a decayed score must not show in the candidates, and removing shortens the list.
  const alive = order.slice(0, read);
  const current = Float64Array.from(alive, (place) => scores[place]!);
  let aliveCount = read;
  let count = 0;
  while (aliveCount > 0) {
    const top = highest(current, alive, aliveCount);
    const score = current[top]!;
    if (score < options.minScore) break;
    if (count === options.places.length) return { count, unread: true };
    const picked = alive[top]!;
    aliveCount = removeAt(alive, current, aliveCount, top);
    if (options.accepts !== undefined && !options.accepts(picked, Math.fround(score))) continue;
    options.places[count] = picked;
    options.scores[count] = score;
    count++;
    aliveCount = decayOthers(boxes, classIds, picked, alive, current, aliveCount, options);
  }
  return { count, unread: false };
}

/** Slot of the highest score; ties go to the lower place. */
function highest(current: Float64Array, alive: Int32Array, count: number): number {
  let top = 0;
  for (let slot = 1; slot < count; slot++) {
    const difference = current[slot]! - current[top]!;
    if (difference > 0 || (difference === 0 && alive[slot]! < alive[top]!)) top = slot;
  }
  return top;
}

/** The last one takes the free slot: order within the list does not matter, ties are decided by place. */
function removeAt(alive: Int32Array, current: Float64Array, count: number, slot: number): number {
  alive[slot] = alive[count - 1]!;
  current[slot] = current[count - 1]!;
  return count - 1;
}

function decayOthers(
  boxes: Float32Array,
  classIds: Int32Array,
  picked: number,
  alive: Int32Array,
  current: Float64Array,
  aliveCount: number,
  { decay, agnostic, minScore }: SoftOptions,
): number {
  let count = aliveCount;
  for (let slot = count - 1; slot >= 0; slot--) {
    const place = alive[slot]!;
    if (!agnostic && classIds[place] !== classIds[picked]) continue;
    const overlap = iouOfRows(boxes, 4 * picked, boxes, 4 * place);
    if (overlap === 0) continue;
    if (decay.shape === 'gaussian') current[slot]! *= Math.exp(-(overlap * overlap) / decay.sigma);
    else if (overlap > decay.iou) current[slot]! *= 1 - overlap;
    if (current[slot]! < minScore) count = removeAt(alive, current, count, slot);
  }
  return count;
}
