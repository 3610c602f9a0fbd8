// Average precision of Pascal VOC (Everingham et al., 2010, 2015): the area under the whole envelope (every point, since
// VOC2010) or the mean of eleven points of it (VOC2007), each at one IoU.
import type { DetectionTable, TruthTable } from './match-groups.ts';
import { byFallingScore, groupForMatching } from './match-groups.ts';
import { type BoxExtent, createGroupMatcher } from './matching.ts';
import { meanOfKnown, OUTCOME, type OutcomesByScore } from './precision-recall.ts';

export interface VocOptions {
  readonly classCount: number;
  /** Least IoU of a hit. Default .5. */
  readonly iou?: number;
  /** Default `edges`; `inclusive` is what VOC's own kit does with its whole-numbered corners. */
  readonly extent?: BoxExtent;
}

export interface ClassVocPrecision {
  readonly classId: number;
  /** Without difficult objects and crowds. */
  readonly objects: number;
  /** Null without objects. */
  readonly everyPoint: number | null;
  readonly elevenPoint: number | null;
}

/** Means over the classes that have objects; null without any. */
export interface VocPrecision {
  readonly everyPoint: number | null;
  readonly elevenPoint: number | null;
  readonly perClass: readonly ClassVocPrecision[];
  readonly iou: number;
  readonly extent: BoxExtent;
}

/**
 * Both averages under VOC's own matching (`matchBest`): a second box on an object that is taken is a false alarm, whatever
 * else it overlaps. All detections count, however many a picture has. Difficult objects count neither way, and so do
 * crowds, which VOC does not know. Equal scores keep the order of the tables.
 * @throws DataError where the tables do not belong together, a score is not finite or a class is out of range
 */
export function vocAveragePrecision(
  truth: TruthTable,
  detections: DetectionTable,
  { classCount, iou = 0.5, extent = 'edges' }: VocOptions,
): VocPrecision {
  const { groups } = groupForMatching(truth, detections, { classCount, maxDets: Infinity });
  const matcher = createGroupMatcher(truth, detections, extent);
  const perClass = Array.from({ length: classCount }, (_, classId): ClassVocPrecision => {
    const rows: number[] = [];
    const outcomes: number[] = [];
    let positives = 0;
    for (const group of groups(classId)) {
      matcher.load(group);
      positives += matcher.limitArea(0, Infinity);
      const matched = matcher.matchBest(iou);
      for (const [place, row] of group.detections.entries()) {
        const found = matched[place]!;
        rows.push(row);
        if (found < 0) outcomes.push(OUTCOME.falseAlarm);
        else outcomes.push(matcher.isIgnored(found) ? OUTCOME.ignored : OUTCOME.hit);
      }
    }
    if (positives === 0) return { classId, objects: 0, everyPoint: null, elevenPoint: null };
    const scores = Float64Array.from(rows, (row) => detections.scores[row]!);
    const order = byFallingScore(Int32Array.from(rows.keys()), scores);
    const byScore = { outcomes: Uint8Array.from(outcomes), order, positives };
    return {
      classId,
      objects: positives,
      everyPoint: everyPointAp(byScore),
      elevenPoint: elevenPointAp(byScore),
    };
  });
  return {
    everyPoint: meanOfKnown(perClass.map(({ everyPoint }) => everyPoint)),
    elevenPoint: meanOfKnown(perClass.map(({ elevenPoint }) => elevenPoint)),
    perClass,
    iou,
    extent,
  };
}

/** Σ (r_i − r_i−1) · max precision at recall >= r_i: the area under the envelope, exact (VOC2010 and later). */
export function everyPointAp(byScore: OutcomesByScore): number {
  const { recall, precision } = envelopeOf(byScore);
  let area = 0;
  for (let rank = 0; rank < recall.length; rank++) {
    area += (recall[rank]! - (rank === 0 ? 0 : recall[rank - 1]!)) * precision[rank]!;
  }
  return area;
}

/**
 * Mean of the highest precision at recall >= 0, .1, … 1 (VOC2007). The recalls are `i * 0.1`, as numpy.linspace has them:
 * its .3, .6 and .7 lie one bit above, so that a recall of exactly .6 does not reach the seventh.
 */
export function elevenPointAp(byScore: OutcomesByScore): number {
  const { recall, precision } = envelopeOf(byScore);
  let [sum, rank] = [0, 0];
  for (let point = 0; point <= 10; point++) {
    while (rank < recall.length && recall[rank]! < point * 0.1) rank++;
    sum += precision[rank] ?? 0;
  }
  return sum / 11;
}

/** Recall, and the highest precision from there on, per counted detection. */
function envelopeOf({ outcomes, order, positives }: OutcomesByScore): {
  readonly recall: readonly number[];
  readonly precision: readonly number[];
} {
  const [recall, precision]: [number[], number[]] = [[], []];
  let hits = 0;
  for (const row of order) {
    if (outcomes[row] === OUTCOME.ignored) continue;
    if (outcomes[row] === OUTCOME.hit) hits++;
    recall.push(hits / positives);
    precision.push(hits / recall.length);
  }
  for (let rank = precision.length - 2; rank >= 0; rank--) {
    precision[rank] = Math.max(precision[rank]!, precision[rank + 1]!);
  }
  return { recall, precision };
}
