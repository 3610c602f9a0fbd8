// How many frames of a clip must be drawn together: the block length of Politis and White, "Automatic block-length
// selection for the dependent bootstrap", Econometric Reviews 23 (2004), corrected by Patton, Politis and White (2009).

/** Lags in a row that must be free of correlation, and how far (c √(log10 n / n)) one may be off: section 3.2 there. */
const QUIET_LAGS = 5;
const QUIET_FACTOR = 2;

/**
 * @param series a value per frame, frames at equal steps of time
 * @returns frames of a block, from 1 (not rounded); undefined where the series never varies or its correlation does not
 * die out within its first half: nothing in it can stand for independent repetitions
 */
export function blockLength(series: Float64Array): number | undefined {
  const n = series.length;
  const mean = series.reduce((sum, value) => sum + value, 0) / n;
  const centred = series.map((value) => value - mean);
  const covariance = (lag: number) => {
    let sum = 0;
    for (let place = 0; place + lag < n; place++) sum += (centred[place] ?? 0) * (centred[place + lag] ?? 0);
    return sum / n;
  };
  const variance = covariance(0);
  // Rounding of equal values leaves a variance that is not quite 0.
  if (n < 2 || variance <= 1e-24 * Math.max(1, mean * mean)) return undefined;
  const quiet = lastLoudLag(n, (lag) => covariance(lag) / variance);
  if (quiet === undefined) return undefined;
  const widest = Math.min(n - 1, 2 * Math.max(1, quiet));
  let [spread, level] = [0, variance];
  for (let lag = 1; lag <= widest; lag++) {
    const weighted = 2 * flatTop(lag / widest) * covariance(lag);
    spread += lag * weighted;
    level += weighted;
  }
  // Swings cancel in the sum and leave no length that is best: blocks then span all that is seen to hang together.
  if (level <= 0) return widest;
  return Math.min(n, Math.max(1, Math.cbrt(1.5 * (spread / level) ** 2 * n)));
}

function lastLoudLag(n: number, correlation: (lag: number) => number): number | undefined {
  const limit = QUIET_FACTOR * Math.sqrt(Math.log10(n) / n);
  let loud = 0;
  for (let lag = 1; lag <= n / 2; lag++) {
    if (Math.abs(correlation(lag)) >= limit) loud = lag;
    else if (lag - loud >= QUIET_LAGS) return loud;
  }
  return undefined;
}

function flatTop(share: number): number {
  return share <= 0.5 ? 1 : 2 * (1 - share);
}
