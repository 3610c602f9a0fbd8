// The detections of each class at one IoU by falling score, with the overlap of each hit: what curves, LRP and operating
// points are read from.
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { byFallingScore } from './match-groups.ts';
import { matchDetections } from './matching.ts';
import { OUTCOME, type OutcomesByScore } from './precision-recall.ts';

/** How detections are held against objects. */
export interface ClassRowsOptions {
  readonly classCount: number;
  /** Least IoU of a hit. */
  readonly iou: number;
  /** Most detections per picture and class that count. Default 100, as COCO has it. */
  readonly maxDets?: number;
}

/** Detections of one class that count; those on crowds and on difficult objects are left out. */
export interface ClassRows extends OutcomesByScore {
  readonly classId: number;
  /** Float64[K], falling; equal scores in the order of the table. */
  readonly scores: Float64Array;
  /** Float64[K], IoU with the object that was found; 0 for a false alarm. */
  readonly ious: Float64Array;
}

/**
 * Matched as COCO does (`matchDetections`), for every class.
 * @throws DataError where the tables do not belong together, a score is not finite or a class is out of range
 */
export function rowsPerClass(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, iou, maxDets = 100 }: ClassRowsOptions,
): ClassRows[] {
  const { objects, ious, leftOut, positives } = matchDetections(truth, detections, {
    classCount,
    iou,
    maxDets,
  });
  const counts = new Int32Array(classCount);
  const { classIds, scores } = detections;
  for (let row = 0; row < classIds.length; row++) if (leftOut[row] === 0) counts[classIds[row]!]!++;
  const rows = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  for (let row = 0; row < classIds.length; row++) {
    const classId = classIds[row]!;
    if (leftOut[row] === 0) rows[classId]![counts[classId]!++] = row;
  }
  return rows.map((own, classId) => {
    byFallingScore(own, scores);
    return {
      classId,
      scores: Float64Array.from(own, (row) => scores[row]!),
      ious: Float64Array.from(own, (row) => ious[row]!),
      outcomes: Uint8Array.from(own, (row) => (objects[row]! >= 0 ? OUTCOME.hit : OUTCOME.falseAlarm)),
      order: Int32Array.from(own.keys()),
      positives: positives[classId]!,
    };
  });
}
