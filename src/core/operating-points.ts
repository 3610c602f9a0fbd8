// The threshold to run each class with: where F1 is highest, where a wanted precision or recall is met, or where LRP is
// least; and no threshold at all where too little was seen to say.
import { type ClassRows, type ClassRowsOptions, rowsPerClass } from './class-rows.ts';
import { lrpOf } from './lrp.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { OUTCOME } from './precision-recall.ts';

/**
 * What a threshold is chosen for. `precision`: the most hits among the cuts of at least this precision; `recall`: the
 * highest precision among those of at least this recall; `lrp`: oLRP (Oksuz et al., 2021). Equal ones: the higher.
 */
export type OperatingGoal =
  | { readonly kind: 'best-f1' }
  | { readonly kind: 'precision'; readonly target: number }
  | { readonly kind: 'recall'; readonly target: number }
  | { readonly kind: 'lrp' };

export interface OperatingPointsOptions extends Omit<ClassRowsOptions, 'iou'> {
  /** Default .5. */
  readonly iou?: number;
  /** Classes with fewer objects get no verdict. Default 20: at 20, the standard error of a recall is up to .11. */
  readonly minObjects?: number;
  /** A cut that keeps fewer boxes is no evidence of its precision. Default 10. */
  readonly minKept?: number;
}

/** What a threshold did on the data that it was chosen on: flattering, on other data it will do less well. */
export interface ChosenThreshold {
  /** Float32 value in [0, 1): keep iff score > threshold, as the `fixed` and `per-class` policies do. */
  readonly threshold: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly lrp: number;
  readonly kept: number;
  readonly hits: number;
}

export type WhyNoThreshold = 'too-few-objects' | 'out-of-reach';

export interface ClassOperatingPoint {
  /** Null for all classes pooled. */
  readonly classId: number | null;
  readonly objects: number;
  /** Undefined: no verdict, and `why` says for what reason. */
  readonly chosen?: ChosenThreshold;
  readonly why?: WhyNoThreshold;
}

export interface OperatingPoints {
  readonly goal: OperatingGoal;
  /** Every class. */
  readonly perClass: readonly ClassOperatingPoint[];
  /** All classes under one threshold, hits and objects added up: what classes without a verdict can run with. */
  readonly pooled: ClassOperatingPoint;
  readonly iou: number;
  readonly minObjects: number;
  readonly minKept: number;
}

/**
 * On COCO's matching; crowds and difficult objects are left out. The threshold lies midway between the least score that is
 * kept and the next one below it (just under the least score where there is none below).
 * @throws DataError as `rowsPerClass`
 */
export function operatingPoints(
  truth: TruthTable,
  detections: DetectionTable,
  goal: OperatingGoal,
  options: OperatingPointsOptions,
): OperatingPoints {
  const { classCount, iou = 0.5, maxDets = 100, minObjects = 20, minKept = 10 } = options;
  const rows = rowsPerClass(truth, detections, { classCount, iou, maxDets });
  const limits = { iou, minObjects, minKept };
  return {
    goal,
    perClass: rows.map((own) => ({ classId: own.classId, ...choose(own, goal, limits) })),
    pooled: { classId: null, ...choose(poolRows(rows), goal, limits) },
    ...limits,
  };
}

interface Limits {
  readonly iou: number;
  readonly minObjects: number;
  readonly minKept: number;
}

type Rows = Pick<ClassRows, 'scores' | 'ious' | 'outcomes' | 'positives'>;

function choose(rows: Rows, goal: OperatingGoal, limits: Limits): Omit<ClassOperatingPoint, 'classId'> {
  const objects = rows.positives;
  if (objects < limits.minObjects) return { objects, why: 'too-few-objects' };
  let best: ChosenThreshold | undefined;
  for (const cut of cutsOf(rows, limits.iou)) {
    if (cut.kept < limits.minKept || cut.hits === 0) continue;
    const worth = worthOf(cut, goal);
    if (worth > (best === undefined ? -Infinity : worthOf(best, goal))) best = cut;
  }
  return best === undefined ? { objects, why: 'out-of-reach' } : { objects, chosen: best };
}

/** The higher the better; -Infinity where the goal is missed. */
function worthOf(cut: ChosenThreshold, goal: OperatingGoal): number {
  switch (goal.kind) {
    case 'best-f1':
      return cut.f1;
    case 'precision':
      return cut.precision >= goal.target ? cut.hits : -Infinity;
    case 'recall':
      return cut.recall >= goal.target ? cut.precision : -Infinity;
    case 'lrp':
      return -cut.lrp;
    default:
      return goal satisfies never;
  }
}

/** Every threshold that parts two scores, from the highest down. */
function* cutsOf({ scores, ious, outcomes, positives }: Rows, iou: number): Generator<ChosenThreshold> {
  let [hits, distance] = [0, 0];
  for (let rank = 0; rank < scores.length; rank++) {
    if (outcomes[rank] === OUTCOME.hit) {
      hits++;
      distance += 1 - ious[rank]!;
    }
    const kept = rank + 1;
    const threshold = thresholdBelow(scores[rank]!, scores[kept]);
    if (threshold === undefined) continue;
    yield {
      threshold,
      precision: hits / kept,
      recall: hits / positives,
      f1: (2 * hits) / (kept + positives),
      lrp: lrpOf({ hits, kept, distance }, positives, iou),
      kept,
      hits,
    };
  }
}

/**
 * The float32 value, which is what a policy compares with, that keeps `least` and drops `next`; undefined where none can:
 * the two are equal as float32.
 */
function thresholdBelow(least: number, next: number | undefined): number | undefined {
  const candidates =
    next === undefined ? [floatBelow(least)] : [Math.fround((least + next) / 2), Math.fround(next)];
  return candidates.find(
    (threshold) => threshold >= Math.max(0, next ?? 0) && threshold < least && threshold < 1,
  );
}

/** The largest float32 below a positive number. */
function floatBelow(value: number): number {
  const rounded = Float32Array.of(value);
  if (rounded[0]! >= value) new Int32Array(rounded.buffer)[0]!--;
  return rounded[0]!;
}

function poolRows(perClass: readonly ClassRows[]): Rows {
  const all = perClass.flatMap(({ scores, ious, outcomes }) =>
    Array.from(scores, (score, rank) => ({ score, iou: ious[rank]!, outcome: outcomes[rank]! })),
  );
  all.sort((a, b) => b.score - a.score);
  return {
    scores: Float64Array.from(all, ({ score }) => score),
    ious: Float64Array.from(all, ({ iou }) => iou),
    outcomes: Uint8Array.from(all, ({ outcome }) => outcome),
    positives: perClass.reduce((sum, { positives }) => sum + positives, 0),
  };
}
