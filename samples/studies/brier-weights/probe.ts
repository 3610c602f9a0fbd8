// Asks the product's own losses for weight, value and gradient of a single sample.
import { type ClassLoss, createSoftmaxLoss, type SoftmaxLossName } from 'edge-detect/training';

export interface Probed {
  readonly weight: number;
  readonly value: number;
  /** d value / d logit, with the weight held where it is detached. */
  readonly gradient: Float64Array;
}

/** @param logits float[K] @param target one-hot or soft, float[K] */
export function probe(loss: ClassLoss, logits: ArrayLike<number>, target: Float64Array): Probed {
  const gradient = new Float64Array(target.length);
  const { weight, value } = loss.rowInto({
    logits: Float64Array.from(logits),
    offset: 0,
    stride: 1,
    target,
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
  });
  return { weight, value, gradient };
}

export function oneHot(classes: number, label: number): Float64Array {
  const target = new Float64Array(classes);
  target[label] = 1;
  return target;
}

/** The weight u of a loss at class probabilities above 0. */
export function weightAt(
  name: SoftmaxLossName,
  probabilities: readonly number[],
  label: number,
  options: { readonly gamma?: number; readonly beta?: number } = {},
): number {
  const classes = probabilities.length;
  return probe(createSoftmaxLoss(name, classes, options), probabilities.map(Math.log), oneHot(classes, label))
    .weight;
}
