// The rows of some pictures of joined tables, as tables of their own.
import type { DetectionTable, TruthTable } from '#core';
import type { JoinedSlices } from './joined-slices.ts';

/** Pictures in the order given. */
export function slicePart(
  { detections, labelled }: JoinedSlices,
  pictures: readonly number[],
): { readonly detections: DetectionTable; readonly truth: TruthTable | undefined } {
  const found = rowsOf(detections.starts, pictures);
  const { scoreVariances } = detections;
  const truth = labelled?.truth;
  const objects = truth && rowsOf(truth.starts, pictures);
  return {
    detections: {
      starts: found.starts,
      boxes: boxesOf(detections.boxes, found.rows),
      classIds: Int32Array.from(found.rows, (row) => detections.classIds[row] ?? 0),
      scores: Float64Array.from(found.rows, (row) => detections.scores[row] ?? 0),
      ...(scoreVariances && {
        scoreVariances: Float64Array.from(found.rows, (row) => scoreVariances[row] ?? 0),
      }),
    },
    truth: truth &&
      objects && {
        starts: objects.starts,
        boxes: boxesOf(truth.boxes, objects.rows),
        classIds: Int32Array.from(objects.rows, (row) => truth.classIds[row] ?? 0),
        areas: Float64Array.from(objects.rows, (row) => truth.areas[row] ?? 0),
        kinds: Uint8Array.from(objects.rows, (row) => truth.kinds[row] ?? 0),
      },
  };
}

function rowsOf(
  starts: Int32Array,
  pictures: readonly number[],
): { readonly rows: Int32Array; readonly starts: Int32Array } {
  const ends = new Int32Array(pictures.length + 1);
  const rows: number[] = [];
  for (const [place, picture] of pictures.entries()) {
    for (let row = starts[picture] ?? 0; row < (starts[picture + 1] ?? 0); row++) rows.push(row);
    ends[place + 1] = rows.length;
  }
  return { rows: Int32Array.from(rows), starts: ends };
}

function boxesOf(boxes: Float64Array, rows: Int32Array): Float64Array {
  const own = new Float64Array(4 * rows.length);
  for (const [place, row] of rows.entries()) own.set(boxes.subarray(4 * row, 4 * row + 4), 4 * place);
  return own;
}
