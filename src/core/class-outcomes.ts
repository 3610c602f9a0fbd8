// What every detection of a class is (hit, false alarm, ignored) at each IoU and in each range of areas of COCO.
import type { DetectionTable, MatchGroup } from './match-groups.ts';
import type { GroupMatcher } from './matching.ts';
import { OUTCOME } from './precision-recall.ts';

/** numpy.linspace(.5, .95, 10): its ninth value is not .9, and an IoU of exactly .9 counts. */
export const IOUS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999, 0.95] as const;
export const IOU_75 = 5;

/** Ranges of the object's area in px², both ends inclusive. */
export const AREAS: readonly (readonly [number, number])[] = [
  [0, 1e10],
  [0, 32 ** 2],
  [32 ** 2, 96 ** 2],
  [96 ** 2, 1e10],
];
export const [ALL, SMALL, MEDIUM, LARGE] = [0, 1, 2, 3] as const;

/** Every detection of a class with what it is at each IoU in each range of areas. */
export interface ClassOutcomes {
  /** Float64[K]. */
  readonly scores: Float64Array;
  /** Int32[K], place among the detections of its picture. */
  readonly ranks: Int32Array;
  /** Uint8[area, IoU, K]. */
  readonly outcomes: Uint8Array;
  /** Objects that count, per range of areas. */
  readonly positives: readonly number[];
}

export function collectClass(
  matcher: GroupMatcher,
  groups: readonly MatchGroup[],
  detections: DetectionTable,
): ClassOutcomes {
  const count = groups.reduce((sum, group) => sum + group.detections.length, 0);
  const scores = new Float64Array(count);
  const ranks = new Int32Array(count);
  const outcomes = new Uint8Array(AREAS.length * IOUS.length * count);
  const positives = AREAS.map(() => 0);
  let first = 0;
  for (const group of groups) {
    matcher.load(group);
    for (let place = 0; place < group.detections.length; place++) {
      scores[first + place] = detections.scores[group.detections[place]!]!;
      ranks[first + place] = place;
    }
    for (let area = 0; area < AREAS.length; area++) {
      positives[area]! += matcher.limitArea(AREAS[area]![0], AREAS[area]![1]);
      for (let iou = 0; iou < IOUS.length; iou++) {
        const row = (area * IOUS.length + iou) * count + first;
        outcomesInto(outcomes, row, { matcher, group, detections, iou: IOUS[iou]!, area: AREAS[area]! });
      }
    }
    first += group.detections.length;
  }
  return { scores, ranks, outcomes, positives };
}

function outcomesInto(
  target: Uint8Array,
  first: number,
  one: {
    readonly matcher: GroupMatcher;
    readonly group: MatchGroup;
    readonly detections: DetectionTable;
    readonly iou: number;
    readonly area: readonly [number, number];
  },
): void {
  const { matcher, group, area } = one;
  const { boxes } = one.detections;
  const matched = matcher.match(one.iou);
  for (let place = 0; place < group.detections.length; place++) {
    const found = matched[place]!;
    if (found >= 0) {
      target[first + place] = matcher.isIgnored(found) ? OUTCOME.ignored : OUTCOME.hit;
      continue;
    }
    const corner = 4 * group.detections[place]!;
    const size = (boxes[corner + 2]! - boxes[corner]!) * (boxes[corner + 3]! - boxes[corner + 1]!);
    target[first + place] = size < area[0] || size > area[1] ? OUTCOME.ignored : OUTCOME.falseAlarm;
  }
}
