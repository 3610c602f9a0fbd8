// Whether two samples of scores differ by more than chance: every distance is above 0 without any change, so each comes
// with its law under exchanged groups.
import {
  DEFAULT_RESAMPLES,
  type Figure,
  LEAST_GROUPS,
  type NoVerdict,
  negated,
  noVerdict,
  type Resampling,
} from './bootstrap.ts';
import {
  type Distances,
  type Pool,
  PSI_EDGES,
  PSI_SMOOTHING,
  poolGroups,
  type ValueGroup,
} from './drift-distance.ts';
import { createRandom, deriveSeed, type Random } from './random.ts';

/** A distance of at least 0. */
export interface DistanceFigure {
  readonly value: number;
  /** 95 % percentile interval over resampled groups. Resampling inflates a distance: read it beside the null law. */
  readonly low: number;
  readonly high: number;
  /** Mean and 95 % quantile with the groups exchanged at random between the samples, within their strata. */
  readonly nullExpectation: number;
  readonly nullQuantile95: number;
  /** (1 + exchanges that reach the value) / (1 + exchanges). */
  readonly pValue: number;
}

export interface DistributionShift {
  readonly kind: 'shift';
  readonly values: readonly [first: number, second: number];
  readonly groups: readonly [first: number, second: number];
  /** Mean of the second − mean of the first. */
  readonly meanChange: Figure;
  readonly psi: DistanceFigure;
  readonly ks: DistanceFigure;
  readonly w1: DistanceFigure;
  readonly convention: {
    readonly psiEdges: readonly number[];
    readonly psiSmoothing: number;
    readonly resamples: number;
  };
}

/** Fewest values of a sample that are compared. */
const LEAST_VALUES = 20;

/**
 * Exchanging the samples turns the sign of `meanChange` and the order of the pairs, nothing else.
 * @returns no verdict below 20 values or 5 groups a side, or where no stratum has groups of both samples
 */
export function distributionShift(
  first: readonly ValueGroup[],
  second: readonly ValueGroup[],
  { resamples = DEFAULT_RESAMPLES, seed = 0 }: Resampling = {},
): DistributionShift | NoVerdict {
  const turned = compareSamples(first, second) > 0;
  const sides = turned ? [second, first] : [first, second];
  const [a, b] = [sides[0]!.length, sides[1]!.length];
  const valueCounts = sides.map((groups) => groups.reduce((sum, { values }) => sum + values.length, 0));
  const [n, m] = [valueCounts[0]!, valueCounts[1]!];
  if (Math.min(n, m) < LEAST_VALUES) {
    return noVerdict(`${Math.min(n, m)} scores; a comparison of scores needs ${LEAST_VALUES} or more a side`);
  }
  if (Math.min(a, b) < LEAST_GROUPS) {
    return noVerdict(`${Math.min(a, b)} groups; a comparison needs ${LEAST_GROUPS} or more a side`);
  }
  const all = [...sides[0]!, ...sides[1]!];
  const strata = strataOf(all, a);
  if (!strata.some((own) => own.some((group) => group < a) && own.some((group) => group >= a))) {
    return noVerdict('the two samples share no camera');
  }
  const pool = poolGroups(all);
  const weights = [new Float64Array(all.length), new Float64Array(all.length)] as const;
  const side = Uint8Array.from(all, (_, group) => Number(group >= a));
  const measured = pool.distances(...weightsOf(side, weights));
  const nulls = exchanged({ pool, strata, side, weights }, resamples, createRandom(deriveSeed(seed, 1)));
  const drawn = resampled({ pool, strata, side, weights }, resamples, createRandom(deriveSeed(seed, 2)));
  const figure = (name: 'psi' | 'ks' | 'w1') => distanceFigure(measured[name], nulls[name], drawn[name]);
  const [low, high] = endsOf(drawn.meanChange);
  const meanChange: Figure = {
    kind: 'estimate',
    value: measured.meanChange,
    low,
    high,
    groups: all.length,
  };
  const ordered = <T>(pair: readonly [T, T]): [T, T] => (turned ? [pair[1], pair[0]] : [pair[0], pair[1]]);
  return {
    kind: 'shift',
    values: ordered([n, m]),
    groups: ordered([a, b]),
    meanChange: turned ? negated(meanChange) : meanChange,
    psi: figure('psi'),
    ks: figure('ks'),
    w1: figure('w1'),
    convention: { psiEdges: PSI_EDGES, psiSmoothing: PSI_SMOOTHING, resamples },
  };
}

interface Draws {
  readonly pool: Pool;
  /** Groups per stratum. */
  readonly strata: readonly Int32Array[];
  /** Uint8[groups], 0 or 1: the sample that a group belongs to. */
  readonly side: Uint8Array;
  readonly weights: readonly [Float64Array, Float64Array];
}

