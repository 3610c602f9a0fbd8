// Expected calibration error over bins (Naeini et al., 2015; equal counts: Nguyen & O'Connor, 2015): does a stated
// confidence come true? Every result says how it was measured: published variants differ by a factor on the same data.

/**
 * Where a confidence on an edge belongs: `right-closed` (lo, hi] with 0 in the first bin, `left-closed` [lo, hi) with
 * 1 in the last. Published code differs in this, and loses 0 or 1 in part; here every value is in exactly one bin.
 */
export type BinEdges = 'right-closed' | 'left-closed';

/** How confidences were put into bins. */
export type BinConvention =
  | {
      readonly widths: 'equal';
      readonly bins: number;
      /** Edges are index / bins exactly. */
      readonly edges: BinEdges;
    }
  | {
      readonly widths: 'equal-count';
      readonly bins: number;
      readonly edges: 'right-closed';
      /** bins + 1 rising edges, from the least to the greatest confidence. */
      readonly bounds: readonly number[];
    };

/** One bin that is not empty. */
export interface CalibrationBin {
  /** From 0, in order of confidence. */
  readonly index: number;
  readonly count: number;
  readonly meanConfidence: number;
  readonly meanTarget: number;
}

export interface CalibrationError {
  /** Σ n_b / N · |target_b − confidence_b|: ECE. */
  readonly error: number;
  /** Largest gap of a bin: MCE. */
  readonly largest: number;
  /** Plain mean of the gaps of the bins that are not empty: ACE. */
  readonly average: number;
  /** Mean confidence − mean target: above 0 is over-confident. */
  readonly signed: number;
  readonly count: number;
  readonly bins: readonly CalibrationBin[];
  readonly convention: BinConvention;
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
  return errorOver(confidences, targets, {
    binOf: (confidence) => equalWidthBin(confidence, bins, edges),
    convention: { widths: 'equal', bins, edges },
  });
}

/**
 * The error over bins of as many confidences each (adaptive ECE): edges are interpolated between the sorted
 * confidences, and the least one is in the first bin, where published code drops it.
 * @returns undefined where there is nothing to measure
 */
export function adaptiveCalibrationError(
  confidences: ArrayLike<number>,
  targets: ArrayLike<number>,
  { bins }: { readonly bins: number },
): CalibrationError | undefined {
  if (confidences.length === 0) return undefined;
  const bounds = equalCountBounds(confidences, bins);
  return errorOver(confidences, targets, {
    binOf: (confidence) => {
      let [low, high] = [0, bins - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (confidence <= bounds[middle + 1]!) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    convention: { widths: 'equal-count', bins, edges: 'right-closed', bounds },
  });
}

/** The bin of a value over equal widths; what lies outside [0, 1] is in the first or the last. */
export function equalWidthBin(value: number, bins: number, edges: BinEdges): number {
  let bin = Math.min(bins - 1, Math.max(0, Math.floor(value * bins)));
  // Edges are bin / bins exactly; the product above may round across one.
  if (edges === 'right-closed') {
    while (bin > 0 && value <= bin / bins) bin--;
    while (bin < bins - 1 && value > (bin + 1) / bins) bin++;
  } else {
    while (bin > 0 && value < bin / bins) bin--;
    while (bin < bins - 1 && value >= (bin + 1) / bins) bin++;
  }
  return bin;
}

/** Mean (confidence − target)²; NaN of nothing. Needs no bins, and is least where the confidence is right (Brier, 1950). */
export function brierScore(confidences: ArrayLike<number>, targets: ArrayLike<number>): number {
  let sum = 0;
  for (let row = 0; row < confidences.length; row++) sum += (confidences[row]! - targets[row]!) ** 2;
  return sum / confidences.length;
}

/** Confidences of exactly 0 or 1 count as this far inside: a single wrong one would be worth infinity. */
export const LOG_LOSS_MARGIN = 2 ** -52;

/** Mean −[t ln c + (1 − t) ln(1 − c)] in nats; NaN of nothing. */
export function logLoss(confidences: ArrayLike<number>, targets: ArrayLike<number>): number {
  let sum = 0;
  for (let row = 0; row < confidences.length; row++) {
    const inside = Math.min(1 - LOG_LOSS_MARGIN, Math.max(LOG_LOSS_MARGIN, confidences[row]!));
    sum -= targets[row]! * Math.log(inside) + (1 - targets[row]!) * Math.log1p(-inside);
  }
  return sum / confidences.length;
}

function errorOver(
  confidences: ArrayLike<number>,
  targets: ArrayLike<number>,
  { binOf, convention }: { readonly binOf: (value: number) => number; readonly convention: BinConvention },
): CalibrationError | undefined {
  const count = confidences.length;
  if (count === 0) return undefined;
  const counts = new Float64Array(convention.bins);
  const confidenceSums = new Float64Array(convention.bins);
  const targetSums = new Float64Array(convention.bins);
  for (let row = 0; row < count; row++) {
    const bin = binOf(confidences[row]!);
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
    average: gaps.reduce((total, gap) => total + gap, 0) / gaps.length,
    signed: (sum(confidenceSums) - sum(targetSums)) / count,
    count,
    bins: filled,
    convention,
  };
}

/** numpy's interp(linspace(0, n, bins + 1), arange(n), sorted): constant beyond the last place. */
function equalCountBounds(confidences: ArrayLike<number>, bins: number): number[] {
  const sorted = Float64Array.from(confidences).sort();
  const last = sorted.length - 1;
  return Array.from({ length: bins + 1 }, (_, edge) => {
    const place = (sorted.length * edge) / bins;
    if (place >= last) return sorted[last]!;
    const below = Math.floor(place);
    return sorted[below]! + (sorted[below + 1]! - sorted[below]!) * (place - below);
  });
}
