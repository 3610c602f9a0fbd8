// Distributions over evenly spaced bins: scores (anchors i / (bins - 1) in [0, 1]) and box sides (bin i = i cells).
// The functions on slices are for hot loops: `offset` is the first bin, `stride` the step between bins.

type Bins = Float32Array | Float64Array;

/**
 * Softmax of a slice, written to target[0..bins). The peak is subtracted first, so exp() cannot overflow.
 * A NaN or +Infinity among the logits gives NaN throughout.
 */
export function softmaxInto(target: Bins, logits: Bins, offset: number, stride: number, bins: number): void {
  let peak = -Infinity;
  for (let bin = 0; bin < bins; bin++) {
    const logit = logits[offset + bin * stride]!;
    if (!(logit <= peak)) peak = logit;
  }
  let total = 0;
  for (let bin = 0; bin < bins; bin++) {
    const weight = Math.exp(logits[offset + bin * stride]! - peak);
    target[bin] = weight;
    total += weight;
  }
  for (let bin = 0; bin < bins; bin++) target[bin] = target[bin]! / total;
}

/** E[bin] of a slice of probabilities, in bins: [0, bins - 1]. */
export function binMean(probabilities: Bins, offset: number, stride: number, bins: number): number {
  let mean = 0;
  for (let bin = 1; bin < bins; bin++) mean += bin * probabilities[offset + bin * stride]!;
  return mean;
}

/** Var[bin] about a mean found before, in bins²: [0, ((bins - 1) / 2)²]. Centred, so nothing cancels. */
export function binVariance(
  probabilities: Bins,
  offset: number,
  stride: number,
  bins: number,
  mean: number,
): number {
  let variance = 0;
  for (let bin = 0; bin < bins; bin++) {
    const distance = bin - mean;
    variance += distance * distance * probabilities[offset + bin * stride]!;
  }
  return variance;
}

/** The variance of a side in px²: a length grows with the stride, its variance with the square. */
export function sideVariancePx(varianceBins: number, stridePx: number): number {
  return stridePx * stridePx * varianceBins;
}

/** Probabilities of a score lying at `i / (bins - 1)`, in any precision. */
interface ScoreBins {
  readonly probabilities: Bins;
}

/** Expected score, in [0, 1]. */
export function scoreMean({ probabilities }: ScoreBins): number {
  const bins = probabilities.length;
  return binMean(probabilities, 0, 1, bins) / (bins - 1);
}

/** Variance of the score, in [0, 0.25]. */
export function scoreVariance({ probabilities }: ScoreBins): number {
  const bins = probabilities.length;
  const mean = binMean(probabilities, 0, 1, bins);
  return binVariance(probabilities, 0, 1, bins, mean) / ((bins - 1) * (bins - 1));
}

/** Standard deviation of the score, in [0, 0.5]. */
export function scoreStd(score: ScoreBins): number {
  return Math.sqrt(scoreVariance(score));
}

/** Smallest anchor whose cumulative probability reaches `level`; the last one where rounding leaves it short. */
export function scoreQuantile({ probabilities }: ScoreBins, level: number): number {
  const last = probabilities.length - 1;
  let cumulative = 0;
  for (let bin = 0; bin < last; bin++) {
    cumulative += probabilities[bin]!;
    if (cumulative > 0 && cumulative >= level) return bin / last;
  }
  return 1;
}

/** P(S >= base), in [0, 1]. */
export function scoreTailMass({ probabilities }: ScoreBins, base: number): number {
  return binTailMass(probabilities, 0, 1, probabilities.length, base);
}

/** P(S >= base) of a slice. An anchor that is `base` but for rounding counts as reached. */
export function binTailMass(
  probabilities: Bins,
  offset: number,
  stride: number,
  bins: number,
  base: number,
): number {
  const first = Math.max(0, Math.ceil(base * (bins - 1) - 1e-9));
  let mass = 0;
  for (let bin = first; bin < bins; bin++) mass += probabilities[offset + bin * stride]!;
  return Math.min(1, mass);
}

/**
 * Least variance that a law over bins can have at this expectation: all mass on the two bins beside it,
 * f (1 - f) / (bins - 1)² with f the place between them.
 */
export function twoHotVariance(mean: number, bins: number): number {
  const position = mean * (bins - 1);
  const fraction = position - Math.floor(position);
  return (fraction * (1 - fraction)) / ((bins - 1) * (bins - 1));
}

/** Variance beyond what the bins themselves force; 0 for a law that is as sharp as bins allow. */
export function excessVariance(score: ScoreBins): number {
  const floor = twoHotVariance(scoreMean(score), score.probabilities.length);
  return Math.max(0, scoreVariance(score) - floor);
}
