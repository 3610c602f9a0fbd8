// Faults that are told once for a whole YOLO set: classes outside the list of names, and columns with scores.
import type { DatasetFault } from './types.ts';
import type { YoloLabels, YoloRow } from './yolo-rows.ts';

interface PlacedRow {
  readonly file: string;
  readonly row: YoloRow;
}

const FIRST_FILES = 3;

/** One summary: which numbers, how many rows, first files. The rows are left out, never moved to another class. */
export function reportClassesOutside(
  rows: readonly PlacedRow[],
  names: readonly string[],
  faults: DatasetFault[],
): void {
  const outside = rows.filter(({ row }) => row.classId < 0 || row.classId >= names.length);
  const [first] = outside;
  if (first === undefined) return;
  const counts = new Map<number, number>();
  for (const { row } of outside) counts.set(row.classId, (counts.get(row.classId) ?? 0) + 1);
  const numbers = [...counts]
    .sort(([a], [b]) => a - b)
    .map(([number, count]) => `class ${number} in ${count} ${count === 1 ? 'row' : 'rows'}`);
  const places = new Map(outside.toReversed().map(({ file, row }) => [file, row.line]));
  const firstFiles = [...places].reverse().slice(0, FIRST_FILES);
  const countedFromOne =
    rows.every(({ row }) => row.classId >= 1) && outside.every(({ row }) => row.classId === names.length);
  faults.push({
    severity: 'error',
    kind: 'class-out-of-range',
    file: first.file,
    line: first.row.line,
    message:
      `${outside.length} of ${rows.length} rows in ${places.size} files: ${numbers.join(', ')}; ` +
      `the ${names.length} names allow 0 to ${names.length - 1} (${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}); ` +
      `first files: ${firstFiles.map(([file, line]) => `${file}:${line}`).join(', ')}`,
    hint: countedFromOne
      ? 'the labels seem to start at 1: no row has class 0; subtract 1 from every class number'
      : 'left out; add the missing names, or correct the labels that come from another list of classes',
  });
}

/** Saved predictions used as labels: their score is dropped, said once. */
export function reportScoreColumn(
  files: readonly (readonly [string, YoloLabels])[],
  faults: DatasetFault[],
): void {
  const scored = files.filter(([, { scoreLines }]) => scoreLines.length > 0);
  const [first] = scored;
  if (first === undefined) return;
  const [file, { scoreLines }] = first;
  const count = scored.reduce((sum, [, labels]) => sum + labels.scoreLines.length, 0);
  faults.push({
    severity: 'notice',
    kind: 'score-column',
    file,
    line: scoreLines[0] ?? 1,
    message: `${count} rows in ${scored.length} files have a sixth column`,
    hint: 'taken as the score of a saved prediction (class cx cy w h score) and dropped',
  });
}
