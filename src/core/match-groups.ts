// Ground truth and detections as tables, put together by class and picture for matching.
import { DataError } from './errors.ts';

/** What an object of the ground truth counts as. */
export const TRUTH_KIND = {
  object: 0,
  /** A region of many objects: its overlap is the share of the detection inside it, and it absorbs any number. */
  crowd: 1,
  /** Neither hit nor miss (VOC's `difficult`): absorbs any number of detections. */
  difficult: 2,
} as const;

/** Objects of N pictures, struct of arrays. */
export interface TruthTable {
  /** Objects of picture n: [starts[n], starts[n + 1]). Int32[N + 1]. */
  readonly starts: Int32Array;
  /** Float64[G, 4], x1 y1 x2 y2 in frame px. */
  readonly boxes: Float64Array;
  /** Int32[G], from 0. */
  readonly classIds: Int32Array;
  /** Float64[G], px²: what the annotation states, else that of the box. */
  readonly areas: Float64Array;
  /** Uint8[G], values of `TRUTH_KIND`. */
  readonly kinds: Uint8Array;
}

/** Detections in the same N pictures, struct of arrays. */
export interface DetectionTable {
  /** Int32[N + 1]. */
  readonly starts: Int32Array;
  /** Float64[K, 4], x1 y1 x2 y2 in frame px. */
  readonly boxes: Float64Array;
  /** Int32[K]. */
  readonly classIds: Int32Array;
  /** Float64[K]. */
  readonly scores: Float64Array;
  /** Float64[K], in [0, 0.25]; absent where the model cannot say. */
  readonly scoreVariances?: Float64Array;
}

/** Objects and detections of one class in one picture. */
export interface MatchGroup {
  readonly picture: number;
  /** Rows of the truth table, in its order. */
  readonly objects: Int32Array;
  /** Rows of the detection table by falling score, ties in the order of the table; at most `maxDets`. */
  readonly detections: Int32Array;
}

/** Groups of one class in the order of the pictures; pictures with neither object nor detection have none. */
export interface Grouping {
  groups(classId: number): readonly MatchGroup[];
  /** Detections beyond `maxDets` in their picture and class. */
  readonly cut: number;
}

/**
 * @throws DataError where a score is not finite or a class is outside [0, classCount)
 */
export function groupForMatching(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, maxDets }: { readonly classCount: number; readonly maxDets: number },
): Grouping {
  checkTables(truth, detections, classCount);
  const objects = rowsByClass(truth.classIds, classCount);
  const found = rowsByClass(detections.classIds, classCount);
  const pictureOfObject = pictureOfRow(truth.starts);
  const pictureOfDetection = pictureOfRow(detections.starts);
  const perClass: MatchGroup[][] = [];
  let cut = 0;
  for (let classId = 0; classId < classCount; classId++) {
    const groups: MatchGroup[] = [];
    let [object, objectEnd] = [objects.starts[classId]!, objects.starts[classId + 1]!];
    let [detection, detectionEnd] = [found.starts[classId]!, found.starts[classId + 1]!];
    while (object < objectEnd || detection < detectionEnd) {
      const picture = Math.min(
        object < objectEnd ? pictureOfObject[objects.rows[object]!]! : Infinity,
        detection < detectionEnd ? pictureOfDetection[found.rows[detection]!]! : Infinity,
      );
      const firstObject = object;
      while (object < objectEnd && pictureOfObject[objects.rows[object]!] === picture) object++;
      const first = detection;
      while (detection < detectionEnd && pictureOfDetection[found.rows[detection]!] === picture) detection++;
      const ordered = byFallingScore(found.rows.subarray(first, detection), detections.scores);
      cut += Math.max(0, ordered.length - maxDets);
      groups.push({
        picture,
        objects: objects.rows.subarray(firstObject, object),
        detections: ordered.subarray(0, maxDets),
      });
    }
    perClass.push(groups);
  }
  return { groups: (classId) => perClass[classId]!, cut };
}

/** Sorts rows in place. Equal scores keep the order of the table, which makes every figure repeatable. */
export function byFallingScore(rows: Int32Array, scores: Float64Array): Int32Array {
  let sorted = true;
  for (let place = 1; sorted && place < rows.length; place++) {
    const difference = scores[rows[place]!]! - scores[rows[place - 1]!]!;
    sorted = difference < 0 || (difference === 0 && rows[place]! > rows[place - 1]!);
  }
  return sorted ? rows : rows.sort((a, b) => scores[b]! - scores[a]! || a - b);
}

/** Int32[rows]: the picture that a row belongs to. */
export function pictureOfRow(starts: Int32Array): Int32Array {
  const pictures = new Int32Array(starts.at(-1) ?? 0);
  for (let picture = 0; picture + 1 < starts.length; picture++) {
    pictures.fill(picture, starts[picture], starts[picture + 1]);
  }
  return pictures;
}

/** Stable counting sort: rows of class c are rows[starts[c]..starts[c + 1]), in the order of the table. */
function rowsByClass(classIds: Int32Array, classCount: number): { rows: Int32Array; starts: Int32Array } {
  const starts = new Int32Array(classCount + 1);
  for (const classId of classIds) starts[classId + 1]!++;
  for (let classId = 0; classId < classCount; classId++) starts[classId + 1]! += starts[classId]!;
  const next = starts.slice();
  const rows = new Int32Array(classIds.length);
  for (let row = 0; row < classIds.length; row++) rows[next[classIds[row]!]!++] = row;
  return { rows, starts };
}

/** @throws DataError where the tables do not belong together, a score is not finite or a class is out of range */
export function checkTables(truth: TruthTable, detections: DetectionTable, classCount: number): void {
  if (truth.starts.length !== detections.starts.length) {
    throw new DataError(
      `ground truth of ${truth.starts.length - 1} pictures and detections of ${detections.starts.length - 1} pictures`,
      {
        hint: 'give detections for every picture of the ground truth, in the same order; none is an empty list',
      },
    );
  }
  checkClasses('object', truth.classIds, classCount);
  checkClasses('detection', detections.classIds, classCount);
  const notFinite = detections.scores.findIndex((score) => !Number.isFinite(score));
  if (notFinite >= 0) {
    throw new DataError(`detection ${notFinite} has the score ${detections.scores[notFinite]}`, {
      hint: 'scores must be finite: the model gave NaN or an infinite value',
    });
  }
}

function checkClasses(what: string, classIds: Int32Array, classCount: number): void {
  const outside = classIds.findIndex((classId) => classId < 0 || classId >= classCount);
  if (outside < 0) return;
  throw new DataError(
    `${what} ${outside} has the class ${classIds[outside]}, expected 0 to ${classCount - 1}`,
    { hint: 'map the classes of the model to those of the data set by name' },
  );
}
