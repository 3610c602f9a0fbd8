// Several boxes on one object become one: which policies there are and what they need. The loops are in nms.ts.
import type { Requirement } from './threshold.ts';

/** Drop what overlaps a better box of the same class. */
export interface HardSuppression {
  readonly kind: 'hard';
}

/** Lower the score of what overlaps instead of dropping it (Soft-NMS). */
export interface SoftSuppression {
  readonly kind: 'soft';
  readonly decay:
    | { readonly shape: 'linear' /** IoU above which s *= 1 - IoU. */; readonly iou: number }
    | { readonly shape: 'gaussian' /** s *= exp(-IoU² / sigma). */; readonly sigma: number };
  /** Scores that sink below it are gone. */
  readonly minScore: number;
}

/** The published rule: order by s * exp(-lambda * Var[S]), drop as `hard` does. Scores stay what they are. */
export interface UncertaintySuppression {
  readonly kind: 'uncertainty';
  readonly lambda: number;
}

/** Order by s * exp(-lambda * u), u = mean over the sides of std / size along that axis; drop as `hard` does. */
export interface BoxUncertaintySuppression {
  readonly kind: 'box-uncertainty';
  readonly lambda: number;
}

/**
 * Variance voting: drop as `hard` does, but the sides of a kept box become the mean of its neighbours', weighted by
 * exp(-(1 - IoU)² / sigma) / variance. Scores stay what they are.
 */
export interface VoteSuppression {
  readonly kind: 'vote';
  readonly sigma: number;
  /** Overlaps up to it have no vote. */
  readonly minIou: number;
}

/** Weighted boxes fusion: overlapping boxes become their mean, weighted by score. */
export interface FusionSuppression {
  readonly kind: 'wbf';
  /** Score of a fused box: the mean of its members', as published for several models, or the highest. */
  readonly score: 'mean' | 'highest';
}

/** How several boxes on one object become one. */
export type SuppressionPolicy =
  | HardSuppression
  | SoftSuppression
  | UncertaintySuppression
  | BoxUncertaintySuppression
  | VoteSuppression
  | FusionSuppression;

export const HARD_SUPPRESSION: HardSuppression = { kind: 'hard' };

/** As published: lambda 2. */
export const UNCERTAINTY_SUPPRESSION: UncertaintySuppression = { kind: 'uncertainty', lambda: 2 };

export const BOX_UNCERTAINTY_SUPPRESSION: BoxUncertaintySuppression = { kind: 'box-uncertainty', lambda: 2 };

/** Soft-NMS as published: Gaussian with sigma 0.5, scores below 0.001 are gone. */
export const SOFT_SUPPRESSION: SoftSuppression = {
  kind: 'soft',
  decay: { shape: 'gaussian', sigma: 0.5 },
  minScore: 0.001,
};

/** Variance voting with the sigma that its paper found best. */
export const VOTE_SUPPRESSION: VoteSuppression = { kind: 'vote', sigma: 0.02, minIou: 0.01 };

/** One model puts dozens of weak boxes around an object: their mean score would say how many they are. */
export const FUSION_SUPPRESSION: FusionSuppression = { kind: 'wbf', score: 'highest' };

/** What a model must be able to say for this policy to work. */
export function suppressionRequirement(policy: SuppressionPolicy): Requirement {
  switch (policy.kind) {
    case 'hard':
    case 'soft':
    case 'wbf':
      return 'none';
    case 'uncertainty':
      return 'score-variance';
    case 'box-uncertainty':
    case 'vote':
      return 'box-variance';
    default:
      return policy satisfies never;
  }
}
