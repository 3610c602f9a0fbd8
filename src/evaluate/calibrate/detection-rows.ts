// Parts of a table of detections.
import type { DetectionTable } from '#core';

/** What a row is chosen by. */
interface DetectionRow {
  readonly classId: number;
  readonly score: number;
}

/** The rows for which `keep` holds, in their order; variances are left out. */
export function keepRows(
  { starts, boxes, classIds, scores }: DetectionTable,
  keep: (row: DetectionRow) => boolean,
): DetectionTable {
  const rows = Int32Array.from(scores.keys()).filter((row) =>
    keep({ classId: classIds[row] ?? -1, score: scores[row] ?? 0 }),
  );
  const keptBoxes = new Float64Array(4 * rows.length);
  for (const [place, row] of rows.entries()) keptBoxes.set(boxes.subarray(4 * row, 4 * row + 4), 4 * place);
  return {
    starts: startsAmong(rows, starts),
    boxes: keptBoxes,
    classIds: Int32Array.from(rows, (row) => classIds[row] ?? -1),
    scores: Float64Array.from(rows, (row) => scores[row] ?? 0),
  };
}

/** Where each picture begins among rows that rise. */
function startsAmong(rows: Int32Array, starts: Int32Array): Int32Array {
  let next = 0;
  return starts.map((start) => {
    while (next < rows.length && (rows[next] ?? 0) < start) next++;
    return next;
  });
}
