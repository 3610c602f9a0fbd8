// Fits of the logistic calibrators (Platt, temperature, beta): least mean cross-entropy against targets in [0, 1], by
// Newton's method with halved steps. The loss is convex, so what is found is the optimum.
import type { BetaMap, PlattMap, TemperatureMap } from './calibration-map.ts';
import { insideUnit, logit, sigmoid } from './calibration-map.ts';

const MOST_STEPS = 100;
const LEAST_STEP = 1e-14;

/** Beyond this rise over all scores a map is a step function: targets that a threshold parts have no finite optimum. */
const STEEPEST = 500;

/** A flatter map than this says the same of every score. */
const HOTTEST = 1e4;

/**
 * A slope below 0 would turn the ranking around: it is held at 0.
 * @returns undefined where all targets are 0 or all are 1: no finite map fits them
 */
export function fitPlatt(scores: ArrayLike<number>, targets: ArrayLike<number>): PlattMap | undefined {
  const mean = meanInside(targets);
  if (mean === undefined) return undefined;
  const [intercept, slope] = fitLogistic([ones(scores), logits(scores)], targets, [0, 1]).weights;
  if (slope! < 0) return { kind: 'platt', slope: 0, intercept: logit(mean) };
  return { kind: 'platt', slope: slope!, intercept: intercept! };
}

/**
 * @returns undefined where no finite temperature above 0 is best: the targets fall with the score, or all are 0 or 1
 */
export function fitTemperature(
  scores: ArrayLike<number>,
  targets: ArrayLike<number>,
): TemperatureMap | undefined {
  if (meanInside(targets) === undefined) return undefined;
  const [inverse] = fitLogistic([logits(scores)], targets, [1]).weights;
  return inverse! * HOTTEST > 1 ? { kind: 'temperature', temperature: 1 / inverse! } : undefined;
}

/**
 * Both bends are 0 or more. Where the free optimum has one below, the best map lies where it is 0, because the loss is
 * convex: those are fitted too, and the best that is allowed is taken.
 * @returns undefined where all targets are 0 or all are 1: no finite map fits them
 */
export function fitBeta(scores: ArrayLike<number>, targets: ArrayLike<number>): BetaMap | undefined {
  const mean = meanInside(targets);
  if (mean === undefined) return undefined;
  const one = ones(scores);
  const rising = Float64Array.from(scores, (score) => Math.log(insideUnit(score)));
  const falling = Float64Array.from(scores, (score) => -Math.log1p(-insideUnit(score)));
  const free = fitLogistic([one, rising, falling], targets, [0, 1, 1]);
  const [intercept, low, high] = free.weights;
  if (low! >= 0 && high! >= 0) return { kind: 'beta', low: low!, high: high!, intercept: intercept! };
  const onlyLow = fitLogistic([one, rising], targets, [0, 1]);
  const onlyHigh = fitLogistic([one, falling], targets, [0, 1]);
  const flat = fitLogistic([one], targets, [logit(mean)]);
  const allowed = [
    { loss: onlyLow.loss, low: onlyLow.weights[1]!, high: 0, intercept: onlyLow.weights[0]! },
    { loss: onlyHigh.loss, low: 0, high: onlyHigh.weights[1]!, intercept: onlyHigh.weights[0]! },
    { loss: flat.loss, low: 0, high: 0, intercept: flat.weights[0]! },
  ].filter((fit) => fit.low >= 0 && fit.high >= 0);
  const best = allowed.reduce((least, fit) => (fit.loss < least.loss ? fit : least));
  return { kind: 'beta', low: best.low, high: best.high, intercept: best.intercept };
}

interface LogisticFit {
  readonly weights: Float64Array;
  readonly loss: number;
}

