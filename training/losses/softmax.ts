// Losses over a softmax of classes: cross entropy, focal, dual focal, Brier, BSCE, and the gradient-weighted (GRA) forms.
// Focal: Lin et al. 2017. Dual focal: Tao et al. 2023. BSCE and GRA: Lin et al. 2025 (weight = generalised Brier score).
import { ConfigError, nearest, softmaxInto } from '#core';
import type { ClassLoss, FrozenFactors, LogitRow } from './types.ts';

export const SOFTMAX_LOSSES = [
  'ce',
  'focal',
  'dualFocal',
  'brier',
  'bsce',
  'focalGra',
  'dualGra',
  'bsceGra',
] as const;

export type SoftmaxLossName = (typeof SOFTMAX_LOSSES)[number];

export interface SoftmaxLossOptions {
  /** Exponent of the weight, >= 0; 0 is plain cross entropy. Default 2. */
  readonly gamma?: number;
  /** Norm of the generalised Brier weight (Σ |p − y|^beta)^(gamma / beta), > 0. Default 2. */
  readonly beta?: number;
}

const DEFAULT_EXPONENT = 2;

interface Law {
  readonly classes: number;
  readonly probabilities: Float64Array;
  readonly target: Float64Array;
  /** du / dz, where the weight is live. */
  readonly slope: Float64Array;
}

/** Gives u and, when `live`, fills `slope` with du / dz. */
type WeightRule = (law: Law, live: boolean) => number;

/**
 * @param classes C, length of the rows
 * @throws ConfigError for an unknown name or an exponent out of range
 */
export function createSoftmaxLoss(
  name: string,
  classes: number,
  { gamma = DEFAULT_EXPONENT, beta = DEFAULT_EXPONENT }: SoftmaxLossOptions = {},
): ClassLoss {
  checkExponents(gamma, beta);
  switch (name as SoftmaxLossName) {
    case 'ce':
      return weighted(name, classes, () => 1, 'constant');
    case 'focal':
      return weighted(name, classes, focalRule(gamma), 'live');
    case 'focalGra':
      return weighted(name, classes, focalRule(gamma), 'frozen');
    case 'dualFocal':
      return weighted(name, classes, dualRule(gamma), 'live');
    case 'dualGra':
      return weighted(name, classes, dualRule(gamma), 'frozen');
    case 'bsce':
      return weighted(name, classes, brierRule(gamma, beta), 'live');
    case 'bsceGra':
      return weighted(name, classes, brierRule(gamma, beta), 'frozen');
    case 'brier':
      return brierLoss(classes);
  }
  throw unknownLoss(name, 'softmax', SOFTMAX_LOSSES);
}

export function unknownLoss(name: string, law: string, known: readonly string[]): ConfigError {
  const guess = nearest(name, known);
  return new ConfigError(`no ${law} loss is called '${name}'; known: ${known.join(', ')}`, {
    hint: guess === undefined ? `take one of ${known.join(', ')}` : `did you mean '${guess}'?`,
  });
}

function checkExponents(gamma: number, beta: number): void {
  if (!(gamma >= 0 && Number.isFinite(gamma))) {
    throw new ConfigError(`gamma of a loss is ${gamma}, expected a number of 0 or more`, {
      hint: 'gamma=2 is the usual value, gamma=0 switches the weight off',
    });
  }
  if (!(beta > 0 && Number.isFinite(beta))) {
    throw new ConfigError(`beta of a loss is ${beta}, expected a number above 0`, {
      hint: 'beta=2 is the usual value',
    });
  }
}

function weighted(
  name: string,
  classes: number,
  rule: WeightRule,
  kind: 'constant' | 'live' | 'frozen',
): ClassLoss {
  const probabilities = new Float64Array(classes);
  const slope = new Float64Array(classes);
  const result = { weight: 0, value: 0 };
  const live = kind === 'live';
  return {
    name,
    weightFrozen: kind === 'frozen',
    rowInto(row) {
      const { target, gradient, gradientOffset, gradientStride, scale, frozen } = row;
      softmaxInto(probabilities, row.logits, row.offset, row.stride, classes);
      const entropy = crossEntropy(row, probabilities, classes);
      const current = rule({ classes, probabilities, target, slope }, live);
      const weight = kind === 'frozen' ? heldOr(frozen, current) : current;
      for (let index = 0; index < classes; index++) {
        let derivative = weight * (probabilities[index]! - target[index]!);
        // Without the guard a loss of 0 times an infinite slope (gamma < 1) would be NaN.
        if (live && entropy > 0) derivative += entropy * slope[index]!;
        gradient[gradientOffset + index * gradientStride] = scale * derivative;
      }
      result.weight = weight;
      result.value = weight === 0 && entropy === Infinity ? 0 : weight * entropy;
      return result;
    },
  };
}

function heldOr(frozen: FrozenFactors | undefined, current: number): number {
  if (frozen === undefined) return current;
  if (frozen.held) return frozen.values[frozen.offset]!;
  frozen.values[frozen.offset] = current;
  return current;
}

