// Losses of independent sigmoids against hard or soft targets. QFL: Li et al. 2020. Varifocal: Zhang et al. 2021.
// GRA per logit has u = |p − y|^gamma held constant; one logit being one dimension, its field has a potential.
import { ConfigError } from '#core';
import { powerDistance, powerSlope, unknownLoss } from './softmax.ts';
import type { ClassLoss, LogitLoss, SigmoidLoss } from './types.ts';

export const SIGMOID_LOSSES = ['bce', 'focal', 'qfl', 'varifocal', 'gra'] as const;

export type SigmoidLossName = (typeof SIGMOID_LOSSES)[number];

export interface SigmoidLossOptions {
  /** Exponent of the weight, >= 0. Default 2; unused by bce. */
  readonly gamma?: number;
  /** Balance of focal (weight of positives, of negatives 1 − alpha; none by default) and varifocal (0.75 on negatives). */
  readonly alpha?: number;
}

const DEFAULT_GAMMA = 2;
const VARIFOCAL_ALPHA = 0.75;

interface Parts {
  readonly logit: number;
  readonly target: number;
  /** σ(z) and 1 − σ(z), both without cancellation. */
  readonly p: number;
  readonly q: number;
  readonly bce: number;
}

/** Gives u and du / dz of one logit. */
type Rule = (parts: Parts, into: { weight: number; slope: number }) => void;

/** @throws ConfigError for an unknown name or a value out of range */
export function createSigmoidLoss(name: string, options: SigmoidLossOptions = {}): SigmoidLoss {
  const { gamma = DEFAULT_GAMMA, alpha } = options;
  if (!(gamma >= 0 && Number.isFinite(gamma)) || (alpha !== undefined && !(alpha >= 0 && alpha <= 1))) {
    throw new ConfigError(
      `gamma ${gamma} and alpha ${alpha} of loss '${name}': expected gamma >= 0, alpha in [0, 1]`,
      {
        hint: 'gamma=2 is the usual value; leave alpha out for no balance',
      },
    );
  }
  switch (name as SigmoidLossName) {
    case 'bce':
      return weighted(name, constantRule, false);
    case 'focal':
      return weighted(name, focalRule(gamma, alpha), false);
    case 'qfl':
      return weighted(name, distanceRule(gamma), false);
    case 'gra':
      return weighted(name, distanceRule(gamma), true);
    case 'varifocal':
      return weighted(name, varifocalRule(gamma, alpha ?? VARIFOCAL_ALPHA), false);
  }
  throw unknownLoss(name, 'sigmoid', SIGMOID_LOSSES);
}

function weighted(name: string, rule: Rule, weightFrozen: boolean): SigmoidLoss {
  const factor = { weight: 1, slope: 0 };
  const parts = { logit: 0, target: 0, p: 0, q: 0, bce: 0 };
  const result = { weight: 1, value: 0, gradient: 0 };
  return {
    name,
    weightFrozen,
    evaluate(logit, target, heldWeight) {
      fillParts(parts, logit, target);
      rule(parts, factor);
      const weight = weightFrozen && heldWeight !== undefined ? heldWeight : factor.weight;
      const slope = weightFrozen ? 0 : factor.slope;
      // p − y, from whichever of p and 1 − p is small.
      const distance = target === 1 ? -parts.q : parts.p - target;
      result.weight = weight;
      result.value = weight * parts.bce;
      result.gradient = weight * distance + (slope === 0 ? 0 : slope * parts.bce);
      return result;
    },
  };
}

function fillParts(parts: { -readonly [K in keyof Parts]: number }, logit: number, target: number): void {
  const small = Math.exp(-Math.abs(logit));
  const larger = 1 / (1 + small);
  parts.logit = logit;
  parts.target = target;
  parts.p = logit >= 0 ? larger : small * larger;
  parts.q = logit >= 0 ? small * larger : larger;
  parts.bce = Math.max(logit, 0) - logit * target + Math.log1p(small);
}

