// What a compact head is taught: the moments of the teacher's law and its moment-exact split into two parts.
import { binMean, binVariance, softmaxInto, splitFit } from '#core';

/** Values per row of targets: E, std, then weight, two means and two standard deviations of the split fit. */
export const TARGET_WIDTH = 7;

export interface LawReader {
  /**
   * @param logits teacher's logits; bin b of this row lies at `offset + b * stride`
   * @returns the expectation of the law
   */
  mean(logits: Float32Array, offset: number, stride: number): number;
  /** Writes the targets of the row into `[at, at + 7)`. */
  targetInto(
    target: Float32Array | Float64Array,
    at: number,
    row: { readonly logits: Float32Array; readonly offset: number; readonly stride: number },
  ): void;
}

export function createLawReader(bins: number): LawReader {
  const probabilities = new Float64Array(bins);
  return {
    mean(logits, offset, stride) {
      softmaxInto(probabilities, logits, offset, stride, bins);
      return binMean(probabilities, 0, 1, bins) / (bins - 1);
    },
    targetInto(target, at, { logits, offset, stride }) {
      softmaxInto(probabilities, logits, offset, stride, bins);
      const mean = binMean(probabilities, 0, 1, bins);
      const { weight, means, variances } = splitFit({ probabilities }).mixture;
      target[at] = mean / (bins - 1);
      target[at + 1] = Math.sqrt(binVariance(probabilities, 0, 1, bins, mean)) / (bins - 1);
      target[at + 2] = weight;
      target[at + 3] = means[0];
      target[at + 4] = means[1];
      target[at + 5] = Math.sqrt(Math.max(0, variances[0]));
      target[at + 6] = Math.sqrt(Math.max(0, variances[1]));
    },
  };
}
