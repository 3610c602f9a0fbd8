// Detections through a calibrator: scores by the map of their class, variances with them.
import type { Calibrator } from './calibration-fit.ts';
import type { CalibrationMap } from './calibration-map.ts';
import { calibrateScore, calibrationSlope } from './calibration-map.ts';
import type { Detection, ScoreDistribution, ScoreMixture } from './detection.ts';
import type { DetectionTable } from './match-groups.ts';
import type { MeanVariance } from './mixture.ts';
import { normalTail } from './normal.ts';

/**
 * Scores through the map of their class; variances follow with the square of its slope, within what a law on [0, 1]
 * allows. The order of the detections stays that of the table.
 */
export function calibrateDetections(detections: DetectionTable, { classes }: Calibrator): DetectionTable {
  const { classIds, scoreVariances } = detections;
  const mapOf = (row: number) => classes[classIds[row]!]?.map ?? undefined;
  const scores = detections.scores.map((score, row) => {
    const map = mapOf(row);
    return map === undefined ? score : calibrateScore(map, score);
  });
  const variances = scoreVariances?.map((variance, row) => {
    const map = mapOf(row);
    return map === undefined ? variance : slopedVariance(map, detections.scores[row]!, variance);
  });
  return { ...detections, scores, ...(variances && { scoreVariances: variances }) };
}

/**
 * One detection after suppression: `score` and `scoreVariance` are mapped, `rawScore` and the law stay as the model
 * gave them. The variance is exact where the detection carries the law of its score and suppression left the score
 * alone, else it follows with the square of the slope.
 */
export function calibrateDetection(detection: Detection, { classes }: Calibrator): Detection {
  const map = classes[detection.classId]?.map;
  if (map === null || map === undefined) return detection;
  const score = calibrateScore(map, detection.score);
  const { scoreVariance: variance, scoreVarianceEpistemic: epistemic } = detection;
  if (variance === undefined) return { ...detection, score };
  const law = detection.distribution ?? detection.mixture;
  const calibrated =
    law === undefined || detection.score !== detection.rawScore
      ? slopedVariance(map, detection.score, variance)
      : Math.min(score * (1 - score), calibrateLaw(map, law).variance);
  // Both parts stretch alike: what passes disagree on keeps its share.
  const share = epistemic === undefined ? undefined : variance > 0 ? epistemic / variance : 0;
  return {
    ...detection,
    score,
    scoreVariance: calibrated,
    ...(share !== undefined && { scoreVarianceEpistemic: share * calibrated }),
  };
}

/** Mean and variance of the calibrated score, where the raw one follows a law: exact over bins, by Simpson's rule over Gaussians. */
export function calibrateLaw(map: CalibrationMap, law: ScoreDistribution | ScoreMixture): MeanVariance {
  if ('probabilities' in law) return momentsOverBins(map, law.probabilities);
  const parts = [0, 1].map((index) => momentsOverGaussian(map, law.means[index]!, law.variances[index]!));
  const weights = [law.weight, 1 - law.weight];
  const mean = weights[0]! * parts[0]!.mean + weights[1]! * parts[1]!.mean;
  const square = (part: MeanVariance) => part.variance + (part.mean - mean) ** 2;
  return { mean, variance: weights[0]! * square(parts[0]!) + weights[1]! * square(parts[1]!) };
}

/** First order: Var[g(S)] = g'(E)² · Var[S], and no more than a law on [0, 1] of mean g(E) can have. */
function slopedVariance(map: CalibrationMap, score: number, variance: number): number {
  const calibrated = calibrateScore(map, score);
  return Math.min(calibrated * (1 - calibrated), calibrationSlope(map, score) ** 2 * variance);
}

function momentsOverBins(map: CalibrationMap, probabilities: Float32Array): MeanVariance {
  const last = probabilities.length - 1;
  const values = Float64Array.from(probabilities, (_, bin) => calibrateScore(map, bin / last));
  const mean = values.reduce((sum, value, bin) => sum + probabilities[bin]! * value, 0);
  const variance = values.reduce((sum, value, bin) => sum + probabilities[bin]! * (value - mean) ** 2, 0);
  return { mean, variance };
}

/** Panels of Simpson's rule, an even number. */
const PANELS = 128;
/** Standard deviations beyond which a Gaussian has no mass that counts. */
const FAR = 8;

/** A score outside [0, 1] does not exist: that part of the Gaussian counts at the end that it lies beyond. */
function momentsOverGaussian(map: CalibrationMap, mean: number, variance: number): MeanVariance {
  if (variance <= 0) return { mean: calibrateScore(map, mean), variance: 0 };
  const sigma = Math.sqrt(variance);
  const [first, last] = [Math.max(-FAR, -mean / sigma), Math.min(FAR, (1 - mean) / sigma)];
  const points: { readonly value: number; readonly weight: number }[] = [
    { value: calibrateScore(map, 0), weight: normalTail(-first) },
    { value: calibrateScore(map, 1), weight: normalTail(last) },
  ];
  const step = Math.max(0, last - first) / PANELS;
  for (let panel = 0; panel <= PANELS; panel++) {
    const z = first + panel * step;
    const simpson = panel === 0 || panel === PANELS ? 1 : panel % 2 === 1 ? 4 : 2;
    const density = Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
    points.push({ value: calibrateScore(map, mean + sigma * z), weight: (simpson * step * density) / 3 });
  }
  const mass = points.reduce((sum, { weight }) => sum + weight, 0);
  const calibrated = points.reduce((sum, { value, weight }) => sum + weight * value, 0) / mass;
  const spread =
    points.reduce((sum, { value, weight }) => sum + weight * (value - calibrated) ** 2, 0) / mass;
  return { mean: calibrated, variance: spread };
}
