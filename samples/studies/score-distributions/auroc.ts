// How well a number tells two kinds of boxes apart: the area under the curve of hits over false alarms (Hanley and McNeil,
// 1982), which is the chance that one of the second kind has the larger number.

export interface ScoredValue {
  /** What is asked to tell. */
  readonly value: number;
  /** Score of the box, where pairs are compared at equal scores. */
  readonly score: number;
}

/** Fewest boxes of each kind. */
const LEAST_COUNT = 20;

/** @returns .5 for a guess, 1 where all of `unseen` lie above; null below 20 boxes of a kind */
export function auroc(seen: readonly ScoredValue[], unseen: readonly ScoredValue[]): number | null {
  if (seen.length < LEAST_COUNT || unseen.length < LEAST_COUNT) return null;
  const { wins, pairs } = winsOf(seen, unseen);
  return wins / pairs;
}

const STRATA = 20;

/**
 * Over pairs of boxes of nearly equal score alone: the strata are twentieths of [0, 1] of the score. Both parts of the
 * variance rise and fall with the score, so that a lower score by night would tell the night by itself.
 */
export function aurocAtEqualScores(
  seen: readonly ScoredValue[],
  unseen: readonly ScoredValue[],
): number | null {
  if (seen.length < LEAST_COUNT || unseen.length < LEAST_COUNT) return null;
  const stratumOf = ({ score }: ScoredValue) => Math.min(STRATA - 1, Math.floor(score * STRATA));
  let [wins, pairs] = [0, 0];
  for (let stratum = 0; stratum < STRATA; stratum++) {
    const [a, b] = [seen, unseen].map((values) => values.filter((one) => stratumOf(one) === stratum));
    const own = winsOf(a!, b!);
    wins += own.wins;
    pairs += own.pairs;
  }
  return pairs === 0 ? null : wins / pairs;
}

/** Pairs in which `unseen` has the larger value, equal ones half. */
function winsOf(seen: readonly ScoredValue[], unseen: readonly ScoredValue[]) {
  const sorted = Float64Array.from(seen, ({ value }) => value).sort();
  const below = (value: number, orEqual: boolean) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < value || (orEqual && sorted[middle] === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  let wins = 0;
  for (const { value } of unseen) wins += (below(value, false) + below(value, true)) / 2;
  return { wins, pairs: seen.length * unseen.length };
}
