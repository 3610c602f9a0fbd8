// Things that can be paired: labelled objects with the score that found them, or detections.
import { type ComparedPictures, iou, matchDetections } from '#core';
import { type JoinedSlices, picturesOf } from './joined-slices.ts';

/** A thing in one picture. */
export interface Item {
  readonly picture: number;
  readonly classId: number;
  readonly box: { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number };
  readonly score: number;
  readonly variance: number;
}

/** Same class, IoU from `least` on, the highest first. */
export function overlapping(first: readonly Item[], second: readonly Item[], least: number): [Item, Item][] {
  return first
    .flatMap((a) =>
      second
        .filter(({ classId }) => classId === a.classId)
        .map((b) => ({ a, b, overlap: iou(a.box, b.box) }))
        .filter(({ overlap }) => overlap >= least),
    )
    .sort((x, y) => y.overlap - x.overlap)
    .map(({ a, b }) => [a, b]);
}

/** Objects with the score of the detection that found them at IoU .5; 0 where none did. */
export function objectItems(
  { labelled, detections, classNames, comparable }: JoinedSlices,
  condition: ComparedPictures['first'],
  { seenScore, maxDets }: { readonly seenScore: number; readonly maxDets: number },
): Item[] {
  if (labelled === undefined) return [];
  const { truth } = labelled;
  const { objects } = matchDetections(truth, detections, {
    classCount: classNames.length,
    iou: 0.5,
    maxDets,
  });
  const finder = new Map<number, number>();
  for (const [row, object] of objects.entries()) {
    if (object >= 0 && (detections.scores[row] ?? 0) >= seenScore) finder.set(object, row);
  }
  return picturesOf(condition).flatMap((picture) =>
    rowsOf(truth.starts, picture)
      .filter((object) => truth.kinds[object] === 0 && comparable.includes(truth.classIds[object] ?? -1))
      .map((object) => {
        const row = finder.get(object);
        return {
          picture,
          classId: truth.classIds[object] ?? 0,
          box: boxOf(truth.boxes, object),
          score: row === undefined ? 0 : (detections.scores[row] ?? 0),
          variance: row === undefined ? 0 : (detections.scoreVariances?.[row] ?? 0),
        };
      }),
  );
}

export function detectionItems(
  { detections }: JoinedSlices,
  condition: ComparedPictures['first'],
  seenScore: number,
): (Item & { readonly row: number })[] {
  return picturesOf(condition).flatMap((picture) =>
    rowsOf(detections.starts, picture)
      .filter((row) => (detections.scores[row] ?? 0) >= seenScore)
      .map((row) => ({
        row,
        picture,
        classId: detections.classIds[row] ?? 0,
        box: boxOf(detections.boxes, row),
        score: detections.scores[row] ?? 0,
        variance: detections.scoreVariances?.[row] ?? 0,
      })),
  );
}

export function byPicture(items: readonly Item[]): Map<number, Item[]> {
  const found = new Map<number, Item[]>();
  for (const item of items) found.set(item.picture, [...(found.get(item.picture) ?? []), item]);
  return found;
}

function rowsOf(starts: Int32Array, picture: number): number[] {
  const [from = 0, to = 0] = [starts[picture], starts[picture + 1]];
  return Array.from({ length: to - from }, (_, index) => from + index);
}

function boxOf(boxes: Float64Array, row: number): Item['box'] {
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = boxes.subarray(4 * row, 4 * row + 4);
  return { x1, y1, x2, y2 };
}
