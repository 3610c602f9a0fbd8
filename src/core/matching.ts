// Which detection found which object: the greedy one-to-one matching of the COCO evaluation, on which every figure
// about detections stands.
import type { DetectionTable, MatchGroup, TruthTable } from './match-groups.ts';
import { groupForMatching, TRUTH_KIND } from './match-groups.ts';

/** Matches the groups of one pair of tables; holds buffers, so one serves one evaluation. */
export interface GroupMatcher {
  /** Takes a group and measures its overlaps. */
  load(group: MatchGroup): void;
  /**
   * Objects with an area outside [low, high] px² are ignored from now on, as crowd and difficult ones are.
   * @returns objects that count
   */
  limitArea(low: number, high: number): number;
  /**
   * Greedy by falling score: the best object that is left with IoU >= `iou`, a later one where equal, an ignored one
   * only where no other fits (the rules of pycocotools' COCOeval).
   * @returns Int32, per detection of the group: place in `group.objects`, -1 for none; memory of the matcher
   */
  match(iou: number): Int32Array;
  /**
   * Greedy by falling score, by the rule of Pascal VOC (Everingham et al., 2010, §4.2): each detection stands for the
   * object that it overlaps most, the earlier one where equal, with IoU >= `iou`; a counted object goes to the first, and
   * whoever comes after finds nothing, however well it fits another object.
   * @returns as `match`
   */
  matchBest(iou: number): Int32Array;
  /** Whether the object at this place of the group is ignored. */
  isIgnored(place: number): boolean;
  /** IoU of a detection and an object of the group; over the detection's area where that is a crowd. */
  overlap(detection: number, place: number): number;
}

/**
 * How far a box reaches. `edges`: x2 − x1 wide. `inclusive`: x2 is the last pixel inside, x2 − x1 + 1 wide, as in the
 * development kit of Pascal VOC.
 */
export type BoxExtent = 'edges' | 'inclusive';

export function createGroupMatcher(
  truth: TruthTable,
  detections: DetectionTable,
  extent: BoxExtent = 'edges',
): GroupMatcher {
  const margin = extent === 'inclusive' ? 1 : 0;
  let group: MatchGroup = { picture: 0, objects: new Int32Array(), detections: new Int32Array() };
  let overlaps = new Float64Array(1024);
  let peaks = new Float64Array(512);
  let ignored = new Uint8Array(64);
  let used = new Uint8Array(64);
  let order = new Int32Array(64);
  let matched = new Int32Array(512);
  return {
    load(next) {
      group = next;
      const [objectCount, detectionCount] = [group.objects.length, group.detections.length];
      if (ignored.length < objectCount) {
        ignored = new Uint8Array(2 * objectCount);
        used = new Uint8Array(2 * objectCount);
        order = new Int32Array(2 * objectCount);
      }
      if (matched.length < detectionCount) {
        matched = new Int32Array(2 * detectionCount);
        peaks = new Float64Array(2 * detectionCount);
      }
      if (overlaps.length < objectCount * detectionCount) {
        overlaps = new Float64Array(2 * objectCount * detectionCount);
      }
      overlapsInto(overlaps, peaks, { group, truth, detections, margin });
    },
    limitArea(low, high) {
      const { objects } = group;
      let counted = 0;
      for (let place = 0; place < objects.length; place++) {
        const area = truth.areas[objects[place]!]!;
        const outside = truth.kinds[objects[place]!] !== TRUTH_KIND.object || area < low || area > high;
        ignored[place] = outside ? 1 : 0;
        if (!outside) order[counted++] = place;
      }
      let last = counted;
      for (let place = 0; place < objects.length; place++) if (ignored[place] === 1) order[last++] = place;
      return counted;
    },
    match(iou) {
      matchInto(matched, used, { group, truth, overlaps, peaks, ignored, order, iou });
      return matched;
    },
    matchBest(iou) {
      matchBestInto(matched, used, { group, overlaps, peaks, ignored, iou });
      return matched;
    },
    isIgnored: (place) => ignored[place] === 1,
    overlap: (detection, place) => overlaps[detection * group.objects.length + place]!,
  };
}

interface Loaded {
  readonly group: MatchGroup;
  readonly truth: TruthTable;
  readonly overlaps: Float64Array;
  /** Highest overlap per detection: most are below every threshold. */
  readonly peaks: Float64Array;
  readonly ignored: Uint8Array;
  readonly order: Int32Array;
  readonly iou: number;
}

