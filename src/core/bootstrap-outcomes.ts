// Hits and false alarms kept with their picture, so that any part of the pictures, or a resample of them, can be judged
// without matching again: AP, best F1 and counts at a threshold as functions of how often each picture counts.
import { ALL, AREAS, collectClass, IOUS } from './class-outcomes.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { byFallingScore, groupForMatching } from './match-groups.ts';
import { createGroupMatcher } from './matching.ts';
import {
  bestF1,
  cocoPrecisionInto,
  type OperatingPoint,
  OUTCOME,
  type OutcomesByScore,
} from './precision-recall.ts';

/** Detections of a class (or several) over all pictures, by falling score. */
export interface PictureOutcomes {
  /** Float64[K], falling. */
  readonly scores: Float64Array;
  /** Int32[K]. */
  readonly pictures: Int32Array;
  /** Uint8[IoU, K], values of `OUTCOME`. */
  readonly outcomes: Uint8Array;
  /** Int32[pictures], objects that count. */
  readonly positives: Int32Array;
}

/** @returns one per class; throws as `evaluateDetections` */
export function outcomesPerClass(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, maxDets = 100 }: { readonly classCount: number; readonly maxDets?: number },
): PictureOutcomes[] {
  const grouping = groupForMatching(truth, detections, { classCount, maxDets });
  const matcher = createGroupMatcher(truth, detections);
  const pictureCount = truth.starts.length - 1;
  return Array.from({ length: classCount }, (_, classId) => {
    const groups = grouping.groups(classId);
    const { scores, outcomes } = collectClass(matcher, groups, detections);
    const pictures = new Int32Array(scores.length);
    const positives = new Int32Array(pictureCount);
    let first = 0;
    for (const group of groups) {
      matcher.load(group);
      positives[group.picture] = matcher.limitArea(AREAS[ALL]![0], AREAS[ALL]![1]);
      pictures.fill(group.picture, first, first + group.detections.length);
      first += group.detections.length;
    }
    return sortedOutcomes({
      scores,
      pictures,
      outcomes: outcomes.subarray(0, IOUS.length * scores.length),
      positives,
    });
  });
}

/** Several classes under one threshold: their hits and objects are added up. */
export function pooledOutcomes(parts: readonly PictureOutcomes[]): PictureOutcomes {
  const count = parts.reduce((sum, { scores }) => sum + scores.length, 0);
  const [scores, pictures] = [new Float64Array(count), new Int32Array(count)];
  const outcomes = new Uint8Array(IOUS.length * count);
  const positives = new Int32Array(parts[0]?.positives.length ?? 0);
  let first = 0;
  for (const part of parts) {
    const own = part.scores.length;
    scores.set(part.scores, first);
    pictures.set(part.pictures, first);
    for (let iou = 0; iou < IOUS.length; iou++) {
      outcomes.set(part.outcomes.subarray(iou * own, (iou + 1) * own), iou * count + first);
    }
    for (let picture = 0; picture < positives.length; picture++)
      positives[picture]! += part.positives[picture]!;
    first += own;
  }
  return sortedOutcomes({ scores, pictures, outcomes, positives });
}

/** The same outcomes under other scores (Float64[K], in the order of `outcomes.scores`): another ranking of the boxes. */
export function rescored(outcomes: PictureOutcomes, scores: Float64Array): PictureOutcomes {
  return sortedOutcomes({ ...outcomes, scores });
}

function sortedOutcomes({ scores, pictures, outcomes, positives }: PictureOutcomes): PictureOutcomes {
  const count = scores.length;
  const order = byFallingScore(Int32Array.from(scores.keys()), scores);
  const sorted = new Uint8Array(outcomes.length);
  for (let iou = 0; iou < IOUS.length; iou++) {
    for (let place = 0; place < count; place++)
      sorted[iou * count + place] = outcomes[iou * count + order[place]!]!;
  }
  return {
    scores: Float64Array.from(order, (row) => scores[row]!),
    pictures: Int32Array.from(order, (row) => pictures[row]!),
    outcomes: sorted,
    positives,
  };
}

/** The rows of drawn pictures, each as often as its picture, as the functions on precision and recall take them. */
function drawnRows({ pictures, outcomes, positives }: PictureOutcomes, counts: Int32Array, iou: number) {
  let length = 0;
  for (let row = 0; row < pictures.length; row++) length += counts[pictures[row]!]!;
  const order = new Int32Array(length);
  let rank = 0;
  for (let row = 0; row < pictures.length; row++) {
    for (let copy = counts[pictures[row]!]!; copy > 0; copy--) order[rank++] = row;
  }
  const count = pictures.length;
  const byScore: OutcomesByScore = {
    outcomes: outcomes.subarray(iou * count, (iou + 1) * count),
    order,
    positives: weightedSum(positives, counts),
  };
  return byScore;
}

