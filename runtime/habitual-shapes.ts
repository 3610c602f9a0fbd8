// Detections in the shapes that other tools read: one place, so that a row means the same in a file and in a program.
import { type Box, clipBox, type Detection, type Size } from '#core';
import { toDecimals } from './decimals.ts';
import { type DetectionForm, detectionForm, significant } from './sinks/result-form.ts';

/** `[x, y, width, height]` in px, x and y of the top left corner: boxes as COCO and OpenCV have them. */
export function toXywh({ x1, y1, x2, y2 }: Box<'frame'>): readonly [number, number, number, number] {
  return [x1, y1, x2 - x1, y2 - y1];
}

/**
 * One entry of Ultralytics' JSON: `{name, class, confidence, box: {x1, y1, x2, y2}}`, px with 2 decimals, confidence
 * with 5. `score_var`, its part `score_var_epistemic`, and `box_var` {x1, y1, x2, y2} px² are added where the model
 * knows them, with 4 digits.
 * @example
 * JSON.stringify(found.map(toUltralyticsRow));
 * // [{"name":"person","class":0,"confidence":0.71853,"box":{"x1":49.32,"y1":398.15,"x2":242.8,"y2":903.5}}]
 */
export function toUltralyticsRow(detection: Detection): DetectionForm {
  return detectionForm(detection);
}

/** One entry of a COCO results file. */
export interface CocoRow {
  readonly image_id: string | number;
  readonly category_id: number;
  /** [x, y, width, height] px. */
  readonly bbox: readonly number[];
  readonly score: number;
  readonly score_var?: number;
  /** The part of `score_var` that passes under dropout disagree on. */
  readonly score_var_epistemic?: number;
  /** [x1, y1, x2, y2] px². */
  readonly box_var?: readonly number[];
}

/**
 * One entry of a COCO results file: px with 3 decimals, the score with 5.
 * @param imageId `image_id` of the picture in the ground truth
 * @param categoryIds category id of each class of the model; without it the class itself, from 0. Real COCO ground
 * truth numbers its 80 classes from 1 to 90 with gaps
 */
export function toCocoRow(
  detection: Detection,
  imageId: string | number,
  categoryIds?: readonly number[],
): CocoRow {
  const { box, boxVariance, classId, score, scoreVariance, scoreVarianceEpistemic } = detection;
  return {
    image_id: imageId,
    category_id: categoryIds?.[classId] ?? classId,
    bbox: toXywh(box).map((value) => toDecimals(value, 3)),
    score: toDecimals(score, 5),
    ...(scoreVariance === undefined ? {} : { score_var: significant(scoreVariance) }),
    ...(scoreVarianceEpistemic === undefined
      ? {}
      : { score_var_epistemic: significant(scoreVarianceEpistemic) }),
    ...(boxVariance === undefined
      ? {}
      : { box_var: [boxVariance.x1, boxVariance.y1, boxVariance.x2, boxVariance.y2].map(significant) }),
  };
}

/**
 * One line of a YOLO label file, `class cx cy w h [conf]`: clipped to the picture, divided by its size, 6 decimals.
 * @param size of the picture in px
 * @param saveConf adds the confidence as the last column, as results have it and labels do not
 * @returns undefined where nothing of the box lies inside the picture
 */
export function toYoloRow(
  { box, classId, score }: Detection,
  { width, height }: Size,
  saveConf = false,
): string | undefined {
  const inside = clipBox(box, width, height);
  if (!inside) return undefined;
  const numbers = [
    (inside.x1 + inside.x2) / 2 / width,
    (inside.y1 + inside.y2) / 2 / height,
    (inside.x2 - inside.x1) / width,
    (inside.y2 - inside.y1) / height,
    ...(saveConf ? [score] : []),
  ];
  return [classId, ...numbers.map((number) => toDecimals(number, 6))].join(' ');
}

/** All detections of a picture as columns, named as supervision's `Detections` names them. K detections. */
export interface DetectionColumns {
  /** Float32[K * 4], x1 y1 x2 y2 in px. */
  readonly xyxy: Float32Array;
  /** Int32[K]. */
  readonly class_id: Int32Array;
  /** Float32[K] in [0, 1]. */
  readonly confidence: Float32Array;
  /** K names. */
  readonly class_name: readonly string[];
  /** Float32[K] in [0, 0.25]; absent where a detection has none, and where there is no detection. */
  readonly score_var?: Float32Array;
  /** Float32[K], a part of `score_var`; absent where a detection has none, and where there is no detection. */
  readonly score_var_epistemic?: Float32Array;
  /** Float32[K * 4], of x1 y1 x2 y2 in px²; absent where a detection has none, and where there is no detection. */
  readonly box_var?: Float32Array;
}

/** Columns for code that works on arrays, such as a tracker, or for a message to Python. Order is kept. */
export function toColumns(found: readonly Detection[]): DetectionColumns {
  const scoreVariances = found.flatMap(({ scoreVariance }) => scoreVariance ?? []);
  const epistemicParts = found.flatMap(({ scoreVarianceEpistemic }) => scoreVarianceEpistemic ?? []);
  const boxVariances = found.flatMap(({ boxVariance }) => boxVariance ?? []);
  const isWhole = (column: readonly unknown[]) => found.length > 0 && column.length === found.length;
  return {
    xyxy: Float32Array.from(found.flatMap(({ box }) => [box.x1, box.y1, box.x2, box.y2])),
    class_id: Int32Array.from(found, ({ classId }) => classId),
    confidence: Float32Array.from(found, ({ score }) => score),
    class_name: found.map(({ className }) => className),
    ...(isWhole(scoreVariances) && { score_var: Float32Array.from(scoreVariances) }),
    ...(isWhole(epistemicParts) && { score_var_epistemic: Float32Array.from(epistemicParts) }),
    ...(isWhole(boxVariances) && {
      box_var: Float32Array.from(boxVariances.flatMap(({ x1, y1, x2, y2 }) => [x1, y1, x2, y2])),
    }),
  };
}
