// In what form a head of ours says its quality: the law over bins that was trained, or something smaller made from it.

export type CompactQuality = 'two-gaussian' | 'mean-variance' | 'plain';

export type QualityForm = 'distribution' | CompactQuality;

/**
 * Raw channels per location. Two Gaussians: logits of w, μ1, the step from μ1 to μ2, and of both variances as shares of
 * what their means allow. Mean and variance: logits of m and of v as a share of m (1 − m). Plain: logit of E.
 */
export const COMPACT_CHANNELS: Readonly<Record<CompactQuality, number>> = {
  'two-gaussian': 5,
  'mean-variance': 2,
  plain: 1,
};

export function isCompactQuality(value: unknown): value is CompactQuality {
  return typeof value === 'string' && Object.hasOwn(COMPACT_CHANNELS, value);
}

/** y = W x + b; `weight` row-major [outputs][inputs]. */
export interface DenseLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/** Where a compact form comes from. */
export type QualityLayer =
  /** The trained law, whose moments are taken as they are: nothing is learnt, nothing is lost. Not for two Gaussians. */
  | { readonly reads: 'law' }
  /**
   * output(ReLU(hidden(logits of the bins))): the trained layer stays, and one small network behind it serves all levels.
   */
  | { readonly reads: 'logits'; readonly hidden: DenseLayer; readonly output: DenseLayer }
  /** A 1x1 convolution per level in the place of the trained one, on the same features. */
  | { readonly reads: 'features'; readonly levels: readonly DenseLayer[] };
