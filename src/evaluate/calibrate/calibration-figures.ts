// The figures of scores that shall mean something, raw or calibrated: as they are reported, and on the very same boxes.
import {
  brierScore,
  type CalibrationBin,
  type CalibrationRows,
  calibrationError,
  createRandom,
  type DetectionEce,
  type DetectionTable,
  detectionEce,
  type LocalisationEce,
  localisationEce,
  logLoss,
  lrpErrors,
  type TruthTable,
} from '#core';
import { keepRows } from './detection-rows.ts';

export interface ScoreFigures {
  /** Scores of .3 or more on their own scale. */
  readonly dEce: DetectionEce;
  /** D-ECE that scores which are all right would show on so few boxes: mean of draws; null without detections. */
  readonly dEceByChance: number | null;
  /** LaECE0 and LaACE0: scores of .01 or more on their own scale. */
  readonly quality: LocalisationEce;
  /** Mean LaECE0 over the classes that got a map; null without. */
  readonly laEce0OfMapped: number | null;
  /** Mean LRP over the classes that have objects, of the scores that count for D-ECE; its recall is `dEce.recall`. */
  readonly lrp: number | null;
  /** Mean LRP at the best threshold of each class: no calibration changes what is best. */
  readonly optimalLrp: number | null;
}

/** Of the same boxes before and after, whatever their score became. */
export interface SameBoxFigures {
  readonly count: number;
  /** D-ECE over 10 bins, or LaECE0: mean over classes of 25 bins. */
  readonly error: number | null;
  /** Mean score − what came true. */
  readonly signed: number | null;
  readonly brier: number | null;
  readonly nll: number | null;
  /** 10 bins over all classes. */
  readonly bins: readonly CalibrationBin[];
}

const CHANCE_DRAWS = 100;

/** @param mapped ids of the classes that got a map */
export function scoreFigures(
  truth: TruthTable,
  detections: DetectionTable,
  {
    classCount,
    mapped,
    maxDets = 100,
  }: { readonly classCount: number; readonly mapped: readonly number[]; readonly maxDets?: number },
): ScoreFigures {
  const common = { classCount, maxDets };
  const dEce = detectionEce(truth, detections, common);
  const quality = localisationEce(truth, detections, common);
  const { minScore } = dEce.convention;
  const kept = keepRows(detections, ({ score }) => score >= minScore);
  const atThreshold = lrpErrors(truth, kept, common).perClass.flatMap(({ all }) => all ?? []);
  return {
    dEce,
    dEceByChance: errorByChance(kept.scores, dEce),
    quality,
    laEce0OfMapped: meanOf(mapped.flatMap((id) => quality.laEce.perClass[id] ?? [])),
    lrp: meanOf(atThreshold.map(({ lrp }) => lrp)),
    optimalLrp: lrpErrors(truth, detections, common).optimalLrp,
  };
}

/** @param scores [M] of the rows, on either scale */
export function sameBoxFigures(rows: CalibrationRows, scores: Float64Array): SameBoxFigures {
  const { target, targets, classIds, classCount } = rows;
  const pooled = calibrationError(scores, targets, { bins: 10 });
  if (pooled === undefined) return { count: 0, error: null, signed: null, brier: null, nll: null, bins: [] };
  const perClass = Array.from({ length: classCount }, (_, classId) => {
    const own = (_: number, row: number) => classIds[row] === classId;
    return calibrationError(scores.filter(own), targets.filter(own), { bins: 25 })?.error;
  });
  return {
    count: pooled.count,
    error: target === 'correct' ? pooled.error : meanOf(perClass.flatMap((error) => error ?? [])),
    signed: pooled.signed,
    brier: brierScore(scores, targets),
    nll: logLoss(scores, targets),
    bins: pooled.bins,
  };
}

/** Hits are drawn with the chance that each score states: what is left of the error is the small number of boxes. */
function errorByChance(scores: Float64Array, { measured, convention }: DetectionEce): number | null {
  if (measured === null || scores.length === 0) return null;
  const random = createRandom(0);
  let sum = 0;
  for (let draw = 0; draw < CHANCE_DRAWS; draw++) {
    const hits = scores.map((score) => Number(random.next() < score));
    sum += calibrationError(scores, hits, convention)?.error ?? 0;
  }
  return sum / CHANCE_DRAWS;
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
