// What every decoder offers: outputs of one run go in, candidates above a floor come out.
import type { Candidates, HeadOutputs } from '../candidates.ts';
import type { ScoreDistribution, ScoreMixture } from '../detection.ts';
import type { HeadLayout } from '../head-layout.ts';
import type { Size } from '../shapes.ts';

/** The lowest score per class that can still matter; a candidate must lie strictly above it. */
export interface ScoreFloor {
  /** In [0, 1]; compared as float32, so a score of exactly this value is dropped. */
  readonly default: number;
  /** Float32[C], indexed by class id; replaces `default`. */
  readonly perClass?: Float32Array;
  /** Uint8[C]: 1 where a class is wanted. Absent: all are. */
  readonly classes?: Uint8Array;
}

export interface DecoderOptions {
  /** Size of the network's input in px. */
  readonly input: Size;
  /** Whether box variances are computed, where the head has them. */
  readonly boxVariance: boolean;
}

/** The law of the score of one class at one anchor, read when asked for. Valid until the next `decode`. */
export interface ScoreLaw {
  readonly form: 'bins' | 'mixture';
  /** Absent where the head speaks in mixtures. */
  distribution(anchor: number, classId: number): ScoreDistribution | undefined;
  /** Absent where the head speaks in bins (`splitFit` makes a mixture of them). */
  mixture(anchor: number, classId: number): ScoreMixture | undefined;
  /** P(S >= base), in [0, 1]. */
  tailMass(anchor: number, classId: number, base: number): number;
}

export interface Decoder {
  readonly layout: HeadLayout;
  /** Whether `Candidates.scoreVariances` is filled. */
  readonly scoreVariance: boolean;
  /** Whether `Candidates.scoreVariancesEpistemic` is filled. */
  readonly epistemic: boolean;
  /** Whether `Candidates.boxVariances` is filled. */
  readonly boxVariance: boolean;
  /** Whether the head has suppressed its rows itself, so that nothing is left to suppress. */
  readonly suppressed: boolean;
  /** Absent where the head has no law of the score. */
  readonly scoreLaw?: ScoreLaw;
  /** How many locations the last `decode` dropped because a score or a box was NaN or infinite. */
  readonly nonFinite: number;
  /**
   * Best class per anchor (ties to the lower id), scores strictly above the floor, boxes in input px.
   * The result is reused: it is valid until the next call.
   * @throws ModelError where an output is missing, of another type, too short, or names an unknown class
   */
  decode(outputs: HeadOutputs, floor: ScoreFloor): Candidates;
}
