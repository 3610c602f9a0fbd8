// The compact forms of a law as functions of raw channels, with their distance to the teacher's law and its gradient.
import type { CompactQuality } from '#onnx';
import { TARGET_WIDTH } from './law-targets.ts';

type Numbers = Float32Array | Float64Array;

/** One row of raw channels against one row of targets. */
export interface LawRow {
  readonly raw: Numbers;
  /** First channel of the row. */
  readonly at: number;
  readonly targets: Numbers;
  /** Number of the row in `targets`. */
  readonly row: number;
  /** Takes the gradient at the places of `raw`. */
  readonly gradient: Numbers;
}

/** Distance of a row to its target; writes d distance / d raw. */
export type LawLoss = (row: LawRow) => number;

/**
 * The square root has no gradient at 0, where sharp laws end; this much variance is a standard deviation of 0.003.
 */
const LEAST_VARIANCE = 1e-5;

/** Weight of the shape (the two parts) beside E and std, which readers see first. */
const SHAPE = 0.15;

/** Weight of the spread between the parts: with the whole spread it decides whether a law counts as bimodal. */
const BETWEEN = 4;

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** (E − E*)²; one channel, E = s(r0). */
const plainLoss: LawLoss = ({ raw, at, targets, row, gradient }) => {
  const mean = sigmoid(raw[at]!);
  const error = mean - targets[TARGET_WIDTH * row]!;
  gradient[at] = 2 * error * mean * (1 - mean);
  return error * error;
};

/** (E − E*)² + (S − S*)²; m = s(r0), v = s(r1) m (1 − m). */
const meanVarianceLoss: LawLoss = ({ raw, at, targets, row, gradient }) => {
  const mean = sigmoid(raw[at]!);
  const share = sigmoid(raw[at + 1]!);
  const most = mean * (1 - mean);
  const std = Math.sqrt(share * most + LEAST_VARIANCE);
  const meanError = mean - targets[TARGET_WIDTH * row]!;
  const stdError = std - floored(targets[TARGET_WIDTH * row + 1]!);
  const dVariance = stdError / std;
  gradient[at] = (2 * meanError + dVariance * share * (1 - 2 * mean)) * most;
  gradient[at + 1] = dVariance * most * share * (1 - share);
  return meanError * meanError + stdError * stdError;
};

/** A target's standard deviation as the floored root of the head sees it, so that equal laws have no distance. */
function floored(std: number): number {
  return Math.sqrt(std * std + LEAST_VARIANCE);
}

/**
 * (E − E*)² + (S − S*)² + BETWEEN (B − B*)² + SHAPE · [w* d((μ1, σ1), (μ1*, σ1*))² + (1 − w*) d((μ2, σ2), (μ2*, σ2*))² +
 * (μ2* − μ1*)² (w − w*)²], with B² = w (1 − w)(μ2 − μ1)². Each part counts by the mass that the teacher gives it, and the
 * weight by how far mass moves when it is wrong, as the squared Wasserstein distance of two mixtures with paired parts
 * does: where the parts coincide, or one is empty, its parameters are free and cost nothing.
 */
const twoGaussianLoss: LawLoss = ({ raw, at, targets, row, gradient }) => {
  const weight = sigmoid(raw[at]!);
  const low = sigmoid(raw[at + 1]!);
  const step = sigmoid(raw[at + 2]!);
  const lowShare = sigmoid(raw[at + 3]!);
  const highShare = sigmoid(raw[at + 4]!);
  const apart = (1 - low) * step;
  const high = low + apart;
  const lowMost = low * (1 - low);
  const highMost = high * (1 - high);
  const lowVariance = lowShare * lowMost;
  const highVariance = highShare * highMost;
  const rest = 1 - weight;
  const std = Math.sqrt(
    weight * lowVariance + rest * highVariance + weight * rest * apart * apart + LEAST_VARIANCE,
  );
  const lowStd = Math.sqrt(lowVariance + LEAST_VARIANCE);
  const highStd = Math.sqrt(highVariance + LEAST_VARIANCE);
  const first = TARGET_WIDTH * row;
  const mass = targets[first + 2]!;
  const span = (targets[first + 4]! - targets[first + 3]!) ** 2;
  const meanError = weight * low + rest * high - targets[first]!;
  const stdError = std - floored(targets[first + 1]!);
  const weightError = weight - mass;
  const lowError = low - targets[first + 3]!;
  const highError = high - targets[first + 4]!;
  const lowStdError = lowStd - floored(targets[first + 5]!);
  const highStdError = highStd - floored(targets[first + 6]!);
  const between = Math.sqrt(weight * rest * apart * apart + LEAST_VARIANCE);
  const betweenError = between - Math.sqrt(mass * (1 - mass) * span + LEAST_VARIANCE);
  const dMean = 2 * meanError;
  const dVariance = stdError / std;
  const dBetween = (BETWEEN * betweenError) / between;
  const dWeight =
    2 * SHAPE * span * weightError -
    dMean * apart +
    dVariance * (lowVariance - highVariance) +
    (dVariance + dBetween) * (1 - 2 * weight) * apart * apart;
  const dApart = (dVariance + dBetween) * 2 * weight * rest * apart;
  const dLowVariance = SHAPE * mass * (lowStdError / lowStd) + dVariance * weight;
  const dHighVariance = SHAPE * (1 - mass) * (highStdError / highStd) + dVariance * rest;
  const dHigh =
    2 * SHAPE * (1 - mass) * highError + dMean * rest + dApart + dHighVariance * highShare * (1 - 2 * high);
  const dLow =
    2 * SHAPE * mass * lowError +
    dMean * weight -
    dApart +
    dLowVariance * lowShare * (1 - 2 * low) +
    dHigh * (1 - step);
  gradient[at] = dWeight * weight * rest;
  gradient[at + 1] = dLow * lowMost;
  gradient[at + 2] = dHigh * (1 - low) * step * (1 - step);
  gradient[at + 3] = dLowVariance * lowMost * lowShare * (1 - lowShare);
  gradient[at + 4] = dHighVariance * highMost * highShare * (1 - highShare);
  const shape =
    mass * (lowError ** 2 + lowStdError ** 2) +
    (1 - mass) * (highError ** 2 + highStdError ** 2) +
    span * weightError ** 2;
  return meanError ** 2 + stdError ** 2 + BETWEEN * betweenError ** 2 + SHAPE * shape;
};

export const LAW_LOSSES: Readonly<Record<CompactQuality, LawLoss>> = {
  'two-gaussian': twoGaussianLoss,
  'mean-variance': meanVarianceLoss,
  plain: plainLoss,
};
