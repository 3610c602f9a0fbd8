// Monotone maps from a raw score to one that means what it says: their form, their value, their slope.

/** σ(slope · logit(score) + intercept), slope >= 0 (Platt, 1999, with bias, on the logit). */
export interface PlattMap {
  readonly kind: 'platt';
  readonly slope: number;
  readonly intercept: number;
}

/** σ(logit(score) / temperature), temperature > 0. Cannot move a score across .5. */
export interface TemperatureMap {
  readonly kind: 'temperature';
  readonly temperature: number;
}

/** σ(low · ln score − high · ln(1 − score) + intercept), low and high >= 0 (Kull et al., 2017, eq. 4). */
export interface BetaMap {
  readonly kind: 'beta';
  /** Bends the map at scores near 0. */
  readonly low: number;
  /** Bends the map at scores near 1. */
  readonly high: number;
  readonly intercept: number;
}

/** Linear between knots, constant outside; what `tilt` adds aside. */
export interface IsotonicMap {
  readonly kind: 'isotonic';
  /** Rising scores. */
  readonly scores: readonly number[];
  /** Never falling, as many. */
  readonly values: readonly number[];
  /**
   * Share of the raw score in the result, in [0, 1); absent is 0. A little of it keeps the order of scores that lie on
   * one level, and with it the average precision.
   */
  readonly tilt?: number | undefined;
}

/** Plain data: what a model's metadata stores. */
export type CalibrationMap = PlattMap | TemperatureMap | BetaMap | IsotonicMap;

export const CALIBRATION_KINDS = ['platt', 'temperature', 'beta', 'isotonic'] as const;

/** Scores are kept off 0 and 1 by the spacing of doubles at 1, so that their logarithms are finite. */
const EDGE = 2 ** -52;

/** @param score in [0, 1] */
export function calibrateScore(map: CalibrationMap, score: number): number {
  switch (map.kind) {
    case 'platt':
    case 'temperature':
    case 'beta':
      return sigmoid(logitOf(map, insideUnit(score)));
    case 'isotonic': {
      const { low, high, share } = placeAmong(map.scores, score);
      const level = map.values[low]! + (map.values[high]! - map.values[low]!) * share;
      return level + (map.tilt ?? 0) * (score - level);
    }
    default:
      return map satisfies never;
  }
}

/** d calibrated / d score; the variance of a score follows the map with its square. */
export function calibrationSlope(map: CalibrationMap, score: number): number {
  switch (map.kind) {
    case 'platt':
    case 'temperature':
    case 'beta': {
      const inside = insideUnit(score);
      const calibrated = sigmoid(logitOf(map, inside));
      return calibrated * (1 - calibrated) * logitSlope(map, inside);
    }
    case 'isotonic': {
      const { low, high } = placeAmong(map.scores, score);
      const tilt = map.tilt ?? 0;
      if (low === high) return tilt;
      const rise = (map.values[high]! - map.values[low]!) / (map.scores[high]! - map.scores[low]!);
      return (1 - tilt) * rise + tilt;
    }
    default:
      return map satisfies never;
  }
}

/** ln(score / (1 − score)), finite for every score in [0, 1]. */
export function logit(score: number): number {
  const inside = insideUnit(score);
  return Math.log(inside / (1 - inside));
}

export function sigmoid(value: number): number {
  return value >= 0 ? 1 / (1 + Math.exp(-value)) : Math.exp(value) / (1 + Math.exp(value));
}

export function insideUnit(score: number): number {
  return Math.min(1 - EDGE, Math.max(EDGE, score));
}

type LogisticMap = PlattMap | TemperatureMap | BetaMap;

function logitOf(map: LogisticMap, inside: number): number {
  switch (map.kind) {
    case 'platt':
      return map.slope * logit(inside) + map.intercept;
    case 'temperature':
      return logit(inside) / map.temperature;
    case 'beta':
      return map.low * Math.log(inside) - map.high * Math.log1p(-inside) + map.intercept;
    default:
      return map satisfies never;
  }
}

/** d logitOf / d score. */
function logitSlope(map: LogisticMap, inside: number): number {
  switch (map.kind) {
    case 'platt':
      return map.slope / (inside * (1 - inside));
    case 'temperature':
      return 1 / (map.temperature * inside * (1 - inside));
    case 'beta':
      return map.low / inside + map.high / (1 - inside);
    default:
      return map satisfies never;
  }
}

/** The knots around a score, and how far between them it lies. */
function placeAmong(scores: readonly number[], score: number) {
  let [low, high] = [0, scores.length - 1];
  if (score <= scores[low]!) return { low, high: low, share: 0 };
  if (score >= scores[high]!) return { low: high, high, share: 0 };
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (scores[middle]! <= score) low = middle;
    else high = middle;
  }
  return { low, high, share: (score - scores[low]!) / (scores[high]! - scores[low]!) };
}
