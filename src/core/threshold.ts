// Which candidates are reported: rules on the score and, where the model has it, on its variance or law.
import type { ScoreFloor } from './decode/decoder.ts';
import type { Capabilities } from './detection.ts';

interface Bases {
  /** Threshold in [0, 1] of every class that `perClass` does not name. */
  readonly base: number;
  /** Thresholds by class id. */
  readonly perClass?: ReadonlyMap<number, number>;
}

/** Keep iff score > base. */
export interface FixedThreshold {
  readonly kind: 'fixed';
  readonly base: number;
}

/** Keep iff score > the threshold of its class. */
export interface PerClassThreshold extends Bases {
  readonly kind: 'per-class';
  readonly perClass: ReadonlyMap<number, number>;
}

/** The published rule: keep iff E > base - k * Var. */
export interface VarianceThreshold extends Bases {
  readonly kind: 'variance';
  readonly k: number;
}

/** Keep iff E > base - k * std: the same idea in the unit of the score. */
export interface StdThreshold extends Bases {
  readonly kind: 'std';
  readonly k: number;
}

/** Keep iff P(S >= base) >= probability: needs the law of the score, not only its moments. */
export interface TailMassThreshold extends Bases {
  readonly kind: 'tail-mass';
  /** In (0, 1]. */
  readonly probability: number;
}

/**
 * A score equal to its threshold is not kept, for every rule but `tail-mass`. Scores come as float32, so thresholds
 * are rounded to float32 before they are compared: 0.3 means the number that a network writes for 0.3.
 */
export type ThresholdPolicy =
  | FixedThreshold
  | PerClassThreshold
  | VarianceThreshold
  | StdThreshold
  | TailMassThreshold;

/** As published: base 0.5, k 0.3. */
export const PUBLISHED_THRESHOLD: VarianceThreshold = { kind: 'variance', base: 0.5, k: 0.3 };

/** What a policy looks at. `variance` and `tailMass` matter only to the rules that need them. */
export interface ScoredCandidate {
  readonly classId: number;
  readonly score: number;
  readonly variance: number;
  /** P(S >= base), asked only by `tail-mass`. */
  tailMass(base: number): number;
}

export function thresholdOf(policy: ThresholdPolicy, classId: number): number {
  return policy.kind === 'fixed' ? policy.base : (policy.perClass?.get(classId) ?? policy.base);
}

export function accepts(policy: ThresholdPolicy, candidate: ScoredCandidate): boolean {
  const base = thresholdOf(policy, candidate.classId);
  switch (policy.kind) {
    case 'fixed':
    case 'per-class':
      return candidate.score > Math.fround(base);
    case 'variance':
      return candidate.score > Math.fround(base - policy.k * candidate.variance);
    case 'std':
      return candidate.score > Math.fround(base - policy.k * Math.sqrt(Math.max(0, candidate.variance)));
    case 'tail-mass':
      return candidate.tailMass(base) >= policy.probability;
    default:
      return policy satisfies never;
  }
}

/**
 * The lowest expectation that a policy could accept, per class, so that decoding can drop the rest unseen.
 * Uses Var <= E (1 - E) (Bhatia-Davis) and P(S >= b) <= E / b (Markov).
 * @param wanted class ids to keep; absent: all
 */
export function scoreFloor(
  policy: ThresholdPolicy,
  classCount: number,
  wanted?: readonly number[],
): ScoreFloor {
  const perClass =
    policy.kind !== 'fixed' && policy.perClass !== undefined && policy.perClass.size > 0
      ? Float32Array.from({ length: classCount }, (_, classId) =>
          lowestExpectation(policy, thresholdOf(policy, classId)),
        )
      : undefined;
  const classes = wanted === undefined ? undefined : new Uint8Array(classCount);
  for (const classId of wanted ?? []) classes?.fill(1, classId, classId + 1);
  return {
    default: lowestExpectation(policy, policy.base),
    ...(perClass && { perClass }),
    ...(classes && { classes }),
  };
}

