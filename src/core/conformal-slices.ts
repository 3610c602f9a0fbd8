// Conformal thresholds of a detector, apart for each slice (day, dusk, night) and each class: what is promised on the
// pooled pictures is promised for no slice.
import type {
  MissRateThreshold,
  ObjectRecallThreshold,
  PrecisionOptions,
  PrecisionThreshold,
} from './conformal.ts';
import { missRateThreshold, objectRecallThreshold, precisionThreshold } from './conformal.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow, TRUTH_KIND } from './match-groups.ts';
import { matchDetections } from './matching.ts';

export interface ConformalOptions {
  readonly classCount: number;
  /** Name of the slice of each picture. */
  readonly slices: readonly string[];
  /** Share of objects that may be lost, for the first two. Default .1. */
  readonly lost?: number;
  /** Of false alarms. Default: alpha .1, delta .1. */
  readonly precision?: PrecisionOptions;
  /** Least IoU of a match: part of the promise, as is the suppression before. Default .5. */
  readonly iou?: number;
  /** Per picture and class. Default 100. */
  readonly maxDets?: number;
}

/** All three kinds; each holds on its own, not all at once. */
export interface ConformalThresholds {
  /** `object-recall`. */
  readonly objectRecall: ObjectRecallThreshold;
  /** `miss-rate` of a picture. */
  readonly missRate: MissRateThreshold;
  readonly precision: PrecisionThreshold;
}

export interface ConformalSlice {
  readonly slice: string;
  readonly pictures: number;
  /** One threshold for all classes. */
  readonly pooled: ConformalThresholds;
  readonly perClass: readonly ConformalThresholds[];
  readonly convention: { readonly iou: number; readonly maxDets: number };
}

/** In the order in which the slices appear. Crowd regions and difficult objects, and detections on them, are left out. */
export function conformalThresholds(
  truth: TruthTable,
  detections: DetectionTable,
  options: ConformalOptions,
): ConformalSlice[] {
  const { classCount, slices, iou = 0.5, maxDets = 100 } = options;
  const matched = { ...matchedRows(truth, detections, { classCount, iou, maxDets }), truth, detections };
  return [...new Set(slices)].map((slice) => {
    const inSlice = (picture: number) => slices[picture] === slice;
    return {
      slice,
      pictures: slices.filter((name) => name === slice).length,
      pooled: thresholdsWhere(matched, inSlice, () => true, options),
      perClass: Array.from({ length: classCount }, (_, classId) =>
        thresholdsWhere(matched, inSlice, (other) => other === classId, options),
      ),
      convention: { iou, maxDets },
    };
  });
}

interface MatchedRows {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  /** Float64[G]: 0 where the object was missed. */
  readonly objectScores: Float64Array;
  /** Uint8[K]: 1 for a hit. */
  readonly hits: Uint8Array;
  /** Uint8[K]: 0 where it neither is right nor wrong. */
  readonly counts: Uint8Array;
  /** Int32[K]. */
  readonly pictures: Int32Array;
}

function matchedRows(
  truth: TruthTable,
  detections: DetectionTable,
  options: { readonly classCount: number; readonly iou: number; readonly maxDets: number },
): Omit<MatchedRows, 'truth' | 'detections'> {
  const { objects, leftOut } = matchDetections(truth, detections, options);
  const objectScores = new Float64Array(truth.classIds.length);
  const hits = new Uint8Array(objects.length);
  for (const [row, object] of objects.entries()) {
    if (object < 0) continue;
    objectScores[object] = detections.scores[row]!;
    hits[row] = 1;
  }
  const counts = leftOut.map((left) => 1 - left);
  return { objectScores, hits, counts, pictures: pictureOfRow(detections.starts) };
}

function thresholdsWhere(
  rows: MatchedRows,
  inSlice: (picture: number) => boolean,
  inClass: (classId: number) => boolean,
  { lost = 0.1, precision = { alpha: 0.1 } }: ConformalOptions,
): ConformalThresholds {
  const { truth, detections } = rows;
  const perPicture: number[][] = [];
  for (let picture = 0; picture + 1 < truth.starts.length; picture++) {
    if (!inSlice(picture)) continue;
    const scores: number[] = [];
    for (let object = truth.starts[picture]!; object < truth.starts[picture + 1]!; object++) {
      if (truth.kinds[object] !== TRUTH_KIND.object || !inClass(truth.classIds[object]!)) continue;
      scores.push(rows.objectScores[object]!);
    }
    perPicture.push(scores);
  }
  const kept = Int32Array.from(detections.classIds.keys()).filter(
    (row) => rows.counts[row] === 1 && inSlice(rows.pictures[row]!) && inClass(detections.classIds[row]!),
  );
  return {
    objectRecall: objectRecallThreshold(perPicture.flat(), lost),
    missRate: missRateThreshold(perPicture, { alpha: lost }),
    precision: precisionThreshold(
      Float64Array.from(kept, (row) => detections.scores[row]!),
      Uint8Array.from(kept, (row) => rows.hits[row]!),
      precision,
    ),
  };
}
