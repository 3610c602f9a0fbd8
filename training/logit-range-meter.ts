// What the range of class logits was in an epoch, class by class: stored with the weights, as the reference of a later
// adaptation that has no class layer of the same classes.
import { createRandom, deriveSeed, type LogitRange, type LogitRowView, logitRangeInto } from '#core';
import type { ClassLogitRange, StoredLogitRanges } from '#onnx';

/**
 * Percentiles and not extremes: one odd anchor among thousands would set the reference for all. The upper end is of the
 * logit of the object's own class, which is the one that an adaptation inflates.
 */
const UPPER = 0.99;
const LOWER = 0.01;
const STATISTIC =
  'over the anchors assigned to objects of a class in the last epoch, as its steps saw them: greatest is the 99th percentile of the logit of that class, least the 1st percentile of the least logit of the row';

/** With fewer anchors a percentile is the luck of one of them. */
const FEWEST_POSITIVES = 20;

/** More than these per class and epoch are drawn from at random. */
const KEPT_PER_CLASS = 10_000;

export interface LogitRangeMeter {
  /** @param row class logits of an anchor that was assigned to an object of the class */
  add(classId: number, row: LogitRowView): void;
  /** By class id; undefined for classes with too few anchors. */
  value(): readonly (ClassLogitRange | undefined)[];
}

interface Kept {
  count: number;
  readonly matched: number[];
  readonly least: number[];
}

/** The same anchors in the same order give the same ranges, whether a run was resumed before or not. */
export function createLogitRangeMeter(classCount: number, seed: number, epoch: number): LogitRangeMeter {
  const random = createRandom(deriveSeed(seed, 13, epoch));
  const classes = Array.from({ length: classCount }, (): Kept => ({ count: 0, matched: [], least: [] }));
  const range: LogitRange = { least: 0, greatest: 0 };
  return {
    add(classId, row) {
      const kept = classes[classId]!;
      const place = kept.count++;
      const at = place < KEPT_PER_CLASS ? place : Math.floor(random.next() * kept.count);
      if (at >= KEPT_PER_CLASS) return;
      logitRangeInto(range, row);
      kept.matched[at] = row.logits[row.offset + classId * row.stride]!;
      kept.least[at] = range.least;
    },
    value: () =>
      classes.map(({ count, matched, least }) =>
        count < FEWEST_POSITIVES
          ? undefined
          : { least: percentile(least, LOWER), greatest: percentile(matched, UPPER), positives: count },
      ),
  };
}

/** By class name, as a model file holds them. */
export function toStoredRanges(
  ranges: readonly (ClassLogitRange | undefined)[],
  classNames: readonly string[],
): StoredLogitRanges {
  const named = classNames.flatMap((name, id) => {
    const range = ranges[id];
    return range === undefined ? [] : [[name, range] as const];
  });
  return { statistic: STATISTIC, classes: Object.fromEntries(named) };
}

/** Linear between the two neighbours. */
function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const [low, high] = [sorted[below]!, sorted[Math.min(below + 1, sorted.length - 1)]!];
  return low + (at - below) * (high - low);
}