/**
 * COCO's AP of drawn pictures.
 * @param counts Int32[pictures], how often each counts
 * @returns at IoU .5, and the mean over .50 to .95; undefined without objects
 */
export function drawnAp(
  outcomes: PictureOutcomes,
  counts: Int32Array,
): { readonly ap50: number; readonly ap: number } | undefined {
  const byScore = drawnRows(outcomes, counts, 0);
  if (byScore.positives === 0) return undefined;
  const precision = new Float64Array(101);
  const count = outcomes.scores.length;
  const perIou = IOUS.map((_, iou) =>
    cocoPrecisionInto(precision, {
      ...byScore,
      outcomes: outcomes.outcomes.subarray(iou * count, (iou + 1) * count),
    }),
  );
  return { ap50: perIou[0]!, ap: perIou.reduce((sum, value) => sum + value, 0) / perIou.length };
}

/** The threshold with the highest F1 at IoU .5 on drawn pictures; undefined where nothing was found. */
export function drawnBestF1(outcomes: PictureOutcomes, counts: Int32Array): OperatingPoint | undefined {
  const byScore = drawnRows(outcomes, counts, 0);
  return byScore.positives === 0 ? undefined : bestF1(byScore, outcomes.scores);
}

/**
 * The point with the most hits at IoU .5 among those with at least this precision, the highest threshold where equal;
 * undefined where no threshold reaches it.
 */
export function drawnAtPrecision(
  outcomes: PictureOutcomes,
  counts: Int32Array,
  precision: number,
): OperatingPoint | undefined {
  const positives = weightedSum(outcomes.positives, counts);
  if (positives === 0) return undefined;
  const { scores, pictures } = outcomes;
  let [hits, kept] = [0, 0];
  let best: { threshold: number; hits: number; kept: number } | undefined;
  for (let row = 0; row < scores.length; row++) {
    const copies = counts[pictures[row]!]!;
    const outcome = outcomes.outcomes[row];
    if (outcome !== OUTCOME.ignored) kept += copies;
    if (outcome === OUTCOME.hit) hits += copies;
    // A threshold cannot part equal scores, drawn or not.
    if (scores[row + 1] === scores[row]) continue;
    if (hits > (best?.hits ?? 0) && hits / kept >= precision) best = { threshold: scores[row]!, hits, kept };
  }
  if (best === undefined) return undefined;
  return {
    threshold: best.threshold,
    precision: best.hits / best.kept,
    recall: best.hits / positives,
    f1: (2 * best.hits) / (best.kept + positives),
  };
}

/** Counts per picture at a threshold. */
export interface Tally {
  /** Int32[pictures], objects found at IoU .5 by boxes of this score or more. */
  readonly hits: Int32Array;
  /** Int32[pictures], boxes of this score or more that count. */
  readonly kept: Int32Array;
  /** Int32[pictures]. */
  readonly positives: Int32Array;
}

/** @param threshold one for all pictures, or one per picture */
export function tallyAt(outcomes: PictureOutcomes, threshold: number | Float64Array): Tally {
  const { scores, pictures, positives } = outcomes;
  const hits = new Int32Array(positives.length);
  const kept = new Int32Array(positives.length);
  for (let row = 0; row < scores.length; row++) {
    const picture = pictures[row]!;
    const least = typeof threshold === 'number' ? threshold : threshold[picture]!;
    if (scores[row]! < least || outcomes.outcomes[row] === OUTCOME.ignored) continue;
    kept[picture]!++;
    if (outcomes.outcomes[row] === OUTCOME.hit) hits[picture]!++;
  }
  return { hits, kept, positives };
}

/** Precision, recall and F1 of drawn pictures; undefined parts where nothing is kept or there is no object. */
export function drawnRates({ hits, kept, positives }: Tally, counts: Int32Array) {
  const [found, boxes, objects] = [hits, kept, positives].map((each) => weightedSum(each, counts)) as [
    number,
    number,
    number,
  ];
  return {
    precision: boxes === 0 ? undefined : found / boxes,
    recall: objects === 0 ? undefined : found / objects,
    f1: boxes + objects === 0 ? undefined : (2 * found) / (boxes + objects),
  };
}

function weightedSum(values: ArrayLike<number>, counts: Int32Array): number {
  let sum = 0;
  for (let index = 0; index < counts.length; index++) sum += values[index]! * counts[index]!;
  return sum;
}
