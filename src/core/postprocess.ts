// From candidates in input px to detections in frame px: threshold, suppress, map back, clip.
import type { Candidates } from './candidates.ts';
import type { Decoder, ScoreFloor } from './decode/decoder.ts';
import type { Detection } from './detection.ts';
import type { Letterbox } from './letterbox.ts';
import type { SuppressionPolicy } from './suppression.ts';
import type { ThresholdPolicy } from './threshold.ts';

export interface PostprocessOptions {
  readonly classNames: readonly string[];
  readonly threshold: ThresholdPolicy;
  readonly suppression: SuppressionPolicy;
  /** IoU in [0, 1]; strictly more suppresses. */
  readonly iou: number;
  /** Suppress across classes too. */
  readonly agnostic: boolean;
  /** Most detections per picture. */
  readonly maxDet: number;
  /** Most candidates that suppression looks at, best first. */
  readonly maxCandidates: number;
  /** Class ids to report; absent: all. */
  readonly classes?: readonly number[];
  /** Whether detections carry the distribution or mixture of their score, where the head has one. */
  readonly scoreLaws: boolean;
}

export const POSTPROCESS_DEFAULTS = {
  iou: 0.7,
  agnostic: false,
  maxDet: 300,
  maxCandidates: 30_000,
  scoreLaws: false,
} as const;

export interface Postprocessed {
  /** By score, highest first; ties by location in the head. */
  readonly detections: readonly Detection[];
  /** Candidates that passed the threshold. */
  readonly candidateCount: number;
  /** `maxDet` detections were found and candidates were left unread. */
  readonly detectionLimitReached: boolean;
  /** More than `maxCandidates` passed the threshold; the rest was not read. */
  readonly candidateLimitReached: boolean;
  /** Locations with a NaN or infinite score or box. */
  readonly nonFinite: number;
}

export interface Postprocessor {
  /** What to hand to `Decoder.decode`. */
  readonly floor: ScoreFloor;
  /** Changes the rule between two pictures (light, camera); `floor` follows. */
  useThreshold(threshold: ThresholdPolicy): void;
  /**
   * @param candidates as `decoder` returned them for the picture at hand, decoded with `floor`
   * @throws ModelError where a policy needs what the decoder does not give
   */
  process(candidates: Candidates, letterbox: Letterbox, decoder: Decoder): Postprocessed;
}
