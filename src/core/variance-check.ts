// Does the variance of a score mean the squared error to expect? Predicted against measured in fifths, and whether it
// tells more than the expectation alone does (partial correlation, with an interval from resampled pictures).
import { ANY_OVERLAP, aboveScore, countedRows } from './calibration-detection.ts';
import { twoHotVariance } from './distribution.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow } from './match-groups.ts';
import { matchDetections } from './matching.ts';
import { createRandom } from './random.ts';

export interface VarianceCheckOptions {
  readonly classCount: number;
  /** Detections below are left out: the mass of background would drown the rest. Default .01. */
  readonly minScore?: number;
  readonly maxDets?: number;
  /** Take the variance beyond the floor that this many bins force at the expectation, instead of the variance. */
  readonly excessOverBins?: number;
  /** Resamples of the interval. Default 1000; 0 for none. */
  readonly resamples?: number;
  readonly seed?: number;
}

/** A fifth of the detections, by rising predicted variance. */
export interface VarianceGroup {
  readonly count: number;
  readonly meanPredicted: number;
  /** Mean of (y − E)², y = IoU with the matched object, 0 for a false alarm. */
  readonly meanMeasured: number;
  /** Predicted / measured; null where nothing was measured. Above 1 the model doubts too much. */
  readonly ratio: number | null;
}

export interface PartialCorrelation {
  /** Of the variance with the squared error, a polynomial of degree 5 of the expectation taken out of both. */
  readonly value: number;
  /** 95 % percentile interval over resampled pictures; null where not asked for. */
  readonly interval: readonly [low: number, high: number] | null;
}

export interface VarianceCheck {
  readonly count: number;
  readonly meanPredicted: number;
  readonly meanMeasured: number;
  /** Five, by rising predicted variance. */
  readonly fifths: readonly VarianceGroup[];
  /** Null where the variance or the error has nothing left beyond the expectation. */
  readonly partialCorrelation: PartialCorrelation | null;
  readonly convention: { readonly iou: number; readonly minScore: number; readonly maxDets: number };
}

/** Fewest detections that are judged. */
const LEAST_COUNT = 50;

const FIFTHS = 5;
const DEGREE = 5;
const LEVEL = 0.95;

/** @returns undefined where the model states no variance or fewer than 50 detections are left */
export function checkVariance(
  truth: TruthTable,
  detections: DetectionTable,
  options: VarianceCheckOptions,
): VarianceCheck | undefined {
  const { classCount, minScore = 0.01, maxDets = 100, resamples = 1000, seed = 0, excessOverBins } = options;
  const kept = aboveScore(detections, minScore);
  const variances = kept.scoreVariances;
  if (variances === undefined) return undefined;
  const matches = matchDetections(truth, kept, { classCount, iou: ANY_OVERLAP, maxDets });
  const rows = countedRows(kept, matches);
  const pictures = pictureOfRow(kept.starts);
  const expectations = Float64Array.from(rows, (row) => kept.scores[row]!);
  const predicted = Float64Array.from(rows, (row) => {
    const floor = excessOverBins === undefined ? 0 : twoHotVariance(kept.scores[row]!, excessOverBins);
    return Math.max(0, variances[row]! - floor);
  });
  const squaredErrors = Float64Array.from(rows, (row) => (matches.ious[row]! - kept.scores[row]!) ** 2);
  if (rows.length < LEAST_COUNT) return undefined;
  return {
    count: rows.length,
    ...groupOf(predicted, squaredErrors),
    fifths: fifthsOf(predicted, squaredErrors),
    partialCorrelation:
      partialCorrelation(
        { expectations, predicted, squaredErrors, pictures: rows.map((row) => pictures[row]!) },
        { resamples, seed },
      ) ?? null,
    convention: { iou: ANY_OVERLAP, minScore, maxDets },
  };
}

function fifthsOf(predicted: Float64Array, measured: Float64Array): VarianceGroup[] {
  const order = Int32Array.from(predicted.keys()).sort((a, b) => predicted[a]! - predicted[b]! || a - b);
  return Array.from({ length: FIFTHS }, (_, fifth) => {
    const bounds = [fifth, fifth + 1].map((edge) => Math.round((edge * order.length) / FIFTHS));
    const own = order.subarray(bounds[0], bounds[1]);
    const pick = (values: Float64Array) => Float64Array.from(own, (row) => values[row]!);
    const group = groupOf(pick(predicted), pick(measured));
    const ratio = group.meanMeasured > 0 ? group.meanPredicted / group.meanMeasured : null;
    return { count: own.length, ...group, ratio };
  });
}

function groupOf(predicted: Float64Array, measured: Float64Array) {
  const mean = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { meanPredicted: mean(predicted), meanMeasured: mean(measured) };
}