type Drawn = Readonly<Record<keyof Distances, Float64Array>>;

function emptyDraws(count: number): Drawn {
  const [psi, ks, w1, meanChange] = [1, 2, 3, 4].map(() => new Float64Array(count)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  return { psi, ks, w1, meanChange };
}

function record(drawn: Drawn, place: number, one: Distances): void {
  drawn.psi[place] = one.psi;
  drawn.ks[place] = one.ks;
  drawn.w1[place] = one.w1;
  drawn.meanChange[place] = one.meanChange;
}

function weightsOf(side: Uint8Array, weights: Draws['weights']) {
  for (let group = 0; group < side.length; group++) {
    weights[0][group] = side[group] === 0 ? 1 : 0;
    weights[1][group] = side[group] === 0 ? 0 : 1;
  }
  return weights;
}

/** Permutation within strata: each keeps its number of groups a side (Good, 2005). */
function exchanged({ pool, strata, side, weights }: Draws, count: number, random: Random): Drawn {
  const drawn = emptyDraws(count);
  const exchangedSide = new Uint8Array(side.length);
  for (let place = 0; place < count; place++) {
    for (const groups of strata) {
      const sides = Uint8Array.from(groups, (group) => side[group]!);
      random.shuffle(sides);
      for (let index = 0; index < groups.length; index++) exchangedSide[groups[index]!] = sides[index]!;
    }
    record(drawn, place, pool.distances(...weightsOf(exchangedSide, weights)));
  }
  return drawn;
}

function resampled({ pool, strata, side, weights }: Draws, count: number, random: Random): Drawn {
  const drawn = emptyDraws(count);
  const cells = strata.flatMap((groups) => [
    groups.filter((group) => side[group] === 0),
    groups.filter((group) => side[group] === 1),
  ]);
  for (let place = 0; place < count; place++) {
    weights[0].fill(0);
    weights[1].fill(0);
    for (const own of cells) {
      for (let draw = 0; draw < own.length; draw++) {
        const group = own[random.integer(own.length)]!;
        weights[side[group]!]![group]!++;
      }
    }
    record(drawn, place, pool.distances(...weights));
  }
  return drawn;
}

function endsOf(drawn: Float64Array): [low: number, high: number] {
  const sorted = drawn.slice().sort();
  const first = Math.round(0.025 * (sorted.length - 1));
  return [sorted[first] ?? Number.NaN, sorted[sorted.length - 1 - first] ?? Number.NaN];
}

function distanceFigure(value: number, nulls: Float64Array, drawn: Float64Array): DistanceFigure {
  const [low, high] = endsOf(drawn);
  const sorted = nulls.slice().sort();
  // Equal up to rounding counts as reached: sums of other groups round differently.
  const reached = nulls.reduce((sum, one) => sum + (one >= value - 1e-12 ? 1 : 0), 0);
  return {
    value,
    low,
    high,
    nullExpectation: nulls.reduce((sum, one) => sum + one, 0) / nulls.length,
    nullQuantile95: sorted[Math.round(0.95 * (sorted.length - 1))] ?? Number.NaN,
    pValue: (1 + reached) / (1 + nulls.length),
  };
}

/** Groups by stratum, strata by name; groups of the first sample (below `firstCount`) come first. */
function strataOf(groups: readonly ValueGroup[], firstCount: number): Int32Array[] {
  const byName = new Map<string, number[]>();
  for (const [group, { stratum }] of groups.entries()) {
    const own = byName.get(stratum) ?? [];
    own.push(group);
    byName.set(stratum, own);
  }
  const names = [...byName.keys()].sort();
  // Groups are put in order of their values: that of the caller's list must not decide what is drawn.
  const rank = (group: number) => Number(group >= firstCount);
  return names.map((name) =>
    Int32Array.from(
      byName
        .get(name)!
        .sort((x, y) => rank(x) - rank(y) || compareValues(groups[x]!.values, groups[y]!.values)),
    ),
  );
}

/** Any fixed order of two samples will do, as long as it does not depend on which is named first. */
function compareSamples(first: readonly ValueGroup[], second: readonly ValueGroup[]): number {
  if (first.length !== second.length) return first.length - second.length;
  const [a, b] = [first, second].map((groups) =>
    [...groups].sort((x, y) => compareText(x.stratum, y.stratum) || compareValues(x.values, y.values)),
  ) as [ValueGroup[], ValueGroup[]];
  for (const [place, group] of a.entries()) {
    const difference =
      compareText(group.stratum, b[place]!.stratum) || compareValues(group.values, b[place]!.values);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareValues(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let row = 0; row < a.length; row++) if (a[row] !== b[row]) return a[row]! - b[row]!;
  return 0;
}
