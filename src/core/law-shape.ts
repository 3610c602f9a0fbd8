// What the law of a score looks like to a person: one answer, no answer, or two.
import type { ScoreDistribution } from './detection.ts';
import { excessVariance } from './distribution.ts';
import { bimodality } from './mixture.ts';

/** `sharp`: one answer; `flat`: spread over many; `bimodal`: hesitates between two. */
export type LawShape = 'sharp' | 'flat' | 'bimodal';

/** Excess standard deviation from which a law is flat: half of that of the uniform law over [0, 1], 1 / √12. */
const FLAT_STD = 0.5 / Math.sqrt(12);

/**
 * Bimodal by the three signs of `bimodality`; else flat where the variance beyond what the bins force exceeds 1 / 48,
 * a quarter of the uniform law's. The floor of the bins keeps a certain score between two bins sharp.
 * @param law probabilities over scores i / (bins − 1), summing to 1
 */
export function classifyLaw(law: Pick<ScoreDistribution, 'probabilities'>): LawShape {
  if (bimodality(law).bimodal) return 'bimodal';
  return excessVariance(law) > FLAT_STD ** 2 ? 'flat' : 'sharp';
}
