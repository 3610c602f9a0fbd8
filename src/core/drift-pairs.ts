// What became of the confidence in the same thing seen twice (by day and at dusk): drops, retention, lost and gained.
import {
  bootstrapFigures,
  type Figure,
  LEAST_GROUPS,
  type NoVerdict,
  noVerdict,
  type Resampling,
  weightedQuantile,
} from './bootstrap.ts';

/** Things seen twice, one row each. */
export interface ScorePairs {
  /** Float64[n], scores in [0, 1]; 0 where the thing was not found. */
  readonly first: Float64Array;
  readonly second: Float64Array;
  /** Int32[n], from 0: pairs of one group (a picture, a camera) are drawn together. */
  readonly groups: Int32Array;
  /** Variances of the scores where the model states them; rows found in both count. */
  readonly variances?: { readonly first: Float64Array; readonly second: Float64Array };
}

const MEASURES = [
  'meanDrop',
  'medianDrop',
  'p10Drop',
  'p90Drop',
  'meanAbsoluteChange',
  'meanDropSeenInBoth',
  'meanLogitDropSeenInBoth',
  'retained',
  'retainedBackwards',
  'meanVarianceRise',
] as const;
type Measure = (typeof MEASURES)[number];

/** Drops are first − second: above 0 where the second is less sure. */
export interface PairStatistics extends Readonly<Record<Measure, number | undefined>> {
  readonly count: number;
  /** Found in the first and not at all in the second, and the other way round. */
  readonly lost: number;
  readonly gained: number;
  /** Reached the threshold in the first, and in both; in the second. */
  readonly aboveInFirst: number;
  readonly aboveInBoth: number;
  readonly aboveInSecond: number;
}

/**
 * `retained`: of what reaches the threshold in the first, the share that reaches it in the second; `retainedBackwards`
 * the other way round. The logit drop is that of pairs found in both: the bias that a Platt map would need.
 */
export function pairStatistics(pairs: ScorePairs, threshold: number): PairStatistics {
  return createPairMeasure(pairs, threshold)(new Int32Array(groupCount(pairs)).fill(1));
}

/** `PairStatistics` with intervals; counts are of the pairs themselves. */
export interface PairedDrift extends Readonly<Record<Measure, Figure>> {
  readonly kind: 'drift';
  readonly pairs: number;
  readonly groups: number;
  readonly lost: number;
  readonly gained: number;
  readonly aboveInFirst: number;
  readonly aboveInBoth: number;
  readonly aboveInSecond: number;
  readonly threshold: number;
}

/** Fewest pairs that are judged, and fewest that a share is taken of. */
const LEAST_PAIRS = 20;
const LEAST_SHARE = 10;

/**
 * Exchanging first and second turns the signs of mean and median drops and exchanges p10 with p90 (signs turned), lost
 * with gained and the two retentions.
 * @returns no verdict below 20 pairs or 5 groups; a retention has none below 10 pairs that reach the threshold
 */
export function pairedDrift(
  pairs: ScorePairs,
  threshold: number,
  resampling: Resampling = {},
): PairedDrift | NoVerdict {
  const count = pairs.first.length;
  if (count < LEAST_PAIRS) return noVerdict(`${count} pairs; a drop needs ${LEAST_PAIRS} or more`);
  const groups = new Set(pairs.groups).size;
  if (groups < LEAST_GROUPS) {
    return noVerdict(`the pairs lie in ${groups} groups; an interval needs ${LEAST_GROUPS} or more`);
  }
  const measure = createPairMeasure(pairs, threshold);
  const total = groupCount(pairs);
  const counted = measure(new Int32Array(total).fill(1));
  const enough = (base: number, value: number | undefined) => (base < LEAST_SHARE ? undefined : value);
  const figures = bootstrapFigures<Measure>(
    total,
    [{ key: 'pairs', groups: [...new Set(pairs.groups)].sort((a, b) => a - b) }],
    (counts) => {
      const one = measure(counts);
      return {
        ...(Object.fromEntries(MEASURES.map((name) => [name, one[name]])) as Record<
          Measure,
          number | undefined
        >),
        retained: enough(counted.aboveInFirst, one.retained),
        retainedBackwards: enough(counted.aboveInSecond, one.retainedBackwards),
      };
    },
    resampling,
  );
  const { lost, gained, aboveInFirst, aboveInBoth, aboveInSecond } = counted;
  return {
    kind: 'drift',
    pairs: count,
    groups,
    ...figures,
    lost,
    gained,
    aboveInFirst,
    aboveInBoth,
    aboveInSecond,
    threshold,
  };
}

function groupCount({ groups }: ScorePairs): number {
  return groups.reduce((most, group) => Math.max(most, group + 1), 0);
}

/** Drops are sorted once; a resample is then one pass with other weights. */
function createPairMeasure(pairs: ScorePairs, threshold: number): (counts: Int32Array) => PairStatistics {
  const { first, second, groups, variances } = pairs;
  const drops = first.map((value, row) => value - second[row]!);
  const order = Int32Array.from(drops.keys()).sort((a, b) => drops[a]! - drops[b]! || a - b);
  const sorted = Float64Array.from(order, (row) => drops[row]!);
  const copies = new Int32Array(order.length);
  return (counts) => {
    for (let place = 0; place < order.length; place++) copies[place] = counts[groups[order[place]!]!]!;
    const sums = { count: 0, drop: 0, change: 0, both: 0, dropBoth: 0, logit: 0, variance: 0 };
    const seen = { lost: 0, gained: 0, aboveInFirst: 0, aboveInBoth: 0, aboveInSecond: 0 };
    for (let row = 0; row < drops.length; row++) {
      const weight = counts[groups[row]!]!;
      const [one, two] = [first[row]!, second[row]!];
      sums.count += weight;
      sums.drop += weight * drops[row]!;
      sums.change += weight * Math.abs(drops[row]!);
      if (one > 0 && two > 0) {
        sums.both += weight;
        sums.dropBoth += weight * drops[row]!;
        sums.logit += weight * (logit(one) - logit(two));
        if (variances) sums.variance += weight * (variances.second[row]! - variances.first[row]!);
      } else if (one > 0) seen.lost += weight;
      else if (two > 0) seen.gained += weight;
      if (one >= threshold) seen.aboveInFirst += weight;
      if (two >= threshold) seen.aboveInSecond += weight;
      if (one >= threshold && two >= threshold) seen.aboveInBoth += weight;
    }
    const per = (sum: number, count: number) => (count === 0 ? undefined : sum / count);
    return {
      count: sums.count,
      ...seen,
      meanDrop: per(sums.drop, sums.count),
      medianDrop: weightedQuantile(sorted, copies, 0.5),
      p10Drop: weightedQuantile(sorted, copies, 0.1),
      p90Drop: weightedQuantile(sorted, copies, 0.9),
      meanAbsoluteChange: per(sums.change, sums.count),
      meanDropSeenInBoth: per(sums.dropBoth, sums.both),
      meanLogitDropSeenInBoth: per(sums.logit, sums.both),
      retained: per(seen.aboveInBoth, seen.aboveInFirst),
      retainedBackwards: per(seen.aboveInBoth, seen.aboveInSecond),
      meanVarianceRise: variances === undefined ? undefined : per(sums.variance, sums.both),
    };
  };
}

/** A score of exactly 1 would be infinitely sure: clipped at float32's resolution. */
function logit(score: number): number {
  const clipped = Math.min(1 - 2 ** -24, Math.max(2 ** -24, score));
  return Math.log(clipped / (1 - clipped));
}
