// A table of detections through a calibrator, and a law of a score through its map.
import type { Calibrator } from './calibration-fit.ts';
import type { CalibrationMap } from './calibration-map.ts';
import { calibrateScore, calibrationSlope } from './calibration-map.ts';
import type { ScoreDistribution, ScoreMixture } from './detection.ts';
import type { DetectionTable } from './match-groups.ts';
import type { MeanVariance } from './mixture.ts';
import { normalTail } from './normal.ts';

/**
 * Scores through the map of their class; variances follow with the square of its slope, within what a law on [0, 1]
 * allows. The order of the detections stays that of the table.
 */
export function calibrateDetections(detections: DetectionTable, { classes }: Calibrator): DetectionTable {
  return mapDetections(detections, (row) => classes[detections.classIds[row]!]?.map ?? null);
}

/** The same with a map for each row; null leaves it as it is. */
export function mapDetections(
  detections: DetectionTable,
  mapOf: (row: number) => CalibrationMap | null,
): DetectionTable {
  const { scoreVariances } = detections;
  const scores = detections.scores.map((score, row) => {
    const map = mapOf(row);
    return map === null ? score : calibrateScore(map, score);
  });
  const variances = scoreVariances?.map((variance, row) => {
    const map = mapOf(row);
    return map === null ? variance : slopedVariance(map, detections.scores[row]!, variance);
  });
  return { ...detections, scores, ...(variances && { scoreVariances: variances }) };
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
  let mean = 0;
  for (let bin = 0; bin <= last; bin++) mean += probabilities[bin]! * calibrateScore(map, bin / last);
  let variance = 0;
  for (let bin = 0; bin <= last; bin++) {
    variance += probabilities[bin]! * (calibrateScore(map, bin / last) - mean) ** 2;
  }
  return { mean, variance };
}

/** Panels of Simpson's rule, an even number. */
const PANELS = 128;
/** Standard deviations beyond which a Gaussian has no mass that counts. */
const FAR = 8;

/** A score outside [0, 1] does not exist: that part of the Gaussian counts at the end that it lies beyond. */
function momentsOverGaussian(map: CalibrationMap, mean: number, variance: number): MeanVariance {
  const centre = calibrateScore(map, mean);
  if (variance <= 0) return { mean: centre, variance: 0 };
  const sigma = Math.sqrt(variance);
  const [first, last] = [Math.max(-FAR, -mean / sigma), Math.min(FAR, (1 - mean) / sigma)];
  const step = Math.max(0, last - first) / PANELS;
  const [below, above] = [normalTail(-first), normalTail(last)];
  const [atZero, atOne] = [calibrateScore(map, 0) - centre, calibrateScore(map, 1) - centre];
  // Sums about the value at the mean: nothing cancels where the law is narrow.
  let [mass, sum, squares] = [
    below + above,
    below * atZero + above * atOne,
    below * atZero ** 2 + above * atOne ** 2,
  ];
  for (let panel = 0; panel <= PANELS; panel++) {
    const z = first + panel * step;
    const simpson = panel === 0 || panel === PANELS ? 1 : panel % 2 === 1 ? 4 : 2;
    const weight = (simpson * step * Math.exp(-0.5 * z * z)) / (3 * Math.sqrt(2 * Math.PI));
    const distance = calibrateScore(map, mean + sigma * z) - centre;
    mass += weight;
    sum += weight * distance;
    squares += weight * distance * distance;
  }
  const shift = sum / mass;
  return { mean: centre + shift, variance: Math.max(0, squares / mass - shift * shift) };
}
