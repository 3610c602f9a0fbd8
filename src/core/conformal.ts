// Thresholds with a promise that holds for any detector and any finite number of pictures, as long as what comes is
// drawn as the calibration data was: by day for day, at dusk for dusk, never across.
import { binomialUpper } from './binomial.ts';

/** So that .29 · 100, which is 28.999999999999996 in doubles, counts as 29. */
const RANK_GUARD = 1e-9;

/** The most thresholds that are looked at: hundredths, so that a file of thresholds can be read. */
const HUNDREDTHS = Array.from({ length: 101 }, (_, index) => index / 100);

export interface ObjectRecallThreshold {
  /** Null where no threshold can promise it on so few objects. */
  readonly threshold: number | null;
  /** Rank of the threshold among the rising scores of the objects. */
  readonly rank: number;
  readonly objects: number;
  /** Fewest objects with which alpha can be promised. */
  readonly objectsNeeded: number;
  readonly alpha: number;
  /** Share of these objects at or above the threshold; null without objects. */
  readonly recallHere: number | null;
}

/**
 * Split conformal prediction on objects (Vovk et al., 2005): a new object, exchangeable with these, has its best
 * matching score at or above the threshold with probability 1 − alpha or more. Objects of one picture are alike, so the
 * promise is per object, not per picture; `missRateThreshold` gives that.
 * @param scores [n], best matching score of each object, 0 where it was missed
 * @param alpha share of objects that may be lost, in (0, 1)
 */
export function objectRecallThreshold(scores: ArrayLike<number>, alpha: number): ObjectRecallThreshold {
  const objects = scores.length;
  const rank = Math.floor(alpha * (objects + 1) + RANK_GUARD);
  const sorted = Float64Array.from(scores).sort();
  const threshold = rank === 0 || objects === 0 ? null : sorted[Math.min(rank, objects) - 1]!;
  const kept = threshold === null ? objects : sorted.filter((score) => score >= threshold).length;
  return {
    threshold,
    rank,
    objects,
    objectsNeeded: leastCount(1, alpha),
    alpha,
    recallHere: objects === 0 ? null : kept / objects,
  };
}

export interface MissRateThreshold {
  /** Null where no threshold can promise it on so few pictures. */
  readonly threshold: number | null;
  /** Mean share of a picture's objects that is lost at the threshold; null without one. */
  readonly riskHere: number | null;
  /** With objects; those without have nothing to lose and are left out. */
  readonly pictures: number;
  readonly picturesNeeded: number;
  readonly alpha: number;
}

/**
 * Conformal risk control (Angelopoulos et al., 2024, eq. 4): the largest threshold with
 * n / (n + 1) · R + 1 / (n + 1) <= alpha, R the mean share of objects lost per picture. The expected share lost in a new
 * picture, exchangeable with these, is then alpha or less.
 * @param pictures best matching score of every object, 0 where it was missed, per picture
 * @param options `thresholds`: rising; default 0, .01 ... 1
 */
export function missRateThreshold(
  pictures: readonly ArrayLike<number>[],
  { alpha, thresholds = HUNDREDTHS }: { readonly alpha: number; readonly thresholds?: readonly number[] },
): MissRateThreshold {
  const filled = pictures.filter(({ length }) => length > 0);
  const count = filled.length;
  let best: { readonly threshold: number; readonly risk: number } | undefined;
  for (const threshold of thresholds) {
    const risk =
      count === 0 ? 1 : filled.reduce((sum, scores) => sum + shareBelow(scores, threshold), 0) / count;
    if (!((count / (count + 1)) * risk + 1 / (count + 1) <= alpha)) break;
    best = { threshold, risk };
  }
  return {
    threshold: best?.threshold ?? null,
    riskHere: best?.risk ?? null,
    pictures: count,
    picturesNeeded: leastCount(1, alpha),
    alpha,
  };
}

/** One test of the sequence. */
export interface PrecisionTest {
  readonly threshold: number;
  readonly count: number;
  readonly errors: number;
  /** Bound on the rate of false alarms, with confidence 1 − delta. */
  readonly upper: number;
  readonly passed: boolean;
}

export interface PrecisionThreshold {
  /** Null where not even the highest threshold with enough detections passes. */
  readonly threshold: number | null;
  readonly alpha: number;
  readonly delta: number;
  readonly leastCount: number;
  /** From the highest threshold down to the first that failed. */
  readonly tests: readonly PrecisionTest[];
}

export interface PrecisionOptions {
  /** Share of false alarms among what is shown, in (0, 1). */
  readonly alpha: number;
  /** Probability that the promise fails. Default .1. */
  readonly delta?: number;
  /** Thresholds with fewer detections are passed over. Default 15. */
  readonly leastCount?: number;
  /** Falling; chosen before looking at the data. Default 1, .95 ... 0. */
  readonly thresholds?: readonly number[];
}

const TWENTIETHS = Array.from({ length: 21 }, (_, index) => (20 - index) / 20);

/**
 * Learn then test with a fixed sequence (Angelopoulos et al., 2021): thresholds from the highest down, each tested by
 * the Clopper-Pearson bound of its false alarms; the last before the first failure has a rate of false alarms of alpha
 * or less with confidence 1 − delta. Assumes detections that are independent of each other.
 * @param scores [n]
 * @param correct [n], 1 for a hit and 0 for a false alarm
 */
export function precisionThreshold(
  scores: ArrayLike<number>,
  correct: ArrayLike<number>,
  { alpha, delta = 0.1, leastCount: least = 15, thresholds = TWENTIETHS }: PrecisionOptions,
): PrecisionThreshold {
  const tests: PrecisionTest[] = [];
  let found: number | null = null;
  for (const threshold of thresholds) {
    let [count, errors] = [0, 0];
    for (let row = 0; row < scores.length; row++) {
      if (scores[row]! < threshold) continue;
      count++;
      if (correct[row] === 0) errors++;
    }
    if (count < least) continue;
    const upper = binomialUpper(errors, count, delta);
    const passed = upper <= alpha;
    tests.push({ threshold, count, errors, upper, passed });
    if (!passed) break;
    found = threshold;
  }
  return { threshold: found, alpha, delta, leastCount: least, tests };
}

/** Least n with bound / (n + 1) <= alpha. */
function leastCount(bound: number, alpha: number): number {
  return Math.max(1, Math.ceil(bound / alpha - 1 - RANK_GUARD));
}

function shareBelow(scores: ArrayLike<number>, threshold: number): number {
  let below = 0;
  for (let row = 0; row < scores.length; row++) if (scores[row]! < threshold) below++;
  return below / scores.length;
}