/** One row per detection. */
export interface CorrelationRows {
  readonly expectations: Float64Array;
  readonly predicted: Float64Array;
  readonly squaredErrors: Float64Array;
  /** Whose rows are resampled together: detections of one picture are not independent. */
  readonly pictures: Int32Array;
}

/** Powers of the expectation as Chebyshev polynomials, then the two that are correlated. */
const COLUMNS = DEGREE + 3;
const CELLS = COLUMNS * COLUMNS;

/** @returns undefined where one of the two has no variation beyond the expectation */
export function partialCorrelation(
  rows: CorrelationRows,
  { resamples, seed }: { readonly resamples: number; readonly seed: number },
): PartialCorrelation | undefined {
  const products = productsPerPicture(rows);
  const pictureCount = products.length / CELLS;
  const total = new Float64Array(CELLS);
  for (let picture = 0; picture < pictureCount; picture++) addCells(total, products, picture);
  const value = correlationBeyond(total);
  if (value === undefined) return undefined;
  const random = createRandom(seed);
  const drawn: number[] = [];
  for (let resample = 0; resample < resamples; resample++) {
    total.fill(0);
    for (let draw = 0; draw < pictureCount; draw++) addCells(total, products, random.integer(pictureCount));
    const one = correlationBeyond(total);
    if (one !== undefined) drawn.push(one);
  }
  drawn.sort((a, b) => a - b);
  const at = (share: number) => drawn[Math.round(share * (drawn.length - 1))]!;
  const tail = (1 - LEVEL) / 2;
  return { value, interval: drawn.length === 0 ? null : [at(tail), at(1 - tail)] };
}

/** Sums of products of all columns per picture, Float64[pictures, COLUMNS, COLUMNS]: a resample is then a sum of these. */
function productsPerPicture(rows: CorrelationRows): Float64Array {
  const { expectations, predicted, squaredErrors, pictures } = rows;
  const places = new Map<number, number>();
  for (const picture of pictures) if (!places.has(picture)) places.set(picture, places.size);
  const products = new Float64Array(places.size * CELLS);
  const [low, high] = extent(expectations);
  const [predictedScale, errorScale] = [extent(predicted)[1] || 1, extent(squaredErrors)[1] || 1];
  const column = new Float64Array(COLUMNS);
  for (let row = 0; row < expectations.length; row++) {
    // On [-1, 1] and as Chebyshev polynomials, or the powers could not be told apart in doubles.
    const x = high > low ? (2 * (expectations[row]! - low)) / (high - low) - 1 : 0;
    column[0] = 1;
    column[1] = x;
    for (let degree = 2; degree <= DEGREE; degree++) {
      column[degree] = 2 * x * column[degree - 1]! - column[degree - 2]!;
    }
    column[DEGREE + 1] = predicted[row]! / predictedScale;
    column[DEGREE + 2] = squaredErrors[row]! / errorScale;
    const first = places.get(pictures[row]!)! * CELLS;
    for (let i = 0; i < COLUMNS; i++) {
      for (let j = 0; j < COLUMNS; j++) products[first + i * COLUMNS + j]! += column[i]! * column[j]!;
    }
  }
  return products;
}

/** Correlation of the residuals: eliminating the other columns from the sums of products leaves theirs. */
function correlationBeyond(sums: Float64Array): number | undefined {
  const left = sums.slice();
  const [a, b] = [DEGREE + 1, DEGREE + 2];
  for (let pivot = 0; pivot <= DEGREE; pivot++) {
    const divisor = left[pivot * COLUMNS + pivot]!;
    // Few distinct expectations determine no full polynomial: the powers that are left over change nothing.
    if (!(divisor > 1e-10 * sums[pivot * COLUMNS + pivot]!)) continue;
    for (let i = pivot + 1; i < COLUMNS; i++) {
      const factor = left[i * COLUMNS + pivot]! / divisor;
      for (let j = pivot; j < COLUMNS; j++) left[i * COLUMNS + j]! -= factor * left[pivot * COLUMNS + j]!;
    }
  }
  const remains = (index: number) => left[index * COLUMNS + index]! / sums[index * COLUMNS + index]!;
  if (!(remains(a) > 1e-10 && remains(b) > 1e-10)) return undefined;
  return left[a * COLUMNS + b]! / Math.sqrt(left[a * COLUMNS + a]! * left[b * COLUMNS + b]!);
}

function addCells(total: Float64Array, products: Float64Array, picture: number): void {
  const first = picture * CELLS;
  for (let cell = 0; cell < CELLS; cell++) total[cell]! += products[first + cell]!;
}

function extent(values: Float64Array): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
