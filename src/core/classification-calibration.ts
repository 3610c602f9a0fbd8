// Calibration of a classifier over C classes, such as the class part of a head given an object: proper scores and
// calibration errors of whole probability vectors, and the softmax temperature (Guo et al., 2017).
import type { BinEdges, CalibrationError } from './calibration.ts';
import { adaptiveCalibrationError, calibrationError, LOG_LOSS_MARGIN } from './calibration.ts';

export interface ClassificationCalibrationOptions {
  readonly classCount: number;
  /** Default 15. */
  readonly bins?: number;
  readonly edges?: BinEdges;
}

export interface ClassificationCalibration {
  readonly count: number;
  /** Mean −ln p of the true class, in nats. */
  readonly nll: number;
  /** Squared distance to the one-hot label, summed over classes, mean over samples: in [0, 2]. */
  readonly brier: number;
  /** Confidence of the most probable class (the first where equal) against whether it is the true one. */
  readonly topClass: CalibrationError;
  /** The same over bins of equal counts. */
  readonly adaptive: CalibrationError;
  /** Per class, p_k against whether k is the true class. */
  readonly perClass: readonly CalibrationError[];
  /** Plain mean of the errors of the classes: class-wise ECE (Kull et al., 2019). */
  readonly classWise: number;
}

/**
 * @param probabilities float[N, C], rows sum to 1
 * @param labels [N], the true class of each
 * @returns undefined where there is nothing to measure
 */
export function classificationCalibration(
  probabilities: ArrayLike<number>,
  labels: ArrayLike<number>,
  { classCount, bins = 15, edges = 'right-closed' }: ClassificationCalibrationOptions,
): ClassificationCalibration | undefined {
  const count = labels.length;
  const [confidences, right] = [new Float64Array(count), new Float64Array(count)];
  let [nll, brier] = [0, 0];
  for (let row = 0; row < count; row++) {
    const first = row * classCount;
    let top = 0;
    for (let classId = 0; classId < classCount; classId++) {
      const probability = probabilities[first + classId]!;
      if (probability > probabilities[first + top]!) top = classId;
      brier += (probability - (labels[row] === classId ? 1 : 0)) ** 2;
    }
    nll -= Math.log(Math.max(LOG_LOSS_MARGIN, probabilities[first + labels[row]!]!));
    confidences[row] = probabilities[first + top]!;
    right[row] = top === labels[row] ? 1 : 0;
  }
  const topClass = calibrationError(confidences, right, { bins, edges });
  const adaptive = adaptiveCalibrationError(confidences, right, { bins });
  if (topClass === undefined || adaptive === undefined) return undefined;
  const perClass = Array.from({ length: classCount }, (_, classId) => {
    const own = Float64Array.from({ length: count }, (__, row) => probabilities[row * classCount + classId]!);
    const hits = Float64Array.from({ length: count }, (__, row) => (labels[row] === classId ? 1 : 0));
    return calibrationError(own, hits, { bins, edges })!;
  });
  const classWise = perClass.reduce((sum, { error }) => sum + error, 0) / classCount;
  return { count, nll: nll / count, brier: brier / count, topClass, adaptive, perClass, classWise };
}

/** Inverse temperatures that are looked at; at the upper one a softmax is a step. */
const COLDEST = 1e3;

/**
 * Temperature T > 0 of least mean −ln softmax(z / T): the root in 1/T of Σ (E_p[z] − z_true), which rises, so that
 * halving finds it.
 * @param logits float[N, C]
 * @param labels [N]
 * @returns undefined where no finite T above 0 is best: the labels follow the logits without exception, or not at all
 */
export function softmaxTemperature(
  logits: ArrayLike<number>,
  labels: ArrayLike<number>,
  classCount: number,
): number | undefined {
  let [low, high] = [0, COLDEST];
  if (!(temperatureSlope(logits, labels, { classCount, inverse: low }) < 0)) return undefined;
  if (!(temperatureSlope(logits, labels, { classCount, inverse: high }) > 0)) return undefined;
  for (let middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (temperatureSlope(logits, labels, { classCount, inverse: middle }) > 0) high = middle;
    else low = middle;
  }
  return 1 / high;
}

/** d NLL / d (1/T), times N. */
function temperatureSlope(
  logits: ArrayLike<number>,
  labels: ArrayLike<number>,
  { classCount, inverse }: { readonly classCount: number; readonly inverse: number },
): number {
  let slope = 0;
  for (let row = 0; row < labels.length; row++) {
    const first = row * classCount;
    let peak = -Infinity;
    for (let classId = 0; classId < classCount; classId++) peak = Math.max(peak, logits[first + classId]!);
    let [total, weighted] = [0, 0];
    for (let classId = 0; classId < classCount; classId++) {
      // Relative to the peak: the expectation below is exact where one class has all the mass.
      const below = logits[first + classId]! - peak;
      const weight = Math.exp(inverse * below);
      total += weight;
      weighted += weight * below;
    }
    slope += weighted / total - (logits[first + labels[row]!]! - peak);
  }
  return slope;
}
