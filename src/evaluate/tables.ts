// Labelled pictures and detections as the tables that core judges.
import type { Detection, DetectionTable, Size, TruthTable } from '#core';
import { DataError, TRUTH_KIND } from '#core';
import type { LabelledPicture } from '#data/datasets';

/** What a model found in one picture. */
export interface PicturePrediction {
  readonly detections: readonly Detection[];
  /** Px of the picture as displayed; boxes are in px of it. */
  readonly size: Size;
}

/**
 * @param sizes frame size in px per picture
 * @param classIds new class id per class id of the data set; objects of a class with -1 are left out
 * @throws DataError where a picture has no size
 */
export function truthTable(
  pictures: readonly LabelledPicture[],
  sizes: readonly Size[],
  classIds: readonly number[],
): TruthTable {
  const perPicture = pictures.map(({ objects, path }, place) => {
    const size = sizes[place];
    if (size === undefined) {
      throw new DataError(`${path}: a prediction is missing`, { hint: 'predict every picture of the split' });
    }
    return objects
      .filter(({ classId }) => (classIds[classId] ?? -1) >= 0)
      .map((object) => {
        const [x1, y1] = [object.x1 * size.width, object.y1 * size.height];
        const [x2, y2] = [object.x2 * size.width, object.y2 * size.height];
        return {
          box: [x1, y1, x2, y2],
          classId: classIds[object.classId] ?? -1,
          area: object.areaPx ?? (x2 - x1) * (y2 - y1),
          kind: object.crowd ? TRUTH_KIND.crowd : object.difficult ? TRUTH_KIND.difficult : TRUTH_KIND.object,
        };
      });
  });
  const rows = perPicture.flat();
  return {
    starts: startsOf(perPicture.map(({ length }) => length)),
    boxes: Float64Array.from(rows.flatMap(({ box }) => box)),
    classIds: Int32Array.from(rows, ({ classId }) => classId),
    areas: Float64Array.from(rows, ({ area }) => area),
    kinds: Uint8Array.from(rows, ({ kind }) => kind),
  };
}

/**
 * @param classIds new class id per class id of the model; detections of a class with -1 are left out
 * @throws DataError where some detections state a variance and others do not
 */
export function detectionTable(
  predictions: readonly PicturePrediction[],
  classIds: readonly number[],
): DetectionTable {
  const perPicture = predictions.map(({ detections }) =>
    detections.filter(({ classId }) => (classIds[classId] ?? -1) >= 0),
  );
  const rows = perPicture.flat();
  const variances = rows.flatMap(({ scoreVariance }) => scoreVariance ?? []);
  if (variances.length > 0 && variances.length < rows.length) {
    throw new DataError(
      `${variances.length} of ${rows.length} detections state the variance of their score`,
      {
        hint: 'give the variance for all detections or for none',
      },
    );
  }
  return {
    starts: startsOf(perPicture.map(({ length }) => length)),
    boxes: Float64Array.from(rows.flatMap(({ box: { x1, y1, x2, y2 } }) => [x1, y1, x2, y2])),
    classIds: Int32Array.from(rows, ({ classId }) => classIds[classId] ?? -1),
    scores: Float64Array.from(rows, ({ score }) => score),
    ...(variances.length > 0 ? { scoreVariances: Float64Array.from(variances) } : {}),
  };
}

function startsOf(counts: readonly number[]): Int32Array {
  const starts = new Int32Array(counts.length + 1);
  for (const [place, count] of counts.entries()) starts[place + 1] = (starts[place] ?? 0) + count;
  return starts;
}
