// Calibration of detectors: D-ECE (Küppers et al., 2020) asks whether a score is the probability of a hit; LaECE0 and
// LaACE0 (Kuzucu et al., 2024; LaECE: Oksuz et al., 2023) ask whether it is the IoU to expect, 0 for a false alarm.
import type { BinEdges, CalibrationError } from './calibration.ts';
import { adaptiveCalibrationError, brierScore, calibrationError, logLoss } from './calibration.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { type Matches, matchDetections } from './matching.ts';

/** Least IoU of "any overlap": at exactly 0 a box would match what it does not touch. */
export const ANY_OVERLAP = 1e-9;

export interface DetectionCalibrationOptions {
  readonly classCount: number;
  /** Least IoU of a match. */
  readonly iou?: number;
  readonly bins?: number;
  readonly edges?: BinEdges;
  /** Detections below are taken away before matching. */
  readonly minScore?: number;
  /** Per picture and class. Default 100. */
  readonly maxDets?: number;
}

/** How a figure was measured; stored beside it, because figures of different conventions do not compare. */
export interface CalibrationConvention {
  readonly iou: number;
  readonly bins: number;
  readonly edges: BinEdges;
  readonly minScore: number;
  readonly maxDets: number;
}

/** D-ECE over all classes that have objects. */
export interface DetectionEce {
  /** Absent where no detection is left to measure, as the four below. */
  readonly measured: CalibrationError | null;
  /** The same detections over bins of equal counts. */
  readonly adaptive: CalibrationError | null;
  /** The error within each class, and the plain mean of the classes. */
  readonly classWise: PerClassError;
  /** Mean (score − hit)². */
  readonly brier: number | null;
  /** Mean −ln of what the score gave to what happened, in nats. */
  readonly nll: number | null;
  /** Share of the objects that the measured detections found: few boxes are easily calibrated. */
  readonly recall: number | null;
  readonly convention: CalibrationConvention;
}

/** Errors per class (null without objects or detections) and their plain mean. */
export interface PerClassError {
  readonly perClass: readonly (number | null)[];
  readonly mean: number | null;
}

export interface LocalisationEce {
  /** LaECE at this IoU; LaECE0 at any overlap: Σ n_b / n · |confidence_b − Σ IoU of hits / n_b|, per class. */
  readonly laEce: PerClassError;
  /** Mean |confidence − IoU|, without bins: errors of opposite sign do not cancel. */
  readonly laAce: PerClassError;
  /** Mean of confidence − IoU over all counted detections: above 0 is over-confident. */
  readonly signed: number | null;
  readonly count: number;
  readonly recall: number | null;
  readonly convention: CalibrationConvention;
}

/** Defaults: IoU .5, 10 bins (lo, hi], scores of .3 or more. Detections on crowds and of classes without objects are left out. */
export function detectionEce(
  truth: TruthTable,
  detections: DetectionTable,
  options: DetectionCalibrationOptions,
): DetectionEce {
  const convention = conventionOf(options, { iou: 0.5, bins: 10, minScore: 0.3 });
  const { kept, matches } = matchAbove(truth, detections, options.classCount, convention);
  const rows = countedRows(kept, matches);
  const confidences = Float64Array.from(rows, (row) => kept.scores[row]!);
  const hits = Float64Array.from(rows, (row) => (matches.objects[row]! >= 0 ? 1 : 0));
  const classErrors = placesByClass(kept.classIds, rows, options.classCount).map((places) => {
    const own = (values: Float64Array) => Float64Array.from(places, (place) => values[place]!);
    return calibrationError(own(confidences), own(hits), convention)?.error;
  });
  return {
    measured: calibrationError(confidences, hits, convention) ?? null,
    adaptive: adaptiveCalibrationError(confidences, hits, convention) ?? null,
    classWise: withMean(classErrors),
    brier: rows.length === 0 ? null : brierScore(confidences, hits),
    nll: rows.length === 0 ? null : logLoss(confidences, hits),
    recall: recallOf(matches),
    convention,
  };
}

