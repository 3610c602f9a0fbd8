// Two weighted Gaussians as the compact form of a score distribution: fits, moments, and whether two peaks are real.
import type { ScoreDistribution, ScoreMixture } from './detection.ts';
import { normalTail } from './normal.ts';

/** Expected score: sum w mu. */
export function mixtureMean({ weight, means }: ScoreMixture): number {
  return weight * means[0] + (1 - weight) * means[1];
}

/** Law of total variance: sum w (v + (mu - E)²). */
export function mixtureVariance(mixture: ScoreMixture): number {
  const { weight, means, variances } = mixture;
  const mean = mixtureMean(mixture);
  const first = variances[0] + (means[0] - mean) ** 2;
  const second = variances[1] + (means[1] - mean) ** 2;
  return weight * first + (1 - weight) * second;
}

/** P(S >= base), in [0, 1]. A component without variance is an atom: it counts where its mean reaches `base`. */
export function mixtureTailMass({ weight, means, variances }: ScoreMixture, base: number): number {
  return (
    weight * componentTail(means[0], variances[0], base) +
    (1 - weight) * componentTail(means[1], variances[1], base)
  );
}

function componentTail(mean: number, variance: number, base: number): number {
  // The score cannot be below 0, whatever the Gaussian's own tail says.
  if (base <= 0) return 1;
  if (variance <= 0) return mean >= base ? 1 : 0;
  return normalTail((base - mean) / Math.sqrt(variance));
}

export interface SplitFit {
  readonly mixture: ScoreMixture;
  /** First bin of the upper part; undefined where all mass lies on one bin. */
  readonly cut: number | undefined;
  /** Variance between the parts, w1 w2 (mu2 - mu1)². */
  readonly between: number;
}

/**
 * Cuts the bins where the variance between both sides is largest (Otsu; ties to the lower cut) and describes each
 * side by its mass, mean and variance. Expectation and variance of the whole are kept exactly, for any cut.
 */
export function splitFit({ probabilities }: Pick<ScoreDistribution, 'probabilities'> | Bins64): SplitFit {
  const bins = probabilities.length;
  let best: SplitFit | undefined;
  for (let cut = 1; cut < bins; cut++) {
    const lower = part(probabilities, 0, cut);
    const upper = part(probabilities, cut, bins);
    if (lower.mass <= 0 || upper.mass <= 0) continue;
    const between = lower.mass * upper.mass * (lower.mean - upper.mean) ** 2;
    if (best !== undefined && !(between > best.between * (1 + 1e-12))) continue;
    best = {
      mixture: {
        weight: lower.mass,
        means: [lower.mean, upper.mean],
        variances: [lower.variance, upper.variance],
      },
      cut,
      between,
    };
  }
  if (best !== undefined) return best;
  const { mean, variance } = part(probabilities, 0, bins);
  const mixture: ScoreMixture = { weight: 1, means: [mean, mean], variances: [variance, variance] };
  return { mixture, cut: undefined, between: 0 };
}

interface Bins64 {
  readonly probabilities: Float64Array;
}

function part(probabilities: Float32Array | Float64Array, from: number, to: number) {
  const last = probabilities.length - 1;
  let mass = 0;
  let sum = 0;
  for (let bin = from; bin < to; bin++) {
    mass += probabilities[bin]!;
    sum += probabilities[bin]! * (bin / last);
  }
  if (mass <= 0) return { mass: 0, mean: 0, variance: 0 };
  const mean = sum / mass;
  let squares = 0;
  for (let bin = from; bin < to; bin++) squares += probabilities[bin]! * (bin / last - mean) ** 2;
  return { mass, mean, variance: squares / mass };
}

export interface Bimodality {
  readonly bimodal: boolean;
  /** Share of the variance that lies between the two parts: 2/pi for a Gaussian, 3/4 for a flat law. */
  readonly betweenFraction: number;
  /** Lowest bin between the two tallest peaks over the lower peak; 1 with one peak. */
  readonly valleyRatio: number;
  readonly lighterWeight: number;
  /** Bins of the two tallest peaks in order; one where there is one. */
  readonly peaks: readonly number[];
}

/**
 * Whether a distribution hesitates between two answers. Ashman's D fires on any law that is cut in two (2.65 for a
 * Gaussian), so three signs must agree: between fraction >= 0.85, valley ratio <= 0.5, lighter weight >= 0.1.
 */
export function bimodality(distribution: Pick<ScoreDistribution, 'probabilities'> | Bins64): Bimodality {
  const { probabilities } = distribution;
  const fit = splitFit(distribution);
  const { variance } = part(probabilities, 0, probabilities.length);
  const betweenFraction = variance > 0 ? fit.between / variance : 0;
  const peaks = tallestPeaks(probabilities);
  const valleyRatio = valley(probabilities, peaks);
  const lighterWeight = Math.min(fit.mixture.weight, 1 - fit.mixture.weight);
  return {
    bimodal: betweenFraction >= 0.85 && valleyRatio <= 0.5 && lighterWeight >= 0.1,
    betweenFraction,
    valleyRatio,
    lighterWeight,
    peaks,
  };
}

/** Local maxima, plateaus taken at their first bin; the two tallest, in order of bins. */
function tallestPeaks(probabilities: Float32Array | Float64Array): number[] {
  const bins = probabilities.length;
  const peaks: number[] = [];
  for (let first = 0; first < bins; ) {
    const height = probabilities[first]!;
    let last = first;
    while (last + 1 < bins && probabilities[last + 1] === height) last++;
    const rises = first === 0 || probabilities[first - 1]! < height;
    const falls = last === bins - 1 || probabilities[last + 1]! < height;
    if (rises && falls && height > 0) peaks.push(first);
    first = last + 1;
  }
  peaks.sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
  return peaks.slice(0, 2).sort((a, b) => a - b);
}

function valley(probabilities: Float32Array | Float64Array, peaks: readonly number[]): number {
  const [left, right] = peaks;
  if (left === undefined || right === undefined) return 1;
  let lowest = Infinity;
  for (let bin = left; bin <= right; bin++) lowest = Math.min(lowest, probabilities[bin]!);
  return lowest / Math.min(probabilities[left]!, probabilities[right]!);
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

export interface MeanVariance {
  readonly mean: number;
  readonly variance: number;
}

/** Two raw channels to a law that can exist: m = s(a), v = s(b) m (1 - m), so v <= m (1 - m) (Bhatia-Davis). */
export function meanVarianceHead(rawMean: number, rawVariance: number): MeanVariance {
  const mean = sigmoid(rawMean);
  return { mean, variance: sigmoid(rawVariance) * mean * (1 - mean) };
}

/**
 * Five raw channels to an ordered, feasible mixture: w = s(r0), mu1 = s(r1), mu2 = mu1 + (1 - mu1) s(r2),
 * v_k = s(r_k) mu_k (1 - mu_k).
 * @param raw [5]
 */
export function mixtureHead(raw: readonly [number, number, number, number, number]): ScoreMixture {
  const first = sigmoid(raw[1]);
  const second = first + (1 - first) * sigmoid(raw[2]);
  return {
    weight: sigmoid(raw[0]),
    means: [first, second],
    variances: [sigmoid(raw[3]) * first * (1 - first), sigmoid(raw[4]) * second * (1 - second)],
  };
}