const constantRule: Rule = (_, into) => {
  into.weight = 1;
  into.slope = 0;
};

/** alpha_t (1 − p_t)^gamma, p_t = y p + (1 − y)(1 − p). */
function focalRule(gamma: number, alpha: number | undefined): Rule {
  return ({ target, p, q }, into) => {
    const balance = alpha === undefined ? 1 : target * alpha + (1 - target) * (1 - alpha);
    const missing = target * q + (1 - target) * p;
    into.weight = balance * missing ** gamma;
    into.slope = -balance * powerSlope(missing, gamma) * (2 * target - 1) * p * q;
  };
}

/** |p − y|^gamma: live in QFL, held constant in GRA. */
function distanceRule(gamma: number): Rule {
  return ({ target, p, q }, into) => {
    const distance = target === 1 ? -q : p - target;
    const size = Math.abs(distance);
    into.weight = gamma === 2 ? size * size : size ** gamma;
    into.slope = size === 0 ? 0 : powerSlope(size, gamma) * Math.sign(distance) * p * q;
  };
}

/** The target itself on positives, alpha p^gamma, live, on negatives. */
function varifocalRule(gamma: number, alpha: number): Rule {
  return ({ target, p, q }, into) => {
    into.weight = target > 0 ? target : alpha * p ** gamma;
    into.slope = target > 0 ? 0 : alpha * powerSlope(p, gamma) * p * q;
  };
}

/**
 * One sigmoid loss on every class of a row: `weight` is the mean of u, `value` the sum. A `frozen` store needs C
 * places from its offset.
 */
export function sigmoidRow(loss: SigmoidLoss, classes: number): ClassLoss {
  const result = { weight: 0, value: 0 };
  return {
    name: loss.name,
    weightFrozen: loss.weightFrozen,
    rowInto({ logits, offset, stride, target, gradient, gradientOffset, gradientStride, scale, frozen }) {
      result.weight = 0;
      result.value = 0;
      for (let index = 0; index < classes; index++) {
        const held = frozen?.held ? frozen.values[frozen.offset + index] : undefined;
        const one: LogitLoss = loss.evaluate(logits[offset + index * stride]!, target[index]!, held);
        if (frozen && !frozen.held) frozen.values[frozen.offset + index] = one.weight;
        gradient[gradientOffset + index * gradientStride] = scale * one.gradient;
        result.weight += one.weight / classes;
        result.value += one.value;
      }
      return result;
    },
  };
}

/**
 * One detached weight u = (Σ |p − y|^beta)^(gamma / beta) for all sigmoids of an anchor. A wrong class then raises
 * the gradient of the right ones, which is why the form per logit is the default.
 */
export function anchorGraLoss(classes: number, gamma = DEFAULT_GAMMA, beta = 2): ClassLoss {
  const bce = createSigmoidLoss('bce');
  const probabilities = new Float64Array(classes);
  const result = { weight: 0, value: 0 };
  return {
    name: 'anchorGra',
    weightFrozen: true,
    rowInto({ logits, offset, stride, target, gradient, gradientOffset, gradientStride, scale, frozen }) {
      for (let index = 0; index < classes; index++) {
        probabilities[index] = 1 / (1 + Math.exp(-logits[offset + index * stride]!));
      }
      let weight = powerDistance(probabilities, target, classes, beta) ** (gamma / beta);
      if (frozen?.held) weight = frozen.values[frozen.offset]!;
      else if (frozen) frozen.values[frozen.offset] = weight;
      result.weight = weight;
      result.value = 0;
      for (let index = 0; index < classes; index++) {
        const one = bce.evaluate(logits[offset + index * stride]!, target[index]!);
        gradient[gradientOffset + index * gradientStride] = scale * weight * one.gradient;
        result.value += weight * one.value;
      }
      return result;
    },
  };
}
