// Mean and variance of the four side distributions of one location, from logits or probabilities in any order.
import { binMean, binVariance, softmaxInto } from '../distribution.ts';

/** Distance between neighbours in memory, counted in elements. */
export interface SideSteps {
  readonly side: number;
  readonly bin: number;
}

/** Sides are left, top, right, bottom; moments in bins (cells) and bins². Reused from location to location. */
export class DflSides {
  readonly means = new Float64Array(4);
  readonly variances = new Float64Array(4);
  readonly #bins: number;
  readonly #logits: boolean;
  readonly #law: Float64Array;

  constructor(bins: number, values: 'logits' | 'probabilities') {
    this.#bins = bins;
    this.#logits = values === 'logits';
    this.#law = new Float64Array(bins);
  }

  /** @param offset element of bin 0 of the left side */
  read(data: Float32Array, offset: number, steps: SideSteps): void {
    const law = this.#law;
    const bins = this.#bins;
    for (let side = 0; side < 4; side++) {
      const first = offset + side * steps.side;
      if (this.#logits) softmaxInto(law, data, first, steps.bin, bins);
      else this.#copyNormalized(data, first, steps.bin);
      const mean = binMean(law, 0, 1, bins);
      this.means[side] = mean;
      this.variances[side] = binVariance(law, 0, 1, bins, mean);
    }
  }

  /** A quantised softmax does not sum to 1; left as it is, its mean would be off by the missing part. */
  #copyNormalized(data: Float32Array, first: number, step: number): void {
    const law = this.#law;
    let total = 0;
    for (let bin = 0; bin < law.length; bin++) {
      const probability = data[first + bin * step]!;
      law[bin] = probability;
      total += probability;
    }
    if (total > 0) for (let bin = 0; bin < law.length; bin++) law[bin] = law[bin]! / total;
  }

  /** Left, top, right, bottom move x1, y1, x2, y2; px² = stride² * bins². */
  writeVariancesInto(target: Float32Array, first: number, stridePx: number): void {
    const square = stridePx * stridePx;
    for (let side = 0; side < 4; side++) target[first + side] = square * this.variances[side]!;
  }
}
