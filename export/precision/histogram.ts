// How often a tensor takes which magnitude, in constant memory and one pass over the pictures.

/** As TensorRT and ONNX Runtime count: 2048 bins, from which the best of 128 levels are chosen. */
const BINS = 2048;
const LEVELS = 128;

/** Magnitudes from 0 up; where one falls beyond the last bin, the bins become twice as wide, by pairs. */
export class MagnitudeHistogram {
  readonly #counts = new Float64Array(BINS);
  #width = 0;
  #total = 0;

  add(values: Float32Array): void {
    let peak = 0;
    for (let index = 0; index < values.length; index++) peak = Math.max(peak, Math.abs(values[index] ?? 0));
    if (!Number.isFinite(peak)) throw new RangeError('a histogram takes finite values only');
    if (this.#width === 0 && peak > 0) this.#begin(peak);
    while (peak >= this.#width * BINS && peak > 0) this.#widen();
    const perBin = this.#width === 0 ? 0 : 1 / this.#width;
    const counts = this.#counts;
    for (let index = 0; index < values.length; index++) {
      const bin = Math.min(BINS - 1, Math.floor(Math.abs(values[index] ?? 0) * perBin));
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    this.#total += values.length;
  }

  /** What was 0 so far lies in bin 0 whatever its width. */
  #begin(peak: number): void {
    this.#width = (peak / BINS) * (1 + 1e-6);
  }

  #widen(): void {
    const counts = this.#counts;
    for (let bin = 0; bin < BINS / 2; bin++)
      counts[bin] = (counts[2 * bin] ?? 0) + (counts[2 * bin + 1] ?? 0);
    counts.fill(0, BINS / 2);
    this.#width *= 2;
  }

  /** Least magnitude (to the width of a bin) that so many percent of the values do not exceed; 0 where all are 0. */
  percentile(percent: number): number {
    const wanted = (percent / 100) * this.#total;
    let seen = 0;
    for (let bin = 0; bin < BINS; bin++) {
      seen += this.#counts[bin] ?? 0;
      if (seen >= wanted) return (bin + 1) * this.#width;
    }
    return BINS * this.#width;
  }

  /**
   * The threshold beyond which values are clipped so that 128 levels lose the least information (Migacz, 8-bit
   * inference with TensorRT, 2017): the Kullback-Leibler divergence of the clipped distribution from its levels.
   */
  leastDivergence(): number {
    let best = { divergence: Number.POSITIVE_INFINITY, bins: BINS };
    for (let bins = LEVELS; bins <= BINS; bins += 8) {
      const divergence = divergenceOf(this.#counts, bins);
      if (divergence < best.divergence) best = { divergence, bins };
    }
    return best.bins * this.#width;
  }
}

/** @param bins how many of the counts are kept; what lies beyond falls on the last of them */
function divergenceOf(counts: Float64Array, bins: number): number {
  const clipped = counts.slice(0, bins);
  let beyond = 0;
  for (let bin = bins; bin < counts.length; bin++) beyond += counts[bin] ?? 0;
  clipped[bins - 1] = (clipped[bins - 1] ?? 0) + beyond;
  const levels = new Float64Array(bins);
  for (let level = 0; level < LEVELS; level++) {
    const start = Math.floor((level * bins) / LEVELS);
    const end = Math.floor(((level + 1) * bins) / LEVELS);
    let sum = 0;
    let filled = 0;
    for (let bin = start; bin < end; bin++) {
      sum += counts[bin] ?? 0;
      if ((counts[bin] ?? 0) > 0) filled++;
    }
    for (let bin = start; bin < end; bin++) if ((counts[bin] ?? 0) > 0) levels[bin] = sum / filled;
  }
  return divergence(clipped, levels);
}

/** A bin that the levels leave empty takes a sliver, so that the divergence stays finite. */
const SLIVER = 1e-4;

function divergence(observed: Float64Array, levels: Float64Array): number {
  let observedTotal = 0;
  let levelTotal = 0;
  for (let bin = 0; bin < observed.length; bin++) {
    observedTotal += observed[bin] ?? 0;
    levelTotal += levels[bin] ?? 0;
  }
  if (observedTotal === 0 || levelTotal === 0) return Number.POSITIVE_INFINITY;
  let sum = 0;
  for (let bin = 0; bin < observed.length; bin++) {
    if ((observed[bin] ?? 0) === 0) continue;
    const p = (observed[bin] ?? 0) / observedTotal;
    const q = Math.max((levels[bin] ?? 0) / levelTotal, SLIVER / observed.length);
    sum += p * Math.log(p / q);
  }
  return sum;
}
