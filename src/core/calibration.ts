// Expected calibration error over bins of equal width (Naeini et al., 2015): does a stated confidence come true?

/**
 * Where a confidence on an edge belongs: `right-closed` (lo, hi] with 0 in the first bin, `left-closed` [lo, hi) with
 * 1 in the last. Published code differs in this, and loses 0 or 1 in part; here every value is in exactly one bin.
 */
export type BinEdges = 'right-closed' | 'left-closed';

/** One bin that is not empty. */
export interface CalibrationBin {
  /** From 0: [index / bins, (index + 1) / bins]. */
  readonly index: number;
  readonly count: number;
  readonly meanConfidence: number;
  readonly meanTarget: number;
}

export interface CalibrationError {
  /** Σ n_b / N · |target_b − confidence_b|. */
  readonly error: number;
  /** Largest gap of a bin. */
  readonly largest: number;
  /** Mean confidence − mean target: above 0 is over-confident. */
  readonly signed: number;
  readonly count: number;
  readonly bins: readonly CalibrationBin[];
}

/**
 * @param confidences values in [0, 1]
 * @param targets what came true: 0 or 1, or a quality in [0, 1]; as many
 * @returns undefined where there is nothing to measure
 */
export function calibrationError(
  confidences: ArrayLike<number>,
  targets: ArrayLike<number>,
  { bins, edges = 'right-closed' }: { readonly bins: number; readonly edges?: BinEdges },
): CalibrationError | undefined {
  const count = confidences.length;
  if (count === 0) return undefined;
  const counts = new Float64Array(bins);
  const confidenceSums = new Float64Array(bins);
  const targetSums = new Float64Array(bins);
  for (let row = 0; row < count; row++) {
    const bin = binOf(confidences[row]!, bins, edges);
    counts[bin]!++;
    confidenceSums[bin]! += confidences[row]!;
    targetSums[bin]! += targets[row]!;
  }
  const filled = Array.from(counts, (inBin, index) => ({
    index,
    count: inBin,
    meanConfidence: confidenceSums[index]! / inBin,
    meanTarget: targetSums[index]! / inBin,
  })).filter((bin) => bin.count > 0);
  const gaps = filled.map(({ meanConfidence, meanTarget }) => Math.abs(meanTarget - meanConfidence));
  const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
  return {
    error: gaps.reduce((total, gap, place) => total + (filled[place]!.count / count) * gap, 0),
    largest: Math.max(...gaps),
    signed: (sum(confidenceSums) - sum(targetSums)) / count,
    count,
    bins: filled,
  };
}

function binOf(confidence: number, bins: number, edges: BinEdges): number {
  let bin = Math.min(bins - 1, Math.max(0, Math.floor(confidence * bins)));
  // Edges are bin / bins exactly; the product above may round across one.
  if (edges === 'right-closed') {
    while (bin > 0 && confidence <= bin / bins) bin--;
    while (bin < bins - 1 && confidence > (bin + 1) / bins) bin++;
  } else {
    while (bin > 0 && confidence < bin / bins) bin--;
    while (bin < bins - 1 && confidence >= (bin + 1) / bins) bin++;
  }
  return bin;
}
