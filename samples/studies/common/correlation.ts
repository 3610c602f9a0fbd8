// How closely figures of many runs go together, and what is left of it when a third one is held.

/** Pearson's correlation. @returns null below three pairs, or where one side does not vary */
export function correlation(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  const count = Math.min(x.length, y.length);
  if (count < 3) return null;
  const [meanX, meanY] = [meanOf(x, count), meanOf(y, count)];
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
export function rankCorrelation(x: ArrayLike<number>, y: ArrayLike<number>): number | null {
  return correlation(ranksOf(x), ranksOf(y));
}

/** Correlation of the ranks of x and y with the ranks of z taken out of both. */
export function partialRankCorrelation(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  z: ArrayLike<number>,
): number | null {
  const [xy, xz, yz] = [rankCorrelation(x, y), rankCorrelation(x, z), rankCorrelation(y, z)];
  if (xy === null || xz === null || yz === null) return null;
  const rest = (1 - xz * xz) * (1 - yz * yz);
  return rest > 1e-9 ? (xy - xz * yz) / Math.sqrt(rest) : null;
}

function meanOf(values: ArrayLike<number>, count: number): number {
  let sum = 0;
  for (let at = 0; at < count; at++) sum += values[at]!;
  return sum / count;
}

/** From 1; equal values share the mean of their ranks. */
function ranksOf(values: ArrayLike<number>): Float64Array {
  const order = Array.from({ length: values.length }, (_, at) => at).sort((a, b) => values[a]! - values[b]!);
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let at = from; at <= to; at++) ranks[order[at]!] = (from + to) / 2 + 1;
    from = to + 1;
  }
  return ranks;
}
