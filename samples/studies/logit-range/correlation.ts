// How closely figures of many runs go together, and what is left of it when a third one is held.

/** Pearson's correlation. @returns null below three pairs, or where one side does not vary */
export function correlation(x: readonly number[], y: readonly number[]): number | null {
  const count = Math.min(x.length, y.length);
  if (count < 3) return null;
  const [meanX, meanY] = [x, y].map((values) => values.reduce((sum, value) => sum + value, 0) / count) as [
    number,
    number,
  ];
  let [xx, yy, xy] = [0, 0, 0];
  for (let at = 0; at < count; at++) {
    const [dx, dy] = [x[at]! - meanX, y[at]! - meanY];
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : null;
}

/** Pearson's correlation of ranks (Spearman): any monotone relation gives ±1. */
export function rankCorrelation(x: readonly number[], y: readonly number[]): number | null {
  return correlation(ranksOf(x), ranksOf(y));
}

/** Correlation of the ranks of x and y with the ranks of z taken out of both. */
export function partialRankCorrelation(
  x: readonly number[],
  y: readonly number[],
  z: readonly number[],
): number | null {
  const [xy, xz, yz] = [rankCorrelation(x, y), rankCorrelation(x, z), rankCorrelation(y, z)];
  if (xy === null || xz === null || yz === null) return null;
  const rest = (1 - xz * xz) * (1 - yz * yz);
  return rest > 1e-9 ? (xy - xz * yz) / Math.sqrt(rest) : null;
}

/** From 1; equal values share the mean of their ranks. */
function ranksOf(values: readonly number[]): readonly number[] {
  const order = [...values.keys()].sort((a, b) => values[a]! - values[b]!);
  const ranks = new Array<number>(values.length).fill(0);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let at = from; at <= to; at++) ranks[order[at]!] = (from + to) / 2 + 1;
    from = to + 1;
  }
  return ranks;
}
