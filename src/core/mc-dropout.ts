// What passes under dropout add to what one pass says: the law of total variance, and the split of entropy
// (Gal and Ghahramani 2016; Depeweg et al. 2018). The spread of one pass is aleatoric; that between passes epistemic.

type Numbers = Float32Array | Float64Array | readonly number[];

/** total = aleatoric + epistemic, exactly, because the variance between passes is taken with 1 / T. */
export interface VarianceSplit {
  /** Mean over the passes. */
  readonly mean: number;
  /** Mean of the variances. */
  readonly aleatoric: number;
  /** Variance of the means, 1 / T. */
  readonly epistemic: number;
  readonly total: number;
}

/**
 * @param means expectation of each of T passes
 * @param variances variance of each pass
 */
export function splitVariance(means: Numbers, variances: Numbers): VarianceSplit {
  const passes = means.length;
  let mean = 0;
  let aleatoric = 0;
  for (let pass = 0; pass < passes; pass++) {
    mean += means[pass]! / passes;
    aleatoric += variances[pass]! / passes;
  }
  let epistemic = 0;
  for (let pass = 0; pass < passes; pass++) epistemic += (means[pass]! - mean) ** 2 / passes;
  return { mean, aleatoric, epistemic, total: aleatoric + epistemic };
}

/** Entropies in nats; total = aleatoric + epistemic, the epistemic part being the mutual information (BALD). */
export interface EntropySplit {
  readonly total: number;
  readonly aleatoric: number;
  readonly epistemic: number;
}

/** @param passes T laws over the same classes */
export function splitEntropy(passes: readonly Numbers[]): EntropySplit {
  const classes = passes[0]!.length;
  const mean = new Float64Array(classes);
  let aleatoric = 0;
  for (const law of passes) {
    aleatoric += entropy(law) / passes.length;
    for (let index = 0; index < classes; index++) mean[index]! += law[index]! / passes.length;
  }
  const total = entropy(mean);
  return { total, aleatoric, epistemic: Math.max(0, total - aleatoric) };
}

/** −Σ p ln p, 0 for p = 0. */
function entropy(law: Numbers): number {
  let sum = 0;
  for (const probability of law) if (probability > 0) sum -= probability * Math.log(probability);
  return sum;
}
