// Localisation Recall Precision error (Oksuz et al., 2018, 2021): how wrong a detector is at one threshold, in parts that
// say why: boxes that fit badly, false alarms, objects that were missed.
import { type ClassRows, type ClassRowsOptions, rowsPerClass } from './class-rows.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { meanOfKnown, OUTCOME } from './precision-recall.ts';

/** LRP of the detections of one class with at least some score. Each in [0, 1], 0 is best. */
export interface LrpError {
  /** (Σ over hits (1 − IoU) / (1 − τ) + false alarms + misses) / (hits + false alarms + misses); Oksuz et al. 2021, eq. 5. */
  readonly lrp: number;
  /** Mean 1 − IoU of the hits; null without a hit. */
  readonly localisation: number | null;
  /** 1 − precision; null where nothing is kept. */
  readonly falseAlarms: number | null;
  /** 1 − recall. */
  readonly misses: number;
  readonly hitCount: number;
  readonly falseAlarmCount: number;
  readonly missCount: number;
}

export interface ClassLrp {
  readonly classId: number;
  /** Objects that count. */
  readonly objects: number;
  /** Of all counted detections, whatever their score; null without objects. */
  readonly all: LrpError | null;
  /**
   * At the threshold where LRP is least (oLRP): `threshold` is the least score that is kept, the higher where two are
   * equally good. Null without objects; 1 and without a threshold where nothing is found.
   */
  readonly optimal: (LrpError & { readonly threshold: number | null }) | null;
}

/** Plain means over the classes that have objects; null without any. */
export interface LrpSummary {
  /** Mean oLRP. */
  readonly optimalLrp: number | null;
  /** Means of the parts at each class's own optimum, over the classes where the part exists. */
  readonly localisation: number | null;
  readonly falseAlarms: number | null;
  readonly misses: number | null;
  readonly perClass: readonly ClassLrp[];
  /** τ. */
  readonly iou: number;
  readonly maxDets: number;
}

export interface LrpOptions extends Omit<ClassRowsOptions, 'iou'> {
  /** τ. Default .5. */
  readonly iou?: number;
  /** Classes over which means are taken. Default: all. */
  readonly meanOver?: readonly number[];
}

/**
 * Matching as in COCO: greedy by falling score, crowds and difficult objects left out.
 * @throws DataError as `rowsPerClass`
 */
export function lrpErrors(
  truth: TruthTable,
  detections: DetectionTable,
  { iou = 0.5, maxDets = 100, classCount, meanOver }: LrpOptions,
): LrpSummary {
  const rows = rowsPerClass(truth, detections, { classCount, iou, maxDets });
  const perClass = rows.map((own) => classLrp(own, iou));
  const averaged = perClass.filter(({ classId }) => meanOver?.includes(classId) ?? true);
  const best = averaged.flatMap(({ optimal }) => optimal ?? []);
  return {
    optimalLrp: meanOfKnown(best.map(({ lrp }) => lrp)),
    localisation: meanOfKnown(best.map((one) => one.localisation)),
    falseAlarms: meanOfKnown(best.map((one) => one.falseAlarms)),
    misses: meanOfKnown(best.map((one) => one.misses)),
    perClass,
    iou,
    maxDets,
  };
}

export function classLrp(rows: ClassRows, iou: number): ClassLrp {
  const { classId, scores, ious, outcomes, positives } = rows;
  if (positives === 0) return { classId, objects: 0, all: null, optimal: null };
  const tally = { hits: 0, kept: 0, distance: 0 };
  const nothing = errorOf(tally, positives, iou);
  let best: LrpError & { readonly threshold: number | null } = { ...nothing, threshold: null };
  for (let rank = 0; rank < scores.length; rank++) {
    tally.kept++;
    if (outcomes[rank] === OUTCOME.hit) {
      tally.hits++;
      tally.distance += 1 - ious[rank]!;
    }
    // A threshold cannot part equal scores.
    if (rank + 1 < scores.length && scores[rank + 1] === scores[rank]) continue;
    if (lrpOf(tally, positives, iou) < best.lrp) {
      best = { ...errorOf(tally, positives, iou), threshold: scores[rank]! };
    }
  }
  return { classId, objects: positives, all: errorOf(tally, positives, iou), optimal: best };
}

interface Tally {
  hits: number;
  kept: number;
  /** Σ 1 − IoU of the hits. */
  distance: number;
}

/** Σ hits + false alarms + misses = kept + positives − hits. Without hits every term is 1. */
export function lrpOf({ hits, kept, distance }: Readonly<Tally>, positives: number, iou: number): number {
  if (hits === 0) return 1;
  return (distance / (1 - iou) + kept - hits + positives - hits) / (kept + positives - hits);
}

function errorOf(tally: Readonly<Tally>, positives: number, iou: number): LrpError {
  const { hits, kept, distance } = tally;
  return {
    lrp: lrpOf(tally, positives, iou),
    localisation: hits === 0 ? null : distance / hits,
    falseAlarms: kept === 0 ? null : (kept - hits) / kept,
    misses: (positives - hits) / positives,
    hitCount: hits,
    falseAlarmCount: kept - hits,
    missCount: positives - hits,
  };
}
