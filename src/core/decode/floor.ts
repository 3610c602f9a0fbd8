// A score floor made ready for inner loops: one number that rules most locations out, the exact test for the rest.
import type { ScoreFloor } from './decoder.ts';

export interface PreparedFloor {
  /** No wanted class has a lower floor. */
  readonly lowest: number;
  passes(classId: number, score: number): boolean;
}

export function prepareFloor(floor: ScoreFloor): PreparedFloor {
  const { perClass, classes } = floor;
  const fallback = Math.fround(floor.default);
  let lowest = fallback;
  if (perClass !== undefined) {
    lowest = Infinity;
    for (let classId = 0; classId < perClass.length; classId++) {
      if (classes === undefined || classes[classId] === 1) lowest = Math.min(lowest, perClass[classId]!);
    }
  }
  return {
    lowest,
    passes(classId, score) {
      if (classes !== undefined && classes[classId] !== 1) return false;
      return score > (perClass === undefined ? fallback : perClass[classId]!);
    },
  };
}

/** The logit that a probability floor stands for, a hair lower: the exact test is made on the probability. */
export function logitFloor(probability: number): number {
  if (probability <= 0) return -Infinity;
  if (probability >= 1) return Infinity;
  return Math.log(probability / (1 - probability)) - 1e-5;
}

export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