/** Outputs of float16 exports can sit a little outside the bounds that exact laws obey. */
const ROUNDING_SLACK = 1e-3;

function lowestExpectation(policy: ThresholdPolicy, base: number): number {
  switch (policy.kind) {
    case 'fixed':
    case 'per-class':
      return base;
    case 'variance':
      return Math.max(0, equivalentFixedThreshold(base, policy.k) - ROUNDING_SLACK);
    case 'std': {
      // The smaller root of (base - E)² = k² E (1 - E), written so that nothing cancels.
      const square = policy.k * policy.k;
      const sum = 2 * base + square;
      const root = Math.sqrt(Math.max(0, sum * sum - 4 * (1 + square) * base * base));
      const lowest = sum + root > 0 ? (2 * base * base) / (sum + root) : 0;
      return Math.max(0, lowest - ROUNDING_SLACK);
    }
    case 'tail-mass':
      return Math.max(0, base * policy.probability - ROUNDING_SLACK);
    default:
      return policy satisfies never;
  }
}

/**
 * The fixed threshold that `E > base - k Var` amounts to where Var = E (1 - E), as with hard labels; also the lowest
 * expectation that the rule can accept at all. Smaller root of k E² - (1 + k) E + base = 0.
 */
export function equivalentFixedThreshold(base: number, k: number): number {
  const sum = 1 + k;
  return (2 * base) / (sum + Math.sqrt(Math.max(0, sum * sum - 4 * k * base)));
}

export interface ThresholdReach {
  /** The most by which uncertainty can lower the threshold, in units of the score. */
  readonly maximum: number;
  readonly text: string;
}

/** How much a rule can change at all; said when it is configured, because it is less than many expect. */
export function thresholdReach(policy: ThresholdPolicy): ThresholdReach {
  switch (policy.kind) {
    case 'fixed':
    case 'per-class':
      return { maximum: 0, text: 'uncertainty does not move this threshold' };
    case 'variance': {
      const maximum = policy.k / 4;
      return { maximum, text: reachText(maximum, 'at variance 0.25') };
    }
    case 'std': {
      const maximum = policy.k / 2;
      return { maximum, text: reachText(maximum, 'at standard deviation 0.5') };
    }
    case 'tail-mass': {
      const lowest = policy.base * policy.probability;
      const maximum = policy.base - lowest;
      return {
        maximum,
        text: `keeps an expectation down to ${short(lowest)} if its mass above ${short(policy.base)} reaches ${short(policy.probability)}`,
      };
    }
    default:
      return policy satisfies never;
  }
}

function reachText(maximum: number, where: string): string {
  return `uncertainty lowers this threshold by at most ${short(maximum)} (${where})`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

export type Requirement = 'none' | 'score-variance' | 'score-distribution' | 'box-variance';

/** What a model must be able to say for this policy to work. */
export function thresholdRequirement(policy: ThresholdPolicy): Requirement {
  switch (policy.kind) {
    case 'fixed':
    case 'per-class':
      return 'none';
    case 'variance':
    case 'std':
      return 'score-variance';
    case 'tail-mass':
      return 'score-distribution';
    default:
      return policy satisfies never;
  }
}

/** Why a model cannot serve a requirement, in words for the user; undefined where it can. */
export function whyUnavailable(requirement: Requirement, capabilities: Capabilities): string | undefined {
  switch (requirement) {
    case 'none':
      return undefined;
    case 'score-variance':
      return capabilities.scoreVariance ? undefined : 'the model gives no variance of the score';
    case 'score-distribution':
      return capabilities.distribution !== 'none'
        ? undefined
        : 'the model gives no distribution of the score (mean and variance alone do not fix a tail mass)';
    case 'box-variance':
      return capabilities.boxVariance ? undefined : 'the model gives no variance of its boxes';
    default:
      return requirement satisfies never;
  }
}
