// Object-level calibration error (OCE; Park, Sobolewski and Azizan, 2024): judged from the
// objects, so that a detector that says nothing pays for each object it leaves out. D-ECE and LaECE forgive that.
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { TRUTH_KIND } from './match-groups.ts';

export interface ObjectCalibrationOptions {
  readonly classCount: number;
  /** Default .5 and .75. */
  readonly ious?: readonly number[];
  /** Detections below are left out. Default 0. */
  readonly minScore?: number;
  /**
   * float[K, C]: all class scores of each detection. Without, a detection has its score on its class and 0 on the
   * others, which reads a shared score as certain.
   */
  readonly scoreVectors?: ArrayLike<number>;
}

export interface ObjectCalibration {
  /** Mean over the IoUs, in [0, 2]; null without objects. */
  readonly error: number | null;
  readonly perIou: readonly { readonly iou: number; readonly error: number | null; readonly found: number }[];
  /** Without crowd regions and difficult objects. */
  readonly objects: number;
  readonly convention: {
    readonly minScore: number;
    readonly scores: 'vectors' | 'one-class';
    /** Any box of any class that overlaps, without one-to-one matching. */
    readonly matching: 'every-overlap';
    readonly missed: 1;
  };
}

/** Per object: Σ over classes (mean score of all boxes with IoU >= t − [is its class])²; 1 where there is no such box. */
export function objectCalibration(
  truth: TruthTable,
  detections: DetectionTable,
  options: ObjectCalibrationOptions,
): ObjectCalibration {
  const { classCount, ious = [0.5, 0.75], minScore = 0, scoreVectors } = options;
  const sums = ious.map(() => ({ error: 0, found: 0 }));
  const means = new Float64Array(classCount);
  let objects = 0;
  for (let picture = 0; picture + 1 < truth.starts.length; picture++) {
    for (let object = truth.starts[picture]!; object < truth.starts[picture + 1]!; object++) {
      if (truth.kinds[object] !== TRUTH_KIND.object) continue;
      objects++;
      const overlaps = overlapsOf(truth, object, detections, picture);
      for (const [place, iou] of ious.entries()) {
        let found = 0;
        means.fill(0);
        for (const [offset, overlap] of overlaps.entries()) {
          const row = detections.starts[picture]! + offset;
          if (overlap < iou || detections.scores[row]! < minScore) continue;
          found++;
          addScores(means, row, detections, scoreVectors);
        }
        if (found > 0) sums[place]!.found++;
        sums[place]!.error += found === 0 ? 1 : distanceToLabel(means, found, truth.classIds[object]!);
      }
    }
  }
  const perIou = ious.map((iou, place) => {
    const { error, found } = sums[place]!;
    return { iou, error: objects === 0 ? null : error / objects, found };
  });
  const total = sums.reduce((sum, { error }) => sum + error, 0);
  return {
    error: objects === 0 ? null : total / (objects * ious.length),
    perIou,
    objects,
    convention: {
      minScore,
      scores: scoreVectors === undefined ? 'one-class' : 'vectors',
      matching: 'every-overlap',
      missed: 1,
    },
  };
}

function addScores(
  means: Float64Array,
  row: number,
  { classIds, scores }: DetectionTable,
  scoreVectors: ArrayLike<number> | undefined,
): void {
  if (scoreVectors === undefined) {
    means[classIds[row]!]! += scores[row]!;
    return;
  }
  for (let classId = 0; classId < means.length; classId++) {
    means[classId]! += scoreVectors[row * means.length + classId]!;
  }
}

function distanceToLabel(sums: Float64Array, count: number, label: number): number {
  let distance = 0;
  for (let classId = 0; classId < sums.length; classId++) {
    distance += (sums[classId]! / count - (classId === label ? 1 : 0)) ** 2;
  }
  return distance;
}

/** IoU of one object with every detection of its picture. */
function overlapsOf(
  { boxes: b }: TruthTable,
  object: number,
  { boxes: a, starts }: DetectionTable,
  picture: number,
): Float64Array {
  const [first, end] = [starts[picture]!, starts[picture + 1]!];
  const overlaps = new Float64Array(end - first);
  const j = 4 * object;
  for (let row = first; row < end; row++) {
    const i = 4 * row;
    const width = Math.min(a[i + 2]!, b[j + 2]!) - Math.max(a[i]!, b[j]!);
    const height = Math.min(a[i + 3]!, b[j + 3]!) - Math.max(a[i + 1]!, b[j + 1]!);
    if (!(width > 0 && height > 0)) continue;
    const shared = width * height;
    const area = (a[i + 2]! - a[i]!) * (a[i + 3]! - a[i + 1]!);
    const objectArea = (b[j + 2]! - b[j]!) * (b[j + 3]! - b[j + 1]!);
    overlaps[row - first] = shared / (area + objectArea - shared);
  }
  return overlaps;
}
