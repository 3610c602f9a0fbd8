// Calibration of drawn pictures: matched once, then D-ECE, LaECE0 and the signed error of any part or resample.
import { type CalibrationError, calibrationError } from './calibration.ts';
import { ANY_OVERLAP, aboveScore, countedRows } from './calibration-detection.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow } from './match-groups.ts';
import { matchDetections } from './matching.ts';

export interface DrawnCalibrationOptions {
  readonly classCount: number;
  readonly maxDets?: number;
  /** Least score in D-ECE. Default .3. */
  readonly correctScore?: number;
  /** Least score in LaECE0 and the signed errors. Default .01. */
  readonly qualityScore?: number;
}

/** Matched detections with what came true. */
export interface Confidences {
  readonly confidences: Float64Array;
  readonly targets: Float64Array;
  /** Int32, whose rows are drawn together. */
  readonly pictures: Int32Array;
}

export interface DrawnCalibration {
  /** IoU .5, 10 bins, all classes together; undefined without detections. */
  dEce(counts: Int32Array): number | undefined;
  /** Any overlap, 25 bins, mean over classes. */
  laEce0(counts: Int32Array): number | undefined;
  /** Rows of the signed errors: confidence − hit from `correctScore` on, confidence − IoU from `qualityScore` on. */
  readonly correct: Confidences;
  readonly quality: Confidences;
}

/** Conventions and defaults of `detectionEce` and `localisationEce`. */
export function drawnCalibration(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, maxDets = 100, correctScore = 0.3, qualityScore = 0.01 }: DrawnCalibrationOptions,
): DrawnCalibration {
  const read = (minScore: number, iou: number) => {
    const kept = aboveScore(detections, minScore);
    const matches = matchDetections(truth, kept, { classCount, iou, maxDets });
    return { kept, matches, rows: countedRows(kept, matches), pictures: pictureOfRow(kept.starts) };
  };
  const hits = read(correctScore, 0.5);
  const correct = confidencesOf(hits, hits.rows, (row) => Number(hits.matches.objects[row]! >= 0));
  const ious = read(qualityScore, ANY_OVERLAP);
  const quality = confidencesOf(ious, ious.rows, (row) => ious.matches.ious[row]!);
  const perClass = Array.from({ length: classCount }, (_, classId) =>
    confidencesOf(
      ious,
      ious.rows.filter((row) => ious.kept.classIds[row] === classId),
      (row) => ious.matches.ious[row]!,
    ),
  );
  return {
    dEce: (counts) => drawnError(correct, counts, 10)?.error,
    laEce0(counts) {
      const known = perClass.flatMap((one) => drawnError(one, counts, 25)?.error ?? []);
      return known.length === 0 ? undefined : known.reduce((sum, error) => sum + error, 0) / known.length;
    },
    correct,
    quality,
  };
}

function confidencesOf(
  { kept, pictures }: { readonly kept: DetectionTable; readonly pictures: Int32Array },
  rows: Int32Array,
  target: (row: number) => number,
): Confidences {
  return {
    confidences: Float64Array.from(rows, (row) => kept.scores[row]!),
    targets: Float64Array.from(rows, target),
    pictures: Int32Array.from(rows, (row) => pictures[row]!),
  };
}

function drawnError(
  { confidences, targets, pictures }: Confidences,
  counts: Int32Array,
  bins: number,
): CalibrationError | undefined {
  let length = 0;
  for (const picture of pictures) length += counts[picture]!;
  const [drawn, came] = [new Float64Array(length), new Float64Array(length)];
  let next = 0;
  for (let row = 0; row < pictures.length; row++) {
    for (let copy = counts[pictures[row]!]!; copy > 0; copy--) {
      drawn[next] = confidences[row]!;
      came[next++] = targets[row]!;
    }
  }
  return calibrationError(drawn, came, { bins });
}
