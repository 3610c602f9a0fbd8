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

/** What conformal calibration promised of thresholds, for future pictures that come from where its own came from. */
export interface ConformalGuarantee {
  /**
   * `object-recall`: of the objects, at most `alpha` are missed. `miss-rate`: of the objects of a picture, at most
   * `alpha` are missed on average. `precision`: of the boxes, at most `alpha` are false alarms.
   */
  readonly target: 'object-recall' | 'miss-rate' | 'precision';
  /** In (0, 1). */
  readonly alpha: number;
  /** In (0, 1): chance that the calibration was unlucky and the promise does not hold; absent where it is on average. */
  readonly delta?: number;
  /** Overlap in [0, 1] from which a box finds an object. */
  readonly iou: number;
  /** The slice that it was made on, and holds for: `dusk`. Absent: all of the data. */
  readonly slice?: string;
}

/**
 * Keep iff score >= the threshold of its class, as conformal calibration chose it: the promise counts an object whose
 * score is the threshold. Threshold 0 keeps all, where no threshold could promise as much.
 */
export interface ConformalThreshold extends Bases {
  readonly kind: 'conformal';
  readonly guarantee: ConformalGuarantee;
}

/**
 * A score equal to its threshold is not kept, for every rule but `tail-mass` and `conformal`. Scores come as float32, so thresholds
 * are rounded to float32 before they are compared: 0.3 means the number that a network writes for 0.3.
 */
export type ThresholdPolicy =
  | FixedThreshold
  | PerClassThreshold
  | VarianceThreshold
  | StdThreshold
  | TailMassThreshold
  | ConformalThreshold;

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
    case 'conformal':
      // Rounding both keeps the order: a score of the threshold or more stays so.
      return Math.fround(candidate.score) >= Math.fround(base);
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
    case 'conformal':
      // A floor drops what equals it.
      return Math.max(0, base - ROUNDING_SLACK);
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
    case 'conformal':
      return { maximum: 0, text: describeGuarantee(policy.guarantee) };
    default:
      return policy satisfies never;
  }
}

/** `misses at most 10 % of the objects (IoU >= 0.5) …`: the promise, and on what it rests. */
export function describeGuarantee({ target, alpha, delta, iou, slice }: ConformalGuarantee): string {
  const share = `${short(100 * alpha)} %`;
  const promises = {
    'object-recall': `misses at most ${share} of the objects (IoU >= ${short(iou)})`,
    'miss-rate': `misses at most ${share} of the objects of a picture on average (IoU >= ${short(iou)})`,
    precision: `at most ${share} of the boxes are false alarms (IoU < ${short(iou)})`,
  };
  const certainty = delta === undefined ? '' : `, with ${short(100 * (1 - delta))} % certainty`;
  const where = slice === undefined ? 'the calibration pictures' : `the calibration pictures of '${slice}'`;
  return `promises: ${promises[target]}${certainty}, on pictures like ${where} and no others`;
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
    case 'conformal':
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
