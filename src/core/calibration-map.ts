// Monotone maps from a raw score to one that means what it says: Platt (1999) with bias, isotonic regression by pooling
// adjacent violators (Ayer et al., 1955).

/** σ(slope · logit(score) + intercept), slope >= 0. */
export interface PlattMap {
  readonly kind: 'platt';
  readonly slope: number;
  readonly intercept: number;
}

/** Linear between knots, constant outside. */
export interface IsotonicMap {
  readonly kind: 'isotonic';
  /** Rising scores. */
  readonly scores: readonly number[];
  /** Never falling, as many. */
  readonly values: readonly number[];
}

/** Plain data: what a model's metadata stores. */
export type CalibrationMap = PlattMap | IsotonicMap;

/** Scores are kept off 0 and 1 by the spacing of doubles at 1, so that their logit is finite. */
const EDGE = 2 ** -52;

const MOST_STEPS = 100;
const LEAST_STEP = 1e-14;

/** Beyond these a map is a step function: targets that a threshold parts perfectly have no finite optimum. */
const STEEPEST = 100;

export function calibrateScore(map: CalibrationMap, score: number): number {
  switch (map.kind) {
    case 'platt':
      return sigmoid(map.slope * logit(score) + map.intercept);
    case 'isotonic': {
      const { low, high, share } = placeAmong(map.scores, score);
      return map.values[low]! + (map.values[high]! - map.values[low]!) * share;
    }
    default:
      return map satisfies never;
  }
}

/** d calibrated / d score; the variance of a score follows the map with its square. */
export function calibrationSlope(map: CalibrationMap, score: number): number {
  switch (map.kind) {
    case 'platt': {
      const inside = Math.min(1 - EDGE, Math.max(EDGE, score));
      const calibrated = calibrateScore(map, score);
      return (map.slope * calibrated * (1 - calibrated)) / (inside * (1 - inside));
    }
    case 'isotonic': {
      const { low, high } = placeAmong(map.scores, score);
      if (low === high) return 0;
      return (map.values[high]! - map.values[low]!) / (map.scores[high]! - map.scores[low]!);
    }
    default:
      return map satisfies never;
  }
}

/**
 * Least mean cross-entropy of σ(slope · logit + intercept) against targets in [0, 1], by Newton's method with halved
 * steps. A slope below 0 would turn the ranking around: it is held at 0.
 * @returns undefined where all targets are 0 or all are 1: no finite map fits them
 */
export function fitPlatt(scores: ArrayLike<number>, targets: ArrayLike<number>): PlattMap | undefined {
  const count = scores.length;
  let mean = 0;
  for (let row = 0; row < count; row++) mean += targets[row]! / count;
  if (count === 0 || mean <= 0 || mean >= 1) return undefined;
  const logits = Float64Array.from({ length: count }, (_, row) => logit(scores[row]!));
  let [slope, intercept] = [1, 0];
  let loss = crossEntropy(logits, targets, slope, intercept);
  for (let step = 0; step < MOST_STEPS; step++) {
    const [slopeStep, interceptStep] = newtonStep(logits, targets, slope, intercept);
    let share = 1;
    let next = crossEntropy(logits, targets, slope - slopeStep, intercept - interceptStep);
    while (!(next <= loss + 1e-12 * Math.abs(loss)) && share > 1e-6) {
      share /= 2;
      next = crossEntropy(logits, targets, slope - share * slopeStep, intercept - share * interceptStep);
    }
    if (!(next <= loss + 1e-12 * Math.abs(loss))) break;
    slope -= share * slopeStep;
    intercept -= share * interceptStep;
    loss = next;
    if (Math.abs(slopeStep) + Math.abs(interceptStep) < LEAST_STEP || Math.abs(slope) > STEEPEST) break;
  }
  if (slope < 0) return { kind: 'platt', slope: 0, intercept: logit(mean) };
  return { kind: 'platt', slope, intercept };
}

/** Least squares among the maps that never fall. Equal scores are averaged first. */
export function fitIsotonic(scores: ArrayLike<number>, targets: ArrayLike<number>): IsotonicMap | undefined {
  if (scores.length === 0) return undefined;
  const order = Int32Array.from({ length: scores.length }, (_, row) => row);
  order.sort((a, b) => scores[a]! - scores[b]! || a - b);
  const blocks: { first: number; last: number; sum: number; weight: number }[] = [];
  for (const row of order) {
    const score = scores[row]!;
    const before = blocks.at(-1);
    if (before !== undefined && before.last === score) {
      before.sum += targets[row]!;
      before.weight++;
    } else {
      // The scores before are complete only now: pool what falls.
      pool(blocks);
      blocks.push({ first: score, last: score, sum: targets[row]!, weight: 1 });
    }
  }
  pool(blocks);
  // Two knots a block say the same as one for every score in it.
  const scoresOf = blocks.flatMap(({ first, last }) => (first === last ? [first] : [first, last]));
  const values = blocks.flatMap(({ first, last, sum, weight }) =>
    new Array<number>(first === last ? 1 : 2).fill(sum / weight),
  );
  return { kind: 'isotonic', scores: scoresOf, values };
}

function pool(blocks: { first: number; last: number; sum: number; weight: number }[]): void {
  while (blocks.length > 1) {
    const [before, last] = [blocks.at(-2)!, blocks.at(-1)!];
    if (before.sum / before.weight < last.sum / last.weight) return;
    before.last = last.last;
    before.sum += last.sum;
    before.weight += last.weight;
    blocks.pop();
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

function newtonStep(
  logits: Float64Array,
  targets: ArrayLike<number>,
  slope: number,
  intercept: number,
): [slope: number, intercept: number] {
  let [da, db, daa, dab, dbb] = [0, 0, 0, 0, 0];
  for (let row = 0; row < logits.length; row++) {
    const z = logits[row]!;
    const p = sigmoid(slope * z + intercept);
    const weight = p * (1 - p);
    da += (p - targets[row]!) * z;
    db += p - targets[row]!;
    daa += weight * z * z;
    dab += weight * z;
    dbb += weight;
  }
  const determinant = daa * dbb - dab * dab;
  // All scores equal: only the intercept can be told.
  if (!(determinant > 1e-12 * daa * dbb)) return [0, dbb > 0 ? db / dbb : 0];
  return [(dbb * da - dab * db) / determinant, (daa * db - dab * da) / determinant];
}

function crossEntropy(
  logits: Float64Array,
  targets: ArrayLike<number>,
  slope: number,
  intercept: number,
): number {
  let sum = 0;
  for (let row = 0; row < logits.length; row++) {
    const z = slope * logits[row]! + intercept;
    // log(1 + e^z) − y z, without overflow.
    sum += Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))) - targets[row]! * z;
  }
  return sum / logits.length;
}

function sigmoid(value: number): number {
  return value >= 0 ? 1 / (1 + Math.exp(-value)) : Math.exp(value) / (1 + Math.exp(value));
}

function logit(score: number): number {
  const inside = Math.min(1 - EDGE, Math.max(EDGE, score));
  return Math.log(inside / (1 - inside));
}
