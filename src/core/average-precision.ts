// Average precision and recall of COCO (Lin et al., 2014; the protocol of pycocotools' COCOeval for boxes), the habitual
// precision and recall at the best F1, and the AP that YOLOv5 to YOLO11 print, named as such.
import {
  ALL,
  AREAS,
  type ClassOutcomes,
  collectClass,
  IOU_75,
  IOUS,
  LARGE,
  MEDIUM,
  SMALL,
} from './class-outcomes.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { byFallingScore, groupForMatching } from './match-groups.ts';
import { createGroupMatcher } from './matching.ts';
import {
  bestF1,
  cocoPrecisionInto,
  meanOfKnown,
  type OperatingPoint,
  OUTCOME,
  type OutcomesByScore,
  thresholdCurves,
  trapezoidAp,
} from './precision-recall.ts';

const RECALLS = 101;

/** Thresholds of the curves: 0, .001, … 1. */
const CURVE_STEPS = 1000;

export interface AveragePrecisionOptions {
  readonly classCount: number;
  /** Most detections per picture and class that count. Default 100, as COCO has it. */
  readonly maxDets?: number;
  /** Classes of which the means are taken. Default: all. Those without an object are left out in any case. */
  readonly meanOver?: readonly number[];
}

/** One class. A number is null where there is nothing to measure: no object (COCO prints -1). */
export interface ClassAveragePrecision {
  readonly classId: number;
  readonly objects: number;
  readonly detections: number;
  /** Mean over IoU .50 to .95. */
  readonly ap: number | null;
  readonly ap50: number | null;
  readonly ap75: number | null;
  /** Share of the objects found at IoU .5 by the counted detections, whatever their score. */
  readonly recall50: number | null;
  /** At IoU .5; null where nothing was found. */
  readonly bestF1: OperatingPoint | null;
  /** The rule of YOLOv5 to YOLO11: linear interpolation, trapezoid. */
  readonly trapezoidAp: number | null;
  readonly trapezoidAp50: number | null;
}

/** Means over the classes that have objects, at IoU .5 and one threshold for all classes. */
export interface MeanCurves {
  /** 0, .001, … 1. */
  readonly thresholds: readonly number[];
  readonly precision: readonly number[];
  readonly recall: readonly number[];
  readonly f1: readonly number[];
  /** Precision at recalls 0, .01, … 1 (COCO's envelope). */
  readonly precisionAtRecall: readonly number[];
}

/** The twelve numbers of COCO in [0, 1], and what stands beside them in the habit of the field. */
export interface AveragePrecision {
  readonly ap: number | null;
  readonly ap50: number | null;
  readonly ap75: number | null;
  readonly apSmall: number | null;
  readonly apMedium: number | null;
  readonly apLarge: number | null;
  readonly ar1: number | null;
  readonly ar10: number | null;
  /** At `maxDets` detections, COCO's AR100. */
  readonly arMax: number | null;
  readonly arSmall: number | null;
  readonly arMedium: number | null;
  readonly arLarge: number | null;
  readonly trapezoidAp: number | null;
  readonly trapezoidAp50: number | null;
  /** Where the mean F1 is highest; its `precision` and `recall` are the habitual `metrics/precision(B)`, `metrics/recall(B)`. */
  readonly bestF1: OperatingPoint | null;
  readonly curves: MeanCurves | null;
  readonly perClass: readonly ClassAveragePrecision[];
  readonly maxDets: number;
  /** Detections beyond `maxDets` in their picture and class, which do not count. */
  readonly cut: number;
  /** Detections that share their score with another of their class: their order, and so AP, is that of the input. */
  readonly ties: number;
}

/**
 * Pictures count in the order of the tables: it decides among equal scores.
 * @throws DataError where the tables do not belong together, a score is not finite or a class is out of range
 */
export function evaluateDetections(
  truth: TruthTable,
  detections: DetectionTable,
  options: AveragePrecisionOptions,
): AveragePrecision {
  const { classCount, maxDets = 100, meanOver } = options;
  const grouping = groupForMatching(truth, detections, { classCount, maxDets });
  const matcher = createGroupMatcher(truth, detections);
  const measured = Array.from({ length: classCount }, (_, classId) =>
    measureClass(collectClass(matcher, grouping.groups(classId), detections), classId, maxDets),
  );
  const averaged = measured.filter(({ classId }) => meanOver === undefined || meanOver.includes(classId));
  const mean = (read: (one: ClassMeasures) => number | null) => meanOfKnown(averaged.map(read));
  const curves = meanCurves(averaged);
  return {
    ap: mean(({ ap }) => ap[ALL]!),
    ap50: mean(({ row }) => row.ap50),
    ap75: mean(({ row }) => row.ap75),
    apSmall: mean(({ ap }) => ap[SMALL]!),
    apMedium: mean(({ ap }) => ap[MEDIUM]!),
    apLarge: mean(({ ap }) => ap[LARGE]!),
    ar1: mean(({ recallOfFirst }) => recallOfFirst[0]!),
    ar10: mean(({ recallOfFirst }) => recallOfFirst[1]!),
    arMax: mean(({ ar }) => ar[ALL]!),
    arSmall: mean(({ ar }) => ar[SMALL]!),
    arMedium: mean(({ ar }) => ar[MEDIUM]!),
    arLarge: mean(({ ar }) => ar[LARGE]!),
    trapezoidAp: mean(({ row }) => row.trapezoidAp),
    trapezoidAp50: mean(({ row }) => row.trapezoidAp50),
    bestF1: curves && bestOfCurves(curves),
    curves,
    perClass: measured.map(({ row }) => row),
    maxDets,
    cut: grouping.cut,
    ties: measured.reduce((sum, { ties }) => sum + ties, 0),
  };
}

