// From hits and false alarms in order of score to precision, recall, their average and the best place to cut.

/** What a detection is at one IoU and in one range of areas. */
export const OUTCOME = { ignored: 0, hit: 1, falseAlarm: 2 } as const;

/** Recalls at which COCO samples precision. `i * 0.01` and not `i / 100`: the two differ in the last bit, and in AP. */
const RECALL_COUNT = 101;
const recallAt = (index: number) => index * 0.01;

/** numpy.spacing(1), which pycocotools adds to the denominator of precision. */
const SPACING = 2 ** -52;

/** Detections of one class, read in `order` (falling score). */
export interface OutcomesByScore {
  /** Uint8[K], values of `OUTCOME`. */
  readonly outcomes: Uint8Array;
  /** Int32[K], rows by falling score. */
  readonly order: Int32Array;
  /** Objects that count, 1 or more. */
  readonly positives: number;
}

/**
 * Precision at 101 recalls: the envelope from the right, 0 beyond the last recall (pycocotools' `accumulate`).
 * @param target float64[101], written
 * @returns the mean, COCO's AP at one IoU
 */
export function cocoPrecisionInto(
  target: Float64Array,
  { outcomes, order, positives }: OutcomesByScore,
): number {
  const precision = new Float64Array(order.length);
  const recall = new Float64Array(order.length);
  let [hits, counted] = [0, 0];
  for (let rank = 0; rank < order.length; rank++) {
    const outcome = outcomes[order[rank]!];
    if (outcome === OUTCOME.ignored) continue;
    if (outcome === OUTCOME.hit) hits++;
    recall[counted] = hits / positives;
    precision[counted++] = hits / (counted + SPACING);
  }
  for (let rank = counted - 1; rank > 0; rank--) {
    if (precision[rank]! > precision[rank - 1]!) precision[rank - 1] = precision[rank]!;
  }
  let rank = 0;
  let sum = 0;
  for (let index = 0; index < RECALL_COUNT; index++) {
    while (rank < counted && recall[rank]! < recallAt(index)) rank++;
    target[index] = rank < counted ? precision[rank]! : 0;
    sum += target[index]!;
  }
  return sum / RECALL_COUNT;
}

/**
 * AP as YOLOv5 to YOLO11 print it (Ultralytics' `ap_per_class`): 101 points of a *linearly* interpolated envelope that
 * falls to precision 0 at recall 1, trapezoid between them. It is higher than COCO's on the same detections; a perfect
 * detector gets .995. Only the average is theirs: hits are those of COCO's matching, where Ultralytics pairs boxes by
 * falling IoU.
 */
export function trapezoidAp({ outcomes, order, positives }: OutcomesByScore): number {
  const recall = new Float64Array(order.length + 2);
  const precision = new Float64Array(order.length + 2);
  precision[0] = 1;
  let [hits, counted] = [0, 0];
  for (let rank = 0; rank < order.length; rank++) {
    const outcome = outcomes[order[rank]!];
    if (outcome === OUTCOME.ignored) continue;
    counted++;
    if (outcome === OUTCOME.hit) hits++;
    recall[counted] = hits / (positives + 1e-16);
    precision[counted] = hits / counted;
  }
  const last = counted + 1;
  recall[last] = 1;
  precision[last] = 0;
  for (let rank = last - 1; rank >= 0; rank--) {
    if (precision[rank + 1]! > precision[rank]!) precision[rank] = precision[rank + 1]!;
  }
  let [area, before, interval] = [0, 0, 0];
  for (let index = 0; index < RECALL_COUNT; index++) {
    const at = index / 100;
    while (interval + 1 < last && recall[interval + 1]! <= at) interval++;
    const [left, right] = [recall[interval]!, recall[interval + 1]!];
    const [high, low] = [precision[interval]!, precision[interval + 1]!];
    const value = at >= right ? low : high + ((low - high) * (at - left)) / (right - left);
    if (index > 0) area += ((before + value) / 2) * (at - (index - 1) / 100);
    before = value;
  }
  return area;
}

/** How a detector does with every box of this score or more. */
export interface OperatingPoint {
  readonly threshold: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/** The threshold with the highest F1, the higher one where equal; undefined where nothing was found. */
export function bestF1({ outcomes, order, positives }: OutcomesByScore, scores: Float64Array) {
  let best: OperatingPoint | undefined;
  let [hits, counted] = [0, 0];
  for (let rank = 0; rank < order.length; rank++) {
    const row = order[rank]!;
    if (outcomes[row] !== OUTCOME.ignored) counted++;
    if (outcomes[row] === OUTCOME.hit) hits++;
    // A threshold cannot part equal scores.
    if (rank + 1 < order.length && scores[order[rank + 1]!] === scores[row]) continue;
    const f1 = (2 * hits) / (counted + positives);
    if (hits === 0 || (best !== undefined && f1 <= best.f1)) continue;
    best = { threshold: scores[row]!, precision: hits / counted, recall: hits / positives, f1 };
  }
  return best;
}

/** Precision and recall over thresholds. */
export interface ThresholdCurves {
  /** Float64[T]: hits / kept with every box of this score or more; 1 where nothing is kept. */
  readonly precision: Float64Array;
  /** Float64[T]. */
  readonly recall: Float64Array;
  readonly f1: Float64Array;
}

/** @param thresholds rising */
export function thresholdCurves(
  { outcomes, order, positives }: OutcomesByScore,
  scores: Float64Array,
  thresholds: Float64Array,
): ThresholdCurves {
  const count = thresholds.length;
  const [precision, recall, f1] = [1, 2, 3].map(() => new Float64Array(count)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  let [hits, counted, rank] = [0, 0, 0];
  for (let index = count - 1; index >= 0; index--) {
    for (; rank < order.length && scores[order[rank]!]! >= thresholds[index]!; rank++) {
      const outcome = outcomes[order[rank]!];
      if (outcome === OUTCOME.ignored) continue;
      counted++;
      if (outcome === OUTCOME.hit) hits++;
    }
    precision[index] = counted === 0 ? 1 : hits / counted;
    recall[index] = hits / positives;
    f1[index] = (2 * hits) / (counted + positives);
  }
  return { precision, recall, f1 };
}

/** Mean of the values that there are; null without any (COCO prints -1). */
export function meanOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
