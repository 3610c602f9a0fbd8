// Does the sigma of a box side mean what it says? The errors of matched boxes against the stated normal law: coverage,
// probability integral transform (Gneiting et al., 2007), log score against the best constant sigma, and the factor that
// would put it right.
import { binomialInterval } from './binomial.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { matchDetections } from './matching.ts';
import { normalTail } from './normal.ts';

export interface BoxSigmaOptions {
  readonly classCount: number;
  /** Least IoU of the matches whose errors count. Default .5. */
  readonly iou?: number;
  /** Detections below are left out. Default .25: what is not shown need not be placed. */
  readonly minScore?: number;
  /** Per picture and class. Default 100. */
  readonly maxDets?: number;
  /** Smaller sigmas count as this: no label is finer, and an error at sigma 0 would be worth infinity. Default .1 px. */
  readonly leastSigmaPx?: number;
  /** Confidence of the intervals. Default .95. */
  readonly level?: number;
}

/** Share of errors within so many sigmas. */
export interface Coverage {
  readonly sigmas: number;
  readonly share: number;
  /** Clopper-Pearson, as if errors were independent: sides of one box are not, so it is rather too narrow. */
  readonly interval: readonly [low: number, high: number];
  /** What a normal law has. */
  readonly expected: number;
}

export interface SigmaCalibration {
  readonly count: number;
  /** Within one and two sigmas. */
  readonly coverage: readonly Coverage[];
  /** Ten counts of Φ(error / sigma): flat where sigma is right, a valley where it is too small, a hill where too large. */
  readonly pit: readonly number[];
  /** Mean −ln of the stated density at the error, in nats. */
  readonly nll: number;
  /** The same with the best single sigma for all, sqrt(mean error²): a stated sigma that is no better says nothing. */
  readonly constantNll: number;
  readonly constantSigmaPx: number;
  /** Factor on all sigmas that makes `nll` least, sqrt(mean (error / sigma)²): above 1 the model is too sure. */
  readonly scale: number;
  /** After that factor; null where every error is 0. */
  readonly scaledNll: number | null;
  /** Mean of found − true: a sigma cannot put a bias right. */
  readonly biasPx: number;
  readonly meanSigmaPx: number;
  /** How many sigmas were below the least. */
  readonly raised: number;
}

export interface BoxSigma {
  /** All four sides together; null without a match. */
  readonly all: SigmaCalibration | null;
  /** In the order x1 y1 x2 y2. */
  readonly perSide: readonly (SigmaCalibration | null)[];
  readonly matches: number;
  readonly convention: {
    readonly iou: number;
    readonly minScore: number;
    readonly maxDets: number;
    readonly leastSigmaPx: number;
    readonly level: number;
  };
}

/** @param boxVariances Float64[K, 4], px² in the frame of the boxes, in their order */
export function boxSigma(
  truth: TruthTable,
  detections: DetectionTable & { readonly boxVariances: ArrayLike<number> },
  options: BoxSigmaOptions,
): BoxSigma {
  const { classCount, iou = 0.5, minScore = 0.25, maxDets = 100 } = options;
  const { leastSigmaPx = 0.1, level = 0.95 } = options;
  const { objects } = matchDetections(truth, detections, { classCount, iou, maxDets });
  // Matching runs by falling score: what lies below the cut took no object from what lies above.
  const rows = Int32Array.from(objects.keys()).filter(
    (row) => objects[row]! >= 0 && detections.scores[row]! >= minScore,
  );
  const perSide = [0, 1, 2, 3].map((side) => ({
    errors: Float64Array.from(
      rows,
      (row) => detections.boxes[4 * row + side]! - truth.boxes[4 * objects[row]! + side]!,
    ),
    sigmas: Float64Array.from(rows, (row) => Math.sqrt(detections.boxVariances[4 * row + side]!)),
  }));
  const joined = (pick: (side: (typeof perSide)[number]) => Float64Array) =>
    Float64Array.from(perSide.flatMap((side) => [...pick(side)]));
  const judge = (errors: Float64Array, sigmas: Float64Array) =>
    sigmaCalibration(errors, sigmas, { leastSigmaPx, level }) ?? null;
  return {
    all: judge(
      joined(({ errors }) => errors),
      joined(({ sigmas }) => sigmas),
    ),
    perSide: perSide.map(({ errors, sigmas }) => judge(errors, sigmas)),
    matches: rows.length,
    convention: { iou, minScore, maxDets, leastSigmaPx, level },
  };
}

const PIT_BINS = 10;
const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);

/**
 * @param errorsPx [M], found − true
 * @param sigmasPx [M], 0 or more
 * @returns undefined where there is nothing to measure
 */
export function sigmaCalibration(
  errorsPx: ArrayLike<number>,
  sigmasPx: ArrayLike<number>,
  { leastSigmaPx = 0.1, level = 0.95 }: { readonly leastSigmaPx?: number; readonly level?: number } = {},
): SigmaCalibration | undefined {
  const count = errorsPx.length;
  if (count === 0) return undefined;
  const pit = new Array<number>(PIT_BINS).fill(0);
  const within = [0, 0];
  let [logs, squares, errorSquares, bias, sigmas, raised] = [0, 0, 0, 0, 0, 0];
  for (let row = 0; row < count; row++) {
    const error = errorsPx[row]!;
    const sigma = Math.max(leastSigmaPx, sigmasPx[row]!);
    if (sigmasPx[row]! < leastSigmaPx) raised++;
    const z = error / sigma;
    pit[Math.min(PIT_BINS - 1, Math.floor(normalTail(-z) * PIT_BINS))]!++;
    if (Math.abs(z) <= 1) within[0]!++;
    if (Math.abs(z) <= 2) within[1]!++;
    logs += Math.log(sigma);
    squares += z * z;
    errorSquares += error * error;
    bias += error;
    sigmas += sigma;
  }
  const constantSigmaPx = Math.max(leastSigmaPx, Math.sqrt(errorSquares / count));
  const scale = Math.sqrt(squares / count);
  return {
    count,
    coverage: within.map((inside, index) => ({
      sigmas: index + 1,
      share: inside / count,
      interval: binomialInterval(inside, count, level),
      expected: 1 - 2 * normalTail(index + 1),
    })),
    pit,
    nll: HALF_LOG_TWO_PI + logs / count + squares / count / 2,
    constantNll:
      HALF_LOG_TWO_PI + Math.log(constantSigmaPx) + errorSquares / count / constantSigmaPx ** 2 / 2,
    constantSigmaPx,
    scale,
    scaledNll: scale > 0 ? HALF_LOG_TWO_PI + logs / count + Math.log(scale) + 0.5 : null,
    biasPx: bias / count,
    meanSigmaPx: sigmas / count,
    raised,
  };
}
