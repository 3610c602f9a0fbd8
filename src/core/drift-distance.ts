// How far two samples of scores lie apart: PSI, Kolmogorov-Smirnov, Wasserstein-1.

/** Population stability index: the Jeffreys divergence of two binned samples (Kullback and Leibler, 1951). */
export interface Psi {
  readonly value: number;
  /** (bins − 1) · (1 / n + 1 / m): what independent values give on average without any change. */
  readonly nullExpectation: number;
  readonly counts: readonly [first: readonly number[], second: readonly number[]];
}

/** Ten bins of equal width over [0, 1], fixed before looking, so that the order of the samples changes nothing. */
export const PSI_EDGES: readonly number[] = Array.from({ length: 11 }, (_, index) => index / 10);
/** Added to every count, or an empty bin would make the index infinite. */
export const PSI_SMOOTHING = 0.5;

/** @param edges rising; bins are [lo, hi), the last one closed; values outside go to the outermost bins */
export function psi(first: ArrayLike<number>, second: ArrayLike<number>, edges = PSI_EDGES): Psi {
  const count = (values: ArrayLike<number>) => {
    const counts = new Array<number>(edges.length - 1).fill(0);
    for (let row = 0; row < values.length; row++) counts[binIn(values[row]!, edges)]!++;
    return counts;
  };
  const counts = [count(first), count(second)] as const;
  return {
    value: psiOf(counts[0], counts[1]),
    nullExpectation: (edges.length - 2) * (1 / first.length + 1 / second.length),
    counts,
  };
}

function binIn(value: number, edges: readonly number[]): number {
  let bin = 0;
  while (bin < edges.length - 2 && value >= edges[bin + 1]!) bin++;
  return bin;
}

function psiOf(first: ArrayLike<number>, second: ArrayLike<number>): number {
  const bins = first.length;
  let [n, m] = [PSI_SMOOTHING * bins, PSI_SMOOTHING * bins];
  for (let bin = 0; bin < bins; bin++) {
    n += first[bin]!;
    m += second[bin]!;
  }
  let sum = 0;
  for (let bin = 0; bin < bins; bin++) {
    const p = (first[bin]! + PSI_SMOOTHING) / n;
    const q = (second[bin]! + PSI_SMOOTHING) / m;
    sum += (q - p) * (Math.log(q) - Math.log(p));
  }
  return sum;
}

/** Largest distance of the two distribution functions. */
export function ksDistance(first: ArrayLike<number>, second: ArrayLike<number>): number {
  return distancesOf(first, second).ks;
}

/** ∫ |F − G|, in the unit of the values; at least the distance of the means. */
export function wasserstein1(first: ArrayLike<number>, second: ArrayLike<number>): number {
  return distancesOf(first, second).w1;
}

/** The 5 % point of KS for large samples of independent values (Smirnov, 1948). */
export function ksCritical(n: number, m: number): number {
  return Math.sqrt((-Math.log(0.025) / 2) * ((n + m) / (n * m)));
}

function distancesOf(first: ArrayLike<number>, second: ArrayLike<number>): Distances {
  const pool = poolGroups([
    { values: first, stratum: '' },
    { values: second, stratum: '' },
  ]);
  return pool.distances(Float64Array.of(1, 0), Float64Array.of(0, 1));
}

/** Values that came together (the scores of one picture), and what they may be exchanged within (their camera). */
export interface ValueGroup {
  readonly values: ArrayLike<number>;
  readonly stratum: string;
}

export interface Distances {
  readonly psi: number;
  readonly ks: number;
  readonly w1: number;
  /** Mean of the second − mean of the first. */
  readonly meanChange: number;
}

export interface Pool {
  /** @param first weight of each group in the first sample, @param second in the second */
  distances(first: Float64Array, second: Float64Array): Distances;
}

/** All values sorted once; a resample is then one pass with other weights. */
export function poolGroups(groups: readonly ValueGroup[]): Pool {
  const count = groups.reduce((sum, { values }) => sum + values.length, 0);
  const [unsorted, unsortedOwners] = [new Float64Array(count), new Int32Array(count)];
  let next = 0;
  for (const [group, { values: own }] of groups.entries()) {
    for (let row = 0; row < own.length; row++) {
      unsorted[next] = own[row]!;
      unsortedOwners[next++] = group;
    }
  }
  const order = Int32Array.from(unsorted.keys()).sort((x, y) => unsorted[x]! - unsorted[y]! || x - y);
  const values = Float64Array.from(order, (row) => unsorted[row]!);
  const owners = Int32Array.from(order, (row) => unsortedOwners[row]!);
  const bins = Int32Array.from(values, (value) => binIn(value, PSI_EDGES));
  const firstCounts = new Float64Array(PSI_EDGES.length - 1);
  const secondCounts = new Float64Array(PSI_EDGES.length - 1);
  return {
    // Run a thousand times a comparison, also beside live cameras: a pair taken apart here would double the time.
    distances(first, second) {
      firstCounts.fill(0);
      secondCounts.fill(0);
      let n = 0;
      let m = 0;
      let sumFirst = 0;
      let sumSecond = 0;
      for (let row = 0; row < count; row++) {
        const owner = owners[row]!;
        const one = first[owner]!;
        const two = second[owner]!;
        firstCounts[bins[row]!]! += one;
        secondCounts[bins[row]!]! += two;
        n += one;
        m += two;
        sumFirst += one * values[row]!;
        sumSecond += two * values[row]!;
      }
      let below = 0;
      let belowSecond = 0;
      let ks = 0;
      let w1 = 0;
      for (let row = 0; row < count; row++) {
        const owner = owners[row]!;
        below += first[owner]!;
        belowSecond += second[owner]!;
        if (row + 1 < count && values[row + 1] === values[row]) continue;
        const gap = Math.abs(below / n - belowSecond / m);
        if (gap > ks) ks = gap;
        if (row + 1 < count) w1 += gap * (values[row + 1]! - values[row]!);
      }
      return { psi: psiOf(firstCounts, secondCounts), ks, w1, meanChange: sumSecond / m - sumFirst / n };
    },
  };
}
