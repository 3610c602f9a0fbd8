// What every loss gives: a weight that is frozen, a value, and the gradient with respect to the logits.

type Numbers = Float32Array | Float64Array;

/**
 * One row of a loss. GRA is a gradient and not a loss: `gradient = weight · d base`, with the weight held constant
 * (notes on BSCE-GRA, Lin et al.); for ordinary losses the weight is what multiplies the base, live.
 */
export interface LossRow {
  /** u, the factor before the base loss. */
  readonly weight: number;
  /** u · base. */
  readonly value: number;
}

/** A classification loss over one row of `classes` logits, softmax over the row. */
export interface SoftmaxLoss {
  readonly name: string;
  /**
   * @param logits row of C logits from `offset`, step `stride`
   * @param target float64[C], non-negative, sums to 1 (one-hot or smoothed)
   * @param gradient C values written in the layout of the logits from `gradientOffset` with step `gradientStride`, scaled by `scale`
   */
  rowInto(row: {
    readonly logits: Numbers;
    readonly offset: number;
    readonly stride: number;
    readonly target: Float64Array;
    readonly gradient: Numbers;
    readonly gradientOffset: number;
    readonly gradientStride: number;
    readonly scale: number;
  }): LossRow;
}

/** A loss of one logit against one soft target in [0, 1]. */
export interface SigmoidLoss {
  readonly name: string;
  /** Value, weight and d value / d logit (weight frozen where the loss is a GRA). */
  evaluate(logit: number, target: number): LossRow & { readonly gradient: number };
}