interface ClassMeasures {
  readonly classId: number;
  readonly row: ClassAveragePrecision;
  /** Per range of areas. */
  readonly ap: readonly (number | null)[];
  readonly ar: readonly (number | null)[];
  /** Mean recall of the first detection of each picture, and of the first ten. */
  readonly recallOfFirst: readonly (number | null)[];
  readonly ties: number;
  /** At IoU .5; absent without objects. */
  readonly at50?: {
    readonly byScore: OutcomesByScore;
    readonly scores: Float64Array;
    readonly precision: Float64Array;
  };
}

function measureClass(collected: ClassOutcomes, classId: number, maxDets: number): ClassMeasures {
  const { scores, ranks, outcomes, positives } = collected;
  const count = scores.length;
  const order = byFallingScore(Int32Array.from(scores.keys()), scores);
  const slice = (area: number, iou: number): OutcomesByScore => {
    const first = (area * IOUS.length + iou) * count;
    return { outcomes: outcomes.subarray(first, first + count), order, positives: positives[area]! };
  };
  const everyIou = (area: number, measure: (byScore: OutcomesByScore) => number) =>
    positives[area] === 0 ? [] : IOUS.map((_, iou) => measure(slice(area, iou)));
  const recallOf = (limit: number) => (byScore: OutcomesByScore) => recall(byScore, ranks, limit);
  const precision = new Float64Array(RECALLS);
  const perIou = everyIou(ALL, (byScore) => cocoPrecisionInto(precision, byScore));
  const trapezoids = everyIou(ALL, trapezoidAp);
  const byScore = slice(ALL, 0);
  const known = positives[ALL]! > 0;
  if (known) cocoPrecisionInto(precision, byScore);
  return {
    classId,
    row: {
      classId,
      objects: positives[ALL]!,
      detections: count,
      ap: meanOfKnown(perIou),
      ap50: perIou[0] ?? null,
      ap75: perIou[IOU_75] ?? null,
      recall50: known ? recall(byScore, ranks, maxDets) : null,
      bestF1: (known && bestF1(byScore, scores)) || null,
      trapezoidAp: meanOfKnown(trapezoids),
      trapezoidAp50: trapezoids[0] ?? null,
    },
    ap: [
      meanOfKnown(perIou),
      ...[SMALL, MEDIUM, LARGE].map((area) =>
        meanOfKnown(everyIou(area, (one) => cocoPrecisionInto(new Float64Array(RECALLS), one))),
      ),
    ],
    ar: AREAS.map((_, area) => meanOfKnown(everyIou(area, recallOf(maxDets)))),
    recallOfFirst: [1, 10].map((limit) => meanOfKnown(everyIou(ALL, recallOf(limit)))),
    ties: countTies(order, scores),
    ...(known ? { at50: { byScore, scores, precision } } : {}),
  };
}

function recall({ outcomes, positives }: OutcomesByScore, ranks: Int32Array, limit: number): number {
  let hits = 0;
  for (let row = 0; row < ranks.length; row++) {
    if (ranks[row]! < limit && outcomes[row] === OUTCOME.hit) hits++;
  }
  return hits / positives;
}

function meanCurves(measured: readonly ClassMeasures[]): MeanCurves | null {
  const known = measured.flatMap(({ at50 }) => at50 ?? []);
  if (known.length === 0) return null;
  const thresholds = Float64Array.from({ length: CURVE_STEPS + 1 }, (_, index) => index / CURVE_STEPS);
  const curves = known.map(({ byScore, scores }) => thresholdCurves(byScore, scores, thresholds));
  const mean = (all: readonly Float64Array[]) =>
    Array.from(all[0]!, (_, index) => all.reduce((sum, one) => sum + one[index]!, 0) / all.length);
  return {
    thresholds: [...thresholds],
    precision: mean(curves.map(({ precision }) => precision)),
    recall: mean(curves.map(({ recall: one }) => one)),
    f1: mean(curves.map(({ f1 }) => f1)),
    precisionAtRecall: mean(known.map(({ precision }) => precision)),
  };
}

function bestOfCurves({ thresholds, precision, recall: recalls, f1 }: MeanCurves): OperatingPoint | null {
  const best = f1.indexOf(Math.max(...f1));
  if (f1[best] === 0) return null;
  return {
    threshold: thresholds[best]!,
    precision: precision[best]!,
    recall: recalls[best]!,
    f1: f1[best]!,
  };
}

function countTies(order: Int32Array, scores: Float64Array): number {
  let ties = 0;
  for (let rank = 0; rank < order.length; rank++) {
    const score = scores[order[rank]!];
    const before = rank > 0 && scores[order[rank - 1]!] === score;
    if (before || (rank + 1 < order.length && scores[order[rank + 1]!] === score)) ties++;
  }
  return ties;
}