function matchInto(matched: Int32Array, used: Uint8Array, loaded: Loaded): void {
  const { group, truth, overlaps, peaks, ignored, order, iou } = loaded;
  const { objects } = group;
  const least = Math.min(iou, 1 - 1e-10);
  used.fill(0, 0, objects.length);
  for (let detection = 0; detection < group.detections.length; detection++) {
    const row = detection * objects.length;
    let best = least;
    let found = -1;
    matched[detection] = -1;
    if (peaks[detection]! < least) continue;
    for (let rank = 0; rank < objects.length; rank++) {
      const place = order[rank]!;
      if (overlaps[row + place]! < best) continue;
      // Ignored objects come last: they take only what no counted object wants.
      if (found >= 0 && ignored[found] === 0 && ignored[place] === 1) break;
      if (used[place] === 1 && truth.kinds[objects[place]!] === TRUTH_KIND.object) continue;
      best = overlaps[row + place]!;
      found = place;
    }
    matched[detection] = found;
    if (found >= 0) used[found] = 1;
  }
}

function matchBestInto(
  matched: Int32Array,
  used: Uint8Array,
  { group, overlaps, peaks, ignored, iou }: Pick<Loaded, 'group' | 'overlaps' | 'peaks' | 'ignored' | 'iou'>,
): void {
  const objectCount = group.objects.length;
  used.fill(0, 0, objectCount);
  for (let detection = 0; detection < group.detections.length; detection++) {
    matched[detection] = -1;
    const peak = peaks[detection]!;
    if (objectCount === 0 || peak < iou || peak === 0) continue;
    const first = detection * objectCount;
    const found = overlaps.indexOf(peak, first) - first;
    if (used[found] === 1 && ignored[found] === 0) continue;
    matched[detection] = found;
    used[found] = 1;
  }
}

function overlapsInto(
  target: Float64Array,
  peaks: Float64Array,
  {
    group: { objects, detections: rows },
    truth,
    detections,
    margin,
  }: {
    readonly group: MatchGroup;
    readonly truth: TruthTable;
    readonly detections: DetectionTable;
    /** Added to every width and height. */
    readonly margin: number;
  },
): void {
  const [a, b] = [detections.boxes, truth.boxes];
  for (let place = 0; place < rows.length; place++) {
    const i = 4 * rows[place]!;
    const area = (a[i + 2]! - a[i]! + margin) * (a[i + 3]! - a[i + 1]! + margin);
    let peak = 0;
    for (let object = 0; object < objects.length; object++) {
      const j = 4 * objects[object]!;
      const width = Math.min(a[i + 2]!, b[j + 2]!) - Math.max(a[i]!, b[j]!) + margin;
      const height = Math.min(a[i + 3]!, b[j + 3]!) - Math.max(a[i + 1]!, b[j + 1]!) + margin;
      let overlap = 0;
      if (width > 0 && height > 0) {
        const shared = width * height;
        const crowd = truth.kinds[objects[object]!] === TRUTH_KIND.crowd;
        const own = (b[j + 2]! - b[j]! + margin) * (b[j + 3]! - b[j + 1]! + margin);
        overlap = shared / (crowd ? area : area + own - shared);
      }
      target[place * objects.length + object] = overlap;
      if (overlap > peak) peak = overlap;
    }
    peaks[place] = peak;
  }
}

/** What became of the detections of a table at one IoU. */
export interface Matches {
  /** Int32[K], row of the object that was found; -1 for a false alarm and for what is left out. */
  readonly objects: Int32Array;
  /** Float64[K], IoU with that object; 0 without one. */
  readonly ious: Float64Array;
  /** Uint8[K], 1 where a detection is left out: inside a crowd or on a difficult object, or beyond `maxDets`. */
  readonly leftOut: Uint8Array;
  /** Int32[classCount], objects that count. */
  readonly positives: Int32Array;
}

/**
 * @param options `iou`: least overlap of a match. At 0 a box may "match" what it does not touch; use 1e-9 for "any overlap"
 */
export function matchDetections(
  truth: TruthTable,
  detections: DetectionTable,
  options: { readonly classCount: number; readonly maxDets: number; readonly iou: number },
): Matches {
  const { classCount, iou } = options;
  const grouping = groupForMatching(truth, detections, options);
  const matcher = createGroupMatcher(truth, detections);
  const count = detections.scores.length;
  const objects = new Int32Array(count).fill(-1);
  const ious = new Float64Array(count);
  const leftOut = new Uint8Array(count).fill(1);
  const positives = new Int32Array(classCount);
  for (let classId = 0; classId < classCount; classId++) {
    for (const group of grouping.groups(classId)) {
      matcher.load(group);
      positives[classId]! += matcher.limitArea(0, Infinity);
      const matched = matcher.match(iou);
      for (let place = 0; place < group.detections.length; place++) {
        const row = group.detections[place]!;
        const found = matched[place]!;
        if (found >= 0 && matcher.isIgnored(found)) continue;
        leftOut[row] = 0;
        if (found < 0) continue;
        objects[row] = group.objects[found]!;
        ious[row] = matcher.overlap(place, found);
      }
    }
  }
  return { objects, ious, leftOut, positives };
}
