// From raw outputs and ground truth to loss terms and gradients: the interface that the loop sees.
import type { Tensors } from './engines/engine.ts';

/** Ground truth of a batch, struct of arrays. */
export interface Targets {
  /** Objects of picture n: [starts[n], starts[n + 1]). Int32[N + 1]. */
  readonly starts: Int32Array;
  /** Float32[G * 4], x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  /** Int32[G]. */
  readonly classIds: Int32Array;
  /**
   * Float32[G * 4] of regions that are neither object nor background (crowd, difficult), with their own starts:
   * anchors inside them take no loss.
   */
  readonly ignoreStarts: Int32Array;
  readonly ignoreBoxes: Float32Array;
}

/** Weighted terms of the batch, as the habitual columns name them; `total` is their sum, NaN where an output is not finite. */
export interface LossTerms {
  readonly total: number;
  readonly box: number;
  readonly classification: number;
  /** Distribution focal loss of the box sides; 0 where the box has no distribution. */
  readonly boxDfl: number;
  /** Distribution focal loss of the score. */
  readonly quality: number;
  /** Logit-range penalty; 0 where off. */
  readonly logitRange: number;
  /** Anchors that an object was assigned to. */
  readonly positives: number;
  /** Σ of the quality targets before `max(·, 1)`. */
  readonly targetSum: number;
  /** Mean weight u of the class loss over the positives; 0 at one class. */
  readonly meanWeight: number;
}

export interface CriterionResult {
  readonly terms: LossTerms;
  /** d total / d output for every raw output; memory is reused by the next call. */
  readonly gradients: Tensors;
}

/** Assignment, losses and gradients of one batch. Holds buffers, so one criterion serves one loop. */
export interface Criterion {
  /**
   * @param outputs raw outputs `[N, …]` named in `spec.levels`
   * @param reference class logits of the frozen class layer under the names of the class outputs; needed by a logit
   * range that is held to that layer
   */
  evaluate(outputs: Tensors, targets: Targets, reference?: Tensors): CriterionResult;
}
