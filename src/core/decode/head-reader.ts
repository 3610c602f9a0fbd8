// What one file per head kind provides; `createDecoder` wraps it into a `Decoder`.
import type { HeadOutputs } from '../candidates.ts';
import type { CandidateBuffer } from './candidate-buffer.ts';
import type { ScoreLaw } from './decoder.ts';
import type { PreparedFloor } from './floor.ts';

export interface HeadReader {
  readonly scoreVariance: boolean;
  readonly epistemic: boolean;
  readonly boxVariance: boolean;
  readonly suppressed: boolean;
  readonly scoreLaw?: ScoreLaw;
  /** Appends what passes the floor. @returns how many locations were dropped for a NaN or infinite number */
  read(outputs: HeadOutputs, floor: PreparedFloor, into: CandidateBuffer): number;
}

/** Heads that give one number per class and one box, nothing about their certainty, and leave suppression to us. */
export const PLAIN = {
  scoreVariance: false,
  epistemic: false,
  boxVariance: false,
  suppressed: false,
} as const;
