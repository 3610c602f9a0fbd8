// What every loss gives: a weight that is frozen, a value, and the gradient with respect to the logits.

/** Logits and gradients: float32 in training, float64 where a test differences them. */
export type Numbers = Float32Array | Float64Array;

/**
 * One row of a loss. GRA is a gradient and not a loss: `gradient = weight · d base`, with the weight held constant
 * (Lin et al., BSCE-GRA); for ordinary losses the weight is what multiplies the base, live. The object is used again
 * by the next call of the same loss.
 */
export interface LossRow {
  /** u, the factor before the base loss; over a row of sigmoids the mean of the factors. */
  readonly weight: number;
  /** u · base, summed over the row. */
  readonly value: number;
}

/**
 * Where a detached factor is kept, so that a difference quotient can hold it: written when `held` is false, read
 * instead of being computed when it is true. A loss without detached factors leaves it alone.
 */
export interface FrozenFactors {
  readonly values: Float64Array;
  offset: number;
  held: boolean;
}

/** One row of logits and where its gradient goes. */
export interface LogitRow {
  logits: Numbers;
  offset: number;
  /** Step between neighbouring logits of the row, here and in the gradient. */
  stride: number;
  /** Float64[C] in [0, 1]; sums to 1 where the classes exclude each other. */
  readonly target: Float64Array;
  /** C values are written from `gradientOffset` with step `gradientStride`. */
  gradient: Numbers;
  gradientOffset: number;
  gradientStride: number;
  /** Multiplies the gradient, not the value. */
  scale: number;
  readonly frozen?: FrozenFactors;
}

/** A loss over one row of class logits. */
export interface ClassLoss {
  readonly name: string;
  /** True where `weight` is detached (the GRA forms). */
  readonly weightFrozen: boolean;
  rowInto(row: LogitRow): LossRow;
}

/** Value, weight and d value / d logit of one logit; used again by the next call. */
export interface LogitLoss extends LossRow {
  readonly gradient: number;
}

/** A loss of one logit against one soft target in [0, 1]. */
export interface SigmoidLoss {
  readonly name: string;
  readonly weightFrozen: boolean;
  /** @param heldWeight taken for the detached weight instead of the one at this logit */
  evaluate(logit: number, target: number, heldWeight?: number): LogitLoss;
}

/** Where the raw channels of one location stand, and which cell they belong to. */
export interface BoxPlace {
  raw: Numbers;
  /** First channel of the location. */
  offset: number;
  /** Step between channels. */
  stride: number;
  column: number;
  row: number;
  /** Input px per cell. */
  cellPx: number;
  /** Index of the level and of the location in the cell; anchors have sizes by both. */
  level: number;
  location: number;
}

export interface BoxCodec {
  /** Channels per location. */
  readonly channels: number;
  /**
   * Writes x1 y1 x2 y2 in input px to target[offset..offset + 4).
   *
   * @param variances where given, receives the variance of every side in px²
   * @throws RangeError when variances are asked of a code that has none
   */
  decodeInto(place: BoxPlace, target: Numbers, offset: number, variances?: Numbers): void;
  /**
   * Adds scale · (d corners · d corners / d channel) to the gradient, at the offset and stride that the channels have
   * in `place`.
   */
  backwardInto(place: BoxPlace, dCorners: Float64Array, scale: number, gradient: Numbers): void;
}
