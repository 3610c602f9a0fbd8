// What the product hands to its users: one value per object, with how sure the model is where it can say.
import type { Box, BoxVariance } from './box.ts';

/** Probabilities of the score lying at `i / (bins - 1)`. */
export interface ScoreDistribution {
  /** Float32[bins], sums to 1. */
  readonly probabilities: Float32Array;
}

/** Two weighted Gaussians over [0, 1]: the compact form of a score distribution. */
export interface ScoreMixture {
  /** Weight of the first component in [0, 1]; the second has `1 - weight`. */
  readonly weight: number;
  readonly means: readonly [number, number];
  readonly variances: readonly [number, number];
}

/** One object that was found, with how sure the model is where it can say. */
export interface Detection {
  readonly box: Box<'frame'>;
  readonly classId: number;
  readonly className: string;
  /** The final number in [0, 1]: calibrated when the model carries a calibrator; thresholds act on it. */
  readonly score: number;
  /** The score before calibration and before suppression changed it. */
  readonly rawScore: number;
  /** Variance of the score in [0, 0.25]; absent where the model cannot say. */
  readonly scoreVariance?: number;
  /** Part of `scoreVariance` that passes under dropout disagree on (MC dropout); absent where the model has no passes. */
  readonly scoreVarianceEpistemic?: number;
  /** Variance of each edge in frame px²; absent where the model cannot say. */
  readonly boxVariance?: BoxVariance<'frame'>;
  readonly distribution?: ScoreDistribution;
  readonly mixture?: ScoreMixture;
  readonly trackId?: number;
}

/** What a model can say about its own certainty. A thing that it lacks is absent, never faked. */
export interface Capabilities {
  readonly scoreVariance: boolean;
  /** Whether the epistemic part of the score's variance is told apart. */
  readonly epistemic: boolean;
  readonly boxVariance: boolean;
  readonly distribution: 'bins' | 'mixture' | 'none';
  /** Why something is missing, in words for the user; empty where all is there. */
  readonly limits: readonly string[];
}
