// Detection calibration error over the confidence and where and how large a box is (Küppers et al., 2020, eq. 6): a
// model may be right on the whole and wrong at the edge of the picture or on small boxes.
import { equalWidthBin } from './calibration.ts';
import { countedRows } from './calibration-detection.ts';
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { pictureOfRow } from './match-groups.ts';
import { matchDetections } from './matching.ts';

/** Centre and size are shares of the picture's width and height. */
export type CellDimension = 'confidence' | 'centre-x' | 'centre-y' | 'width' | 'height';

export interface CellConvention {
  /** Bins per dimension. */
  readonly bins: readonly number[];
  /** Edges are index / bins; values are clipped to [0, 1], and 1 is in the last bin. */
  readonly edges: 'left-closed';
  /** Cells with fewer rows add nothing to the sum, but their rows stay in N. */
  readonly leastCount: number;
}

/** A cell with at least `leastCount` rows. */
export interface CalibrationCell {
  /** Bin per dimension. */
  readonly place: readonly number[];
  readonly count: number;
  readonly meanConfidence: number;
  readonly meanTarget: number;
}

export interface CellCalibrationError {
  /** Σ over cells n_c / N · |target_c − confidence_c|. */
  readonly error: number;
  readonly largest: number;
  readonly count: number;
  /** Rows in the cells below: what the error says nothing of is `count` − `covered`. */
  readonly covered: number;
  readonly cells: readonly CalibrationCell[];
  readonly convention: CellConvention;
}

/**
 * @param features float[N, D], the confidence first
 * @param targets [N], 0 or 1
 * @param options `bins`: D counts; `leastCount`: fewest rows of a cell that counts, default 1
 * @returns undefined where there is nothing to measure
 */
export function cellCalibrationError(
  features: ArrayLike<number>,
  targets: ArrayLike<number>,
  { bins, leastCount = 1 }: { readonly bins: readonly number[]; readonly leastCount?: number },
): CellCalibrationError | undefined {
  const [count, dimensions] = [targets.length, bins.length];
  if (count === 0) return undefined;
  const sums = new Map<number, [count: number, confidence: number, target: number]>();
  for (let row = 0; row < count; row++) {
    let key = 0;
    for (let dimension = 0; dimension < dimensions; dimension++) {
      const inside = Math.min(1, Math.max(0, features[row * dimensions + dimension]!));
      key = key * bins[dimension]! + equalWidthBin(inside, bins[dimension]!, 'left-closed');
    }
    const cell = sums.get(key) ?? [0, 0, 0];
    cell[0]++;
    cell[1] += features[row * dimensions]!;
    cell[2] += targets[row]!;
    sums.set(key, cell);
  }
  const cells = [...sums]
    .filter(([, [inCell]]) => inCell >= leastCount)
    .sort(([a], [b]) => a - b)
    .map(([key, [inCell, confidence, target]]) => ({
      place: placeOf(key, bins),
      count: inCell,
      meanConfidence: confidence / inCell,
      meanTarget: target / inCell,
    }));
  const gapOf = (cell: CalibrationCell) => Math.abs(cell.meanTarget - cell.meanConfidence);
  return {
    error: cells.reduce((sum, cell) => sum + (cell.count / count) * gapOf(cell), 0),
    largest: cells.reduce((largest, cell) => Math.max(largest, gapOf(cell)), 0),
    count,
    covered: cells.reduce((sum, cell) => sum + cell.count, 0),
    cells,
    convention: { bins, edges: 'left-closed', leastCount },
  };
}

function placeOf(key: number, bins: readonly number[]): number[] {
  const place = new Array<number>(bins.length);
  for (let dimension = bins.length - 1, rest = key; dimension >= 0; dimension--) {
    place[dimension] = rest % bins[dimension]!;
    rest = Math.floor(rest / bins[dimension]!);
  }
  return place;
}

export interface DetectionCellsOptions {
  readonly classCount: number;
  /** Float64[N, 2]: width and height in px of each picture. */
  readonly pictureSizesPx: ArrayLike<number>;
  /** After the confidence. Default: centre and size, all four. */
  readonly dimensions?: readonly Exclude<CellDimension, 'confidence'>[];
  /** Per dimension, the confidence first. Default 5 each. */
  readonly bins?: readonly number[];
  /** Default 8. */
  readonly leastCount?: number;
  /** Default .5. */
  readonly iou?: number;
  /** Default .3. */
  readonly minScore?: number;
  /** Default 100. */
  readonly maxDets?: number;
}

export interface DetectionCells {
  /** Absent where no detection is left to measure. */
  readonly measured: CellCalibrationError | null;
  readonly dimensions: readonly CellDimension[];
  readonly iou: number;
  readonly minScore: number;
  readonly maxDets: number;
}

/** Counts the detections that `detectionEce` counts: not on a crowd, of classes that have objects. */
export function detectionCells(
  truth: TruthTable,
  detections: DetectionTable,
  options: DetectionCellsOptions,
): DetectionCells {
  const { classCount, iou = 0.5, minScore = 0.3, maxDets = 100, leastCount = 8 } = options;
  const others = options.dimensions ?? (['centre-x', 'centre-y', 'width', 'height'] as const);
  const { bins = new Array<number>(others.length + 1).fill(5) } = options;
  const matches = matchDetections(truth, detections, { classCount, iou, maxDets });
  // Matching runs by falling score: what lies below the cut took no object from what lies above.
  const rows = countedRows(detections, matches).filter((row) => detections.scores[row]! >= minScore);
  const pictures = pictureOfRow(detections.starts);
  const features = new Float64Array(rows.length * (others.length + 1));
  for (const [place, row] of rows.entries()) {
    const at = place * (others.length + 1);
    const size = 2 * pictures[row]!;
    features[at] = detections.scores[row]!;
    for (const [index, dimension] of others.entries()) {
      features[at + 1 + index] = shareOf(
        dimension,
        detections.boxes.subarray(4 * row, 4 * row + 4),
        options.pictureSizesPx[size]!,
        options.pictureSizesPx[size + 1]!,
      );
    }
  }
  const hits = Float64Array.from(rows, (row) => (matches.objects[row]! >= 0 ? 1 : 0));
  return {
    measured: cellCalibrationError(features, hits, { bins, leastCount }) ?? null,
    dimensions: ['confidence', ...others],
    iou,
    minScore,
    maxDets,
  };
}

function shareOf(
  dimension: Exclude<CellDimension, 'confidence'>,
  box: Float64Array,
  widthPx: number,
  heightPx: number,
): number {
  const [x1, y1, x2, y2] = [box[0]!, box[1]!, box[2]!, box[3]!];
  switch (dimension) {
    case 'centre-x':
      return (x1 + x2) / 2 / widthPx;
    case 'centre-y':
      return (y1 + y2) / 2 / heightPx;
    case 'width':
      return (x2 - x1) / widthPx;
    case 'height':
      return (y2 - y1) / heightPx;
    default:
      return dimension satisfies never;
  }
}
