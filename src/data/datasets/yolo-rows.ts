// The rows of one YOLO label file: `class cx cy w h`, polygons `class x1 y1 x2 y2 x3 y3 …`, and what else people feed in.
// The order of columns is fixed: a sixth column is the score of a saved prediction and always stands last.
import { type BoxOrigin, type Corners, looksLikePixels, placeBox } from './boxes.ts';
import { linesOf } from './files.ts';
import type { DatasetFault, LabelledObject } from './types.ts';

/** One row that became a box; `classId` is the number as written, which may lie outside the list of names. */
export interface YoloRow extends LabelledObject {
  readonly line: number;
}

export interface YoloLabels {
  readonly rows: readonly YoloRow[];
  readonly faults: readonly DatasetFault[];
  /** 1-based lines with a sixth column. */
  readonly scoreLines: readonly number[];
}

const BOX_COLUMNS = 5;
const LEAST_POLYGON_COLUMNS = 7;

/**
 * @param file for messages
 * @param keypointColumns values after the box in sets with `kpt_shape`, else 0
 */
export function parseYoloLabels(text: string, file: string, keypointColumns = 0): YoloLabels {
  const rows: YoloRow[] = [];
  const faults: DatasetFault[] = [];
  const scoreLines: number[] = [];
  const firstLineOf = new Map<string, number>();
  for (const [index, content] of linesOf(text).entries()) {
    const columns = content.trim().split(/\s+/);
    if (columns[0] === '') continue;
    const line = index + 1;
    const values = columns.map(Number);
    const key = values.join(' ');
    const before = firstLineOf.get(key);
    if (before !== undefined) {
      faults.push({
        severity: 'warning',
        kind: 'repeated-row',
        file,
        line,
        message: `the same row as line ${before}`,
        hint: 'dropped; remove it',
      });
      continue;
    }
    firstLineOf.set(key, line);
    const shape = shapeOf(values, keypointColumns);
    const origin = { file, line, name: `row "${shorten(content.trim())}"` };
    const box = shape && readShape(shape, values, origin, faults);
    if (shape === undefined) faults.push(brokenRow(origin, columns, values));
    if (shape === 'scored') scoreLines.push(line);
    if (box !== undefined)
      rows.push({ classId: values[0] ?? 0, ...box, crowd: false, difficult: false, line });
  }
  return { rows, faults, scoreLines };
}

type Shape = 'box' | 'scored' | 'polygon' | 'keypoints';

function shapeOf(values: readonly number[], keypointColumns: number): Shape | undefined {
  if (!values.every(Number.isFinite) || !Number.isInteger(values[0])) return undefined;
  const count = values.length;
  if (count === BOX_COLUMNS) return 'box';
  if (keypointColumns > 0 && count === BOX_COLUMNS + keypointColumns) return 'keypoints';
  if (count === BOX_COLUMNS + 1) return 'scored';
  return count >= LEAST_POLYGON_COLUMNS && count % 2 === 1 ? 'polygon' : undefined;
}

function readShape(
  shape: Shape,
  values: readonly number[],
  origin: BoxOrigin & { readonly line: number },
  faults: DatasetFault[],
): Corners | undefined {
  const { file, line, name } = origin;
  const numbers = shape === 'polygon' ? values.slice(1) : values.slice(1, BOX_COLUMNS);
  if (looksLikePixels(numbers)) {
    faults.push({
      severity: 'error',
      kind: 'pixel-units',
      file,
      line,
      message: `${name}: values above 2, expected 0 to 1`,
      hint: 'left out; pixel units? divide x and w by the width, y and h by the height of the picture',
    });
    return undefined;
  }
  if (shape === 'polygon' || shape === 'keypoints') {
    const what = shape === 'polygon' ? `a polygon of ${numbers.length / 2} points` : 'a box with keypoints';
    const done = shape === 'polygon' ? 'turned into its bounding box' : 'its box was taken';
    faults.push({ severity: 'notice', kind: shape, file, line, message: what, hint: done });
  }
  const box = shape === 'polygon' ? boundsOf(numbers) : fromCentre(numbers);
  const older = shape === 'scored' && fits(fromCentre(values.slice(2)));
  const outsideHint = older
    ? 'the score seems to stand in the second column: the order is class cx cy w h score'
    : 'correct the row';
  return placeBox(box, { ...origin, outsideHint }, faults);
}

function brokenRow(
  { file, line, name }: BoxOrigin,
  columns: readonly string[],
  values: readonly number[],
): DatasetFault {
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  const found =
    wrong >= 0
      ? `"${shorten(columns[wrong] ?? '')}" is no number`
      : Number.isInteger(values[0])
        ? `${columns.length} columns`
        : `the class number ${columns[0]} is not whole`;
  return {
    severity: 'error',
    kind: 'broken-row',
    file,
    ...(line === undefined ? {} : { line }),
    message: `${name}: ${found}; expected class cx cy w h, or class and three points (x y) or more`,
    hint: 'left out; correct or remove it',
  };
}

function fromCentre([cx = 0, cy = 0, width = 0, height = 0]: readonly number[]): Corners {
  return { x1: cx - width / 2, y1: cy - height / 2, x2: cx + width / 2, y2: cy + height / 2 };
}

function boundsOf(points: readonly number[]): Corners {
  const bounds = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };
  for (const [index, value] of points.entries()) {
    const [low, high] = index % 2 === 0 ? (['x1', 'x2'] as const) : (['y1', 'y2'] as const);
    bounds[low] = Math.min(bounds[low], value);
    bounds[high] = Math.max(bounds[high], value);
  }
  return bounds;
}

function fits({ x1, y1, x2, y2 }: Corners): boolean {
  return Math.min(x1, y1) >= 0 && Math.max(x2, y2) <= 1;
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}
