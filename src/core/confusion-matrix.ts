// Which class is taken for which: detections and objects paired by overlap alone, whatever their classes.
import type { DetectionTable, MatchGroup, TruthTable } from './match-groups.ts';
import { checkTables, groupForMatching, TRUTH_KIND } from './match-groups.ts';
import { createGroupMatcher, type GroupMatcher } from './matching.ts';

export interface ConfusionOptions {
  readonly classCount: number;
  /** Detections count above this score. Default .25. */
  readonly minScore?: number;
  /** Pairs overlap by more than this. Default .45. */
  readonly iou?: number;
}

export interface ConfusionMatrix {
  /**
   * Float64[(C + 1)²], row by row; row = what was predicted, column = what it is, as YOLOv5 to YOLO11 have it. Row C holds
   * the objects that were missed, column C the boxes where nothing is; the cell of both stays 0.
   */
  readonly counts: Float64Array;
  readonly classCount: number;
  readonly minScore: number;
  readonly iou: number;
}

/**
 * One to one by falling IoU, equal ones in the order of the detections' scores. A box left over that lies on a crowd or a
 * difficult object by more than `iou` (of a crowd: of its own area) is not counted; nor are those as missed.
 * @throws DataError where the tables do not belong together, a score is not finite or a class is out of range
 */
export function confusionMatrix(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, minScore = 0.25, iou = 0.45 }: ConfusionOptions,
): ConfusionMatrix {
  // Here and not in the grouping, which sees one class only.
  checkTables(truth, detections, classCount);
  const one = <Table extends TruthTable | DetectionTable>(table: Table): Table => ({
    ...table,
    classIds: new Int32Array(table.classIds.length),
  });
  const grouping = groupForMatching(one(truth), one(detections), { classCount: 1, maxDets: Infinity });
  const matcher = createGroupMatcher(truth, detections);
  const side = classCount + 1;
  const counts = new Float64Array(side * side);
  for (const { detections: found, ...group } of grouping.groups(0)) {
    const kept = found.filter((row) => detections.scores[row]! > minScore);
    const picture = { ...group, detections: kept };
    const objectOf = pairByOverlap(matcher, picture, truth.kinds, iou);
    const taken = new Set(objectOf);
    for (const [place, row] of kept.entries()) {
      const object = objectOf[place]!;
      if (object === ABSORBED) continue;
      const column = object === NOTHING ? classCount : truth.classIds[group.objects[object]!]!;
      counts[detections.classIds[row]! * side + column]!++;
    }
    for (const [place, row] of group.objects.entries()) {
      if (truth.kinds[row] !== TRUTH_KIND.object || taken.has(place)) continue;
      counts[classCount * side + truth.classIds[row]!]!++;
    }
  }
  return { counts, classCount, minScore, iou };
}

const NOTHING = -1;
const ABSORBED = -2;

/** @returns Int32, per detection of the picture: place of its object, `NOTHING`, or `ABSORBED` by what does not count */
function pairByOverlap(
  matcher: GroupMatcher,
  picture: MatchGroup,
  kinds: Uint8Array,
  iou: number,
): Int32Array {
  matcher.load(picture);
  const { objects, detections } = picture;
  const objectOf = new Int32Array(detections.length).fill(NOTHING);
  const pairs: { readonly detection: number; readonly object: number; readonly overlap: number }[] = [];
  for (let detection = 0; detection < detections.length; detection++) {
    for (let object = 0; object < objects.length; object++) {
      const overlap = matcher.overlap(detection, object);
      if (overlap <= iou) continue;
      if (kinds[objects[object]!] === TRUTH_KIND.object) pairs.push({ detection, object, overlap });
      else objectOf[detection] = ABSORBED;
    }
  }
  const used = new Uint8Array(objects.length);
  const placed = new Uint8Array(detections.length);
  for (const { detection, object } of pairs.sort((a, b) => b.overlap - a.overlap)) {
    if (placed[detection] === 1 || used[object] === 1) continue;
    objectOf[detection] = object;
    placed[detection] = 1;
    used[object] = 1;
  }
  return objectOf;
}
