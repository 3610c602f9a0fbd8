// The scale on which scores are reported: that of a calibrator, applied to what suppression left. Running needs more
// than the map: what it does to a variance, and which raw scores can reach a threshold.
import { calibrateLaw } from './calibration-apply.ts';
import type { CalibrationMap } from './calibration-map.ts';
import { calibrateScore, calibrationSlope } from './calibration-map.ts';
import type { ScoreFloor } from './decode/decoder.ts';
import type { ScoreDistribution, ScoreMixture } from './detection.ts';

/** The maps of a calibrator, and from where on they know anything. */
export interface ScoreScale {
  /** By class id; null (or none) where scores stay as they are. */
  readonly maps: readonly (CalibrationMap | null)[];
  /** Raw scores below were not fitted on: they are not reported. In [0, 1]. */
  readonly minScore: number;
}

/**
 * Variance of a calibrated score, in [0, 0.25]: exact where the law of the raw score is known, else by the slope of the
 * map, g'(s)² Var (first order). Never more than g(s) (1 - g(s)), as for every law on [0, 1].
 */
export function calibratedVariance(
  map: CalibrationMap,
  { score, variance }: { readonly score: number; readonly variance: number },
  law: ScoreDistribution | ScoreMixture | undefined,
): number {
  const calibrated = calibrateScore(map, score);
  const followed =
    law === undefined ? calibrationSlope(map, score) ** 2 * variance : calibrateLaw(map, law).variance;
  return Math.min(followed, calibrated * (1 - calibrated));
}

const HALVINGS = 50;

/**
 * The raw scores around a calibrated level: `below` maps under it, `reached` to it or above. They lie 2⁻⁵⁰ apart.
 * `reached` is Infinity where no score does.
 */
export function rawScoresAround(
  map: CalibrationMap,
  level: number,
): { readonly below: number; readonly reached: number } {
  if (calibrateScore(map, 0) >= level) return { below: 0, reached: 0 };
  if (calibrateScore(map, 1) < level) return { below: 1, reached: Infinity };
  let [below, reached] = [0, 1];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (below + reached) / 2;
    if (calibrateScore(map, middle) >= level) reached = middle;
    else below = middle;
  }
  return { below, reached };
}

/** A float32 score must not fall below a floor that it lies above only as a double. */
const FLOAT_SLACK = 1e-7;

/** The floor on calibrated scores as one on raw scores, for decoding; none below what the maps were fitted on. */
export function rawFloor(floor: ScoreFloor, { maps, minScore }: ScoreScale, classCount: number): ScoreFloor {
  const perClass = Float32Array.from({ length: classCount }, (_, classId) => {
    const calibrated = floor.perClass?.[classId] ?? floor.default;
    const map = maps[classId] ?? undefined;
    if (map === undefined) return calibrated;
    const { below } = rawScoresAround(map, calibrated);
    return Math.max(0, below - FLOAT_SLACK, minScore - FLOAT_SLACK);
  });
  return { ...floor, perClass };
}
