// Isotonic regression by pooling adjacent violators (Ayer et al., 1955).
import type { IsotonicMap } from './calibration-map.ts';

/** Least squares among the maps that never fall. Equal scores are averaged first. */
export function fitIsotonic(scores: ArrayLike<number>, targets: ArrayLike<number>): IsotonicMap | undefined {
  if (scores.length === 0) return undefined;
  const order = Int32Array.from({ length: scores.length }, (_, row) => row);
  order.sort((a, b) => scores[a]! - scores[b]! || a - b);
  const blocks: { first: number; last: number; sum: number; weight: number }[] = [];
  for (const row of order) {
    const score = scores[row]!;
    const before = blocks.at(-1);
    if (before !== undefined && before.last === score) {
      before.sum += targets[row]!;
      before.weight++;
    } else {
      // The scores before are complete only now: pool what falls.
      pool(blocks);
      blocks.push({ first: score, last: score, sum: targets[row]!, weight: 1 });
    }
  }
  pool(blocks);
  // Two knots a block say the same as one for every score in it.
  const scoresOf = blocks.flatMap(({ first, last }) => (first === last ? [first] : [first, last]));
  const values = blocks.flatMap(({ first, last, sum, weight }) =>
    new Array<number>(first === last ? 1 : 2).fill(sum / weight),
  );
  return { kind: 'isotonic', scores: scoresOf, values };
}

function pool(blocks: { first: number; last: number; sum: number; weight: number }[]): void {
  while (blocks.length > 1) {
    const [before, last] = [blocks.at(-2)!, blocks.at(-1)!];
    if (before.sum / before.weight < last.sum / last.weight) return;
    before.last = last.last;
    before.sum += last.sum;
    before.weight += last.weight;
    blocks.pop();
  }
}