/** Defaults: any overlap (LaECE0, LaACE0), 25 bins (lo, hi], scores of .01 or more. */
export function localisationEce(
  truth: TruthTable,
  detections: DetectionTable,
  options: DetectionCalibrationOptions,
): LocalisationEce {
  const convention = conventionOf(options, { iou: ANY_OVERLAP, bins: 25, minScore: 0.01 });
  const { kept, matches } = matchAbove(truth, detections, options.classCount, convention);
  const rows = countedRows(kept, matches);
  const perClass = placesByClass(kept.classIds, rows, options.classCount).map((places) => ({
    confidences: Float64Array.from(places, (place) => kept.scores[rows[place]!]!),
    ious: Float64Array.from(places, (place) => matches.ious[rows[place]!]!),
  }));
  const gap = rows.reduce((sum, row) => sum + kept.scores[row]! - matches.ious[row]!, 0);
  return {
    laEce: withMean(perClass.map((one) => calibrationError(one.confidences, one.ious, convention)?.error)),
    laAce: withMean(perClass.map((one) => meanDistance(one.confidences, one.ious))),
    signed: rows.length === 0 ? null : gap / rows.length,
    count: rows.length,
    recall: recallOf(matches),
    convention,
  };
}

/** The detections with at least this score, in their order. */
export function aboveScore(detections: DetectionTable, minScore: number): DetectionTable {
  const rows = rowsWhere(detections.scores.length, (row) => detections.scores[row]! >= minScore);
  if (rows.length === detections.scores.length) return detections;
  const starts = new Int32Array(detections.starts.length);
  for (let picture = 1, next = 0; picture < starts.length; picture++) {
    while (next < rows.length && rows[next]! < detections.starts[picture]!) next++;
    starts[picture] = next;
  }
  const boxes = new Float64Array(4 * rows.length);
  for (const [place, row] of rows.entries()) {
    boxes.set(detections.boxes.subarray(4 * row, 4 * row + 4), 4 * place);
  }
  const { scoreVariances } = detections;
  return {
    starts,
    boxes,
    classIds: Int32Array.from(rows, (row) => detections.classIds[row]!),
    scores: Float64Array.from(rows, (row) => detections.scores[row]!),
    ...(scoreVariances && { scoreVariances: Float64Array.from(rows, (row) => scoreVariances[row]!) }),
  };
}

/** Rows that count: not on a crowd, not beyond the limit, of a class that has objects. */
export function countedRows({ classIds }: DetectionTable, { leftOut, positives }: Matches): Int32Array {
  return rowsWhere(classIds.length, (row) => leftOut[row] === 0 && positives[classIds[row]!]! > 0);
}

/** Places in `rows` per class, in their order: all classes in one pass. */
export function placesByClass(classIds: Int32Array, rows: Int32Array, classCount: number): Int32Array[] {
  const counts = new Int32Array(classCount);
  for (const row of rows) counts[classIds[row]!]!++;
  const places = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  for (let place = 0; place < rows.length; place++) {
    const classId = classIds[rows[place]!]!;
    places[classId]![counts[classId]!++] = place;
  }
  return places;
}

function matchAbove(
  truth: TruthTable,
  detections: DetectionTable,
  classCount: number,
  { iou, minScore, maxDets }: CalibrationConvention,
): { readonly kept: DetectionTable; readonly matches: Matches } {
  const kept = aboveScore(detections, minScore);
  return { kept, matches: matchDetections(truth, kept, { classCount, iou, maxDets }) };
}

function conventionOf(
  { iou, bins, minScore, edges = 'right-closed', maxDets = 100 }: DetectionCalibrationOptions,
  defaults: { readonly iou: number; readonly bins: number; readonly minScore: number },
): CalibrationConvention {
  return {
    iou: iou ?? defaults.iou,
    bins: bins ?? defaults.bins,
    edges,
    minScore: minScore ?? defaults.minScore,
    maxDets,
  };
}

function recallOf({ objects, positives }: Matches): number | null {
  const total = positives.reduce((sum, count) => sum + count, 0);
  return total === 0 ? null : objects.reduce((sum, object) => sum + (object >= 0 ? 1 : 0), 0) / total;
}

function meanDistance(a: Float64Array, b: Float64Array): number | undefined {
  if (a.length === 0) return undefined;
  return a.reduce((sum, value, place) => sum + Math.abs(value - b[place]!), 0) / a.length;
}

/** Published code drops classes with an error of exactly 0 from the mean; here they count. */
function withMean(errors: readonly (number | undefined)[]): PerClassError {
  const known = errors.filter((error) => error !== undefined);
  return {
    perClass: errors.map((error) => error ?? null),
    mean: known.length === 0 ? null : known.reduce((sum, error) => sum + error, 0) / known.length,
  };
}

function rowsWhere(count: number, keep: (row: number) => boolean): Int32Array {
  const rows = new Int32Array(count);
  let kept = 0;
  for (let row = 0; row < count; row++) if (keep(row)) rows[kept++] = row;
  return rows.subarray(0, kept);
}