/** Least mean cross-entropy of σ(Σ weight · feature). */
function fitLogistic(
  features: readonly Float64Array[],
  targets: ArrayLike<number>,
  start: readonly number[],
): LogisticFit {
  const spans = features.map(spanOf);
  let weights = Float64Array.from(start);
  let loss = crossEntropy(features, targets, weights);
  const notWorse = (next: number) => next <= loss + 1e-12 * Math.abs(loss);
  for (let step = 0; step < MOST_STEPS; step++) {
    const move = newtonStep(features, targets, weights);
    const moved = (share: number) => weights.map((weight, index) => weight - share * move[index]!);
    let share = 1;
    let next = moved(share);
    let nextLoss = crossEntropy(features, targets, next);
    while (!notWorse(nextLoss) && share > 1e-6) {
      share /= 2;
      next = moved(share);
      nextLoss = crossEntropy(features, targets, next);
    }
    if (!notWorse(nextLoss)) break;
    weights = next;
    loss = nextLoss;
    const size = move.reduce((sum, value) => sum + Math.abs(value), 0);
    if (size < LEAST_STEP || weights.some((weight, index) => Math.abs(weight) * spans[index]! > STEEPEST)) {
      break;
    }
  }
  return { weights, loss };
}

/** Solves Hessian · step = gradient; what the rows cannot tell apart (all scores equal) does not move. */
function newtonStep(
  features: readonly Float64Array[],
  targets: ArrayLike<number>,
  weights: Float64Array,
): Float64Array {
  const size = weights.length;
  const width = size + 1;
  const system = new Float64Array(size * width);
  for (let row = 0; row < targets.length; row++) {
    const p = sigmoid(valueAt(features, weights, row));
    const [gap, curvature] = [p - targets[row]!, p * (1 - p)];
    for (let i = 0; i < size; i++) {
      const feature = features[i]![row]!;
      for (let j = 0; j < size; j++) system[i * width + j]! += curvature * feature * features[j]![row]!;
      system[i * width + size]! += gap * feature;
    }
  }
  return solvePositive(system, size);
}

/** Gauss without exchange of rows, which a positive definite matrix does not need. @param system [size, size + 1] */
function solvePositive(system: Float64Array, size: number): Float64Array {
  const width = size + 1;
  const diagonal = Float64Array.from({ length: size }, (_, index) => system[index * width + index]!);
  const known = diagonal.map(() => 0);
  for (let pivot = 0; pivot < size; pivot++) {
    const divisor = system[pivot * width + pivot]!;
    if (!(divisor > 1e-12 * diagonal[pivot]!)) continue;
    known[pivot] = 1;
    for (let i = pivot + 1; i < size; i++) {
      const factor = system[i * width + pivot]! / divisor;
      for (let j = pivot; j < width; j++) system[i * width + j]! -= factor * system[pivot * width + j]!;
    }
  }
  const solution = new Float64Array(size);
  for (let pivot = size - 1; pivot >= 0; pivot--) {
    if (known[pivot] === 0) continue;
    let rest = system[pivot * width + size]!;
    for (let j = pivot + 1; j < size; j++) rest -= system[pivot * width + j]! * solution[j]!;
    solution[pivot] = rest / system[pivot * width + pivot]!;
  }
  return solution;
}

function crossEntropy(
  features: readonly Float64Array[],
  targets: ArrayLike<number>,
  weights: Float64Array,
): number {
  let sum = 0;
  for (let row = 0; row < targets.length; row++) {
    const z = valueAt(features, weights, row);
    // log(1 + e^z) − y z, without overflow.
    sum += Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - targets[row]! * z;
  }
  return sum / targets.length;
}

function valueAt(features: readonly Float64Array[], weights: Float64Array, row: number): number {
  let value = 0;
  for (let index = 0; index < weights.length; index++) value += weights[index]! * features[index]![row]!;
  return value;
}

function logits(scores: ArrayLike<number>): Float64Array {
  return Float64Array.from(scores, logit);
}

function ones(scores: ArrayLike<number>): Float64Array {
  return new Float64Array(scores.length).fill(1);
}

function spanOf(values: Float64Array): number {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high - low;
}

/** Mean of the targets where it is above 0 and below 1. */
function meanInside(targets: ArrayLike<number>): number | undefined {
  let mean = 0;
  for (let row = 0; row < targets.length; row++) mean += targets[row]! / targets.length;
  return mean > 0 && mean < 1 ? mean : undefined;
}