/** −Σ y ln p by log-softmax, exact where p underflows. */
function crossEntropy(
  { logits, offset, stride, target }: LogitRow,
  law: Float64Array,
  classes: number,
): number {
  let peak = 0;
  for (let index = 1; index < classes; index++) if (law[index]! > law[peak]!) peak = index;
  let rest = 0;
  for (let index = 0; index < classes; index++) if (index !== peak) rest += law[index]!;
  const peakLogit = logits[offset + peak * stride]!;
  const logOfPeak = Math.log1p(rest / law[peak]!);
  let entropy = 0;
  for (let index = 0; index < classes; index++) {
    const share = target[index]!;
    if (share > 0) entropy += share * (logOfPeak + (peakLogit - logits[offset + index * stride]!));
  }
  return entropy;
}

/** (1 − p_t)^gamma with p_t = Σ y p, the true class's probability for a hard label. */
function focalRule(gamma: number): WeightRule {
  return ({ classes, probabilities, target, slope }, live) => {
    let missing = 0;
    for (let index = 0; index < classes; index++) missing += probabilities[index]! * (1 - target[index]!);
    if (live) {
      const factor = powerSlope(missing, gamma);
      for (let index = 0; index < classes; index++) {
        // d p_t / dz_i = p_i (y_i − p_t)
        slope[index] = -factor * probabilities[index]! * (target[index]! - (1 - missing));
      }
    }
    return missing ** gamma;
  };
}

/** (1 − p_c + p_j)^gamma, p_j the largest probability strictly below p_c, else 0; c the heaviest class of the target. */
function dualRule(gamma: number): WeightRule {
  return ({ classes, probabilities, target, slope }, live) => {
    let own = 0;
    for (let index = 1; index < classes; index++) if (target[index]! > target[own]!) own = index;
    const ownProbability = probabilities[own]!;
    let next = -1;
    let nextProbability = 0;
    let others = 0;
    for (let index = 0; index < classes; index++) {
      const probability = probabilities[index]!;
      if (index !== own) others += probability;
      if (probability < ownProbability && (next < 0 || probability > nextProbability)) {
        next = index;
        nextProbability = probability;
      }
    }
    const base = others + nextProbability;
    if (live) {
      const factor = powerSlope(base, gamma);
      for (let index = 0; index < classes; index++) {
        const ofOwn = ownProbability * ((index === own ? 1 : 0) - probabilities[index]!);
        const ofNext = next < 0 ? 0 : nextProbability * ((index === next ? 1 : 0) - probabilities[index]!);
        slope[index] = factor * (ofNext - ofOwn);
      }
    }
    return base ** gamma;
  };
}

/** Generalised Brier weight (Σ |p − y|^beta)^(gamma / beta). */
function brierRule(gamma: number, beta: number): WeightRule {
  return ({ classes, probabilities, target, slope }, live) => {
    const sum = powerDistance(probabilities, target, classes, beta);
    if (live) {
      let mean = 0;
      for (let index = 0; index < classes; index++) {
        const distance = probabilities[index]! - target[index]!;
        const steepness = distance === 0 ? 0 : Math.abs(distance) ** (beta - 1) * Math.sign(distance);
        slope[index] = steepness;
        mean += steepness * probabilities[index]!;
      }
      const factor = sum > 0 ? gamma * sum ** (gamma / beta - 1) : 0;
      for (let index = 0; index < classes; index++) {
        slope[index] = factor * probabilities[index]! * (slope[index]! - mean);
      }
    }
    return sum ** (gamma / beta);
  };
}

/** Σ |p − y|^beta. */
export function powerDistance(
  probabilities: Float64Array,
  target: Float64Array,
  classes: number,
  beta: number,
): number {
  let sum = 0;
  for (let index = 0; index < classes; index++) {
    const distance = Math.abs(probabilities[index]! - target[index]!);
    sum += beta === 2 ? distance * distance : distance ** beta;
  }
  return sum;
}

/** d x^gamma / dx; 0 at gamma 0, also where x is 0. */
export function powerSlope(x: number, gamma: number): number {
  return gamma === 0 ? 0 : gamma * x ** (gamma - 1);
}

/** Σ (p − y)². */
function brierLoss(classes: number): ClassLoss {
  const probabilities = new Float64Array(classes);
  const result = { weight: 1, value: 0 };
  return {
    name: 'brier',
    weightFrozen: false,
    rowInto({ logits, offset, stride, target, gradient, gradientOffset, gradientStride, scale }) {
      softmaxInto(probabilities, logits, offset, stride, classes);
      let mean = 0;
      let value = 0;
      for (let index = 0; index < classes; index++) {
        const distance = probabilities[index]! - target[index]!;
        mean += distance * probabilities[index]!;
        value += distance * distance;
      }
      for (let index = 0; index < classes; index++) {
        const distance = probabilities[index]! - target[index]!;
        gradient[gradientOffset + index * gradientStride] =
          scale * 2 * probabilities[index]! * (distance - mean);
      }
      result.value = value;
      return result;
    },
  };
}
