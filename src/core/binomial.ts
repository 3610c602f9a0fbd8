// What a count of successes says about the rate behind it: exact binomial bounds (Clopper and Pearson, 1934) by the
// incomplete beta function, which JavaScript's Math lacks.

/**
 * Largest rate under which so few errors are still as likely as `delta`: the rate is below it with confidence
 * 1 − delta.
 * @param errors 0 to count
 * @param delta in (0, 1)
 */
export function binomialUpper(errors: number, count: number, delta: number): number {
  if (errors >= count) return 1;
  return rateWhere((rate) => binomialAtMost(errors, count, rate) < delta, errors / count, 1);
}

/** Smallest rate under which so many successes are still as likely as `delta`. */
export function binomialLower(successes: number, count: number, delta: number): number {
  return 1 - binomialUpper(count - successes, count, delta);
}

/** Two-sided, each side with half of 1 − level; [0, 1] of nothing. */
export function binomialInterval(
  successes: number,
  count: number,
  level: number,
): readonly [low: number, high: number] {
  const delta = (1 - level) / 2;
  return [binomialLower(successes, count, delta), binomialUpper(successes, count, delta)];
}

/** P(Bin(count, rate) <= successes). */
export function binomialAtMost(successes: number, count: number, rate: number): number {
  if (successes >= count || rate <= 0) return 1;
  if (rate >= 1) return 0;
  return incompleteBeta(1 - rate, count - successes, successes + 1);
}

/** Where a condition that turns true once, from `low` to `high`, turns. */
function rateWhere(isAbove: (rate: number) => boolean, low: number, high: number): number {
  let [from, to] = [low, high];
  for (;;) {
    const middle = (from + to) / 2;
    if (middle <= from || middle >= to) return middle;
    if (isAbove(middle)) to = middle;
    else from = middle;
  }
}

/** I_x(a, b) by its continued fraction (DLMF 8.17.22), on the side where that converges fast. */
function incompleteBeta(x: number, a: number, b: number): number {
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(x, a, b)) / a;
  return 1 - (front * betaFraction(1 - x, b, a)) / b;
}

const MOST_TERMS = 100_000;
const TINY = 1e-300;

/** Lentz's method: from the front, so that it stops when the value stands. */
function betaFraction(x: number, a: number, b: number): number {
  let denominator = 1 / guarded(1 - ((a + b) * x) / (a + 1));
  let numerator = 1;
  let value = denominator;
  const take = (term: number) => {
    denominator = 1 / guarded(1 + term * denominator);
    numerator = guarded(1 + term / numerator);
    value *= denominator * numerator;
    return denominator * numerator;
  };
  for (let m = 1; m <= MOST_TERMS; m++) {
    take((m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)));
    const change = take((-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)));
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return value;
}

function guarded(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

/** ln Γ(x), x > 0: Stirling's series (DLMF 5.11.1), after a climb to where it is exact. */
function logGamma(x: number): number {
  let [at, climbed] = [x, 0];
  while (at < 10) {
    climbed += Math.log(at);
    at++;
  }
  const inverse = 1 / (at * at);
  const series =
    1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - (inverse * 5) / 5940)));
  return (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series / at - climbed;
}
