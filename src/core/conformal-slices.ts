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
import { TRUTH_KIND } from './match-groups.ts';
import type { Matches } from './matching.ts';
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
  const { slices, iou = 0.5, maxDets = 100 } = options;
  return [...conformalSamples(truth, detections, options)].map(([slice, { pooled, perClass }]) => ({
    slice,
    pictures: slices.filter((name) => name === slice).length,
    pooled: sampleThresholds(pooled, options),
    perClass: perClass.map((sample) => sampleThresholds(sample, options)),
    convention: { iou, maxDets },
  }));
}

/** What thresholds are found from, by slice: for slices that are put together or held out. */
export function conformalSamples(
  truth: TruthTable,
  detections: DetectionTable,
  options: ConformalOptions,
): ReadonlyMap<string, ConformalSamples> {
  const { classCount, iou = 0.5, maxDets = 100 } = options;
  const matches = matchDetections(truth, detections, { classCount, iou, maxDets });
  return samplesBySlice({ truth, detections, matches }, options);
}

/** What thresholds are found from. */
export interface ConformalSample {
  /** Best matching score of every object, 0 where it was missed, per picture that has any. */
  readonly pictures: number[][];
  readonly scores: number[];
  /** 1 or 0 per score. */
  readonly hits: number[];
}

export interface ConformalSamples {
  readonly pooled: ConformalSample;
  readonly perClass: readonly ConformalSample[];
}

function samplesBySlice(
  {
    truth,
    detections,
    matches,
  }: { readonly truth: TruthTable; readonly detections: DetectionTable; readonly matches: Matches },
  { classCount, slices }: ConformalOptions,
): ReadonlyMap<string, ConformalSamples> {
  const objectScores = new Float64Array(truth.classIds.length);
  for (const [row, object] of matches.objects.entries()) {
    if (object >= 0) objectScores[object] = detections.scores[row]!;
  }
  const empty = (): ConformalSample => ({ pictures: [], scores: [], hits: [] });
  const samples = new Map<string, ConformalSamples>();
  for (const [picture, slice] of slices.entries()) {
    const own = samples.get(slice) ?? {
      pooled: empty(),
      perClass: Array.from({ length: classCount }, empty),
    };
    samples.set(slice, own);
    addObjects(own, truth, objectScores, picture);
    for (let row = detections.starts[picture]!; row < detections.starts[picture + 1]!; row++) {
      if (matches.leftOut[row] === 1) continue;
      for (const sample of [own.pooled, own.perClass[detections.classIds[row]!]!]) {
        sample.scores.push(detections.scores[row]!);
        sample.hits.push(matches.objects[row]! >= 0 ? 1 : 0);
      }
    }
  }
  return samples;
}

function addObjects(
  { pooled, perClass }: ConformalSamples,
  truth: TruthTable,
  objectScores: Float64Array,
  picture: number,
): void {
  const all: number[] = [];
  const byClass = new Map<number, number[]>();
  for (let object = truth.starts[picture]!; object < truth.starts[picture + 1]!; object++) {
    if (truth.kinds[object] !== TRUTH_KIND.object) continue;
    const classId = truth.classIds[object]!;
    const own = byClass.get(classId) ?? [];
    byClass.set(classId, own);
    own.push(objectScores[object]!);
    all.push(objectScores[object]!);
  }
  if (all.length > 0) pooled.pictures.push(all);
  for (const [classId, scores] of byClass) perClass[classId]!.pictures.push(scores);
}

/** All three kinds from one sample. */
export function sampleThresholds(
  { pictures, scores, hits }: ConformalSample,
  { lost = 0.1, precision = { alpha: 0.1 } }: Pick<ConformalOptions, 'lost' | 'precision'>,
): ConformalThresholds {
  return {
    objectRecall: objectRecallThreshold(pictures.flat(), lost),
    missRate: missRateThreshold(pictures, { alpha: lost }),
    precision: precisionThreshold(scores, hits, precision),
  };
}
