// Two ways to judge a list of boxes fairly: AP, which needs no threshold, and what is found with equally many boxes.
import {
  bootstrapFigures,
  type DetectionTable,
  drawnAp,
  type Figure,
  matchDetections,
  outcomesPerClass,
  TRUTH_KIND,
  type TruthTable,
} from 'edge-detect/core';
import { evaluationTables, type Predictions } from 'edge-detect/evaluate';
import type { PolicySetting, SlicedData } from './setting.ts';

export interface Judged {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  readonly classCount: number;
  /** Ids of the classes that the model can name. */
  readonly classes: readonly number[];
}

export function judge(
  { classNames, pictures }: SlicedData,
  predictions: Predictions,
  { classMap }: Pick<PolicySetting, 'classMap'>,
): Judged {
  const { comparable, ...tables } = evaluationTables(
    { classNames, pictures },
    predictions,
    classMap === undefined ? {} : { classMap },
  );
  return {
    truth: tables.truth,
    detections: tables.detections,
    classCount: tables.classNames.length,
    classes: comparable.map((name) => tables.classNames.indexOf(name)),
  };
}

/** Places of pictures by name of the slice, `all` first. */
export function placesBySlice(slices: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map([['all', [...slices.keys()]]]);
  for (const [place, slice] of slices.entries()) {
    if (slice !== 'all') places.set(slice, [...(places.get(slice) ?? []), place]);
  }
  return places;
}

const AP_RESAMPLES = 200;

/** COCO's AP, mean over the classes with objects: that of the policy, and the difference from plain suppression. */
export function apFigures(policy: Judged, plain: Judged, places: readonly number[]) {
  const outcomes = [policy, plain].map((judged) => {
    const perClass = outcomesPerClass(judged.truth, judged.detections, { classCount: judged.classCount });
    return judged.classes.map((classId) => perClass[classId]!);
  });
  const mean = (side: number, counts: Int32Array) => {
    const values = outcomes[side]!.flatMap((one) => drawnAp(one, counts) ?? []);
    const over = (of: (one: { readonly ap: number; readonly ap50: number }) => number) =>
      values.length === 0 ? undefined : values.reduce((sum, one) => sum + of(one), 0) / values.length;
    return { ap: over(({ ap }) => ap), ap50: over(({ ap50 }) => ap50) };
  };
  return bootstrapFigures(
    plain.truth.starts.length - 1,
    [{ key: 'pictures', groups: places }],
    (counts) => {
      const [own, other] = [mean(0, counts), mean(1, counts)];
      return { ap: own.ap, apGain: difference(own.ap, other.ap), ap50Gain: difference(own.ap50, other.ap50) };
    },
    { resamples: AP_RESAMPLES },
  );
}

/** What a choice of boxes finds, per picture. */
export interface Found {
  /** Int32[pictures]. */
  readonly hits: Int32Array;
  readonly kept: Int32Array;
  readonly objects: Int32Array;
}

/** @param keeps whether a row of the detections is kept */
export function found(
  { truth, detections, classCount, classes }: Judged,
  keeps: (row: number) => boolean,
  iou: number,
): Found {
  const { objects: objectOf, leftOut } = matchDetections(truth, detections, {
    classCount,
    iou,
    maxDets: 300,
  });
  const count = truth.starts.length - 1;
  const [hits, kept, objects] = [new Int32Array(count), new Int32Array(count), new Int32Array(count)];
  for (let picture = 0; picture < count; picture++) {
    for (let row = detections.starts[picture]!; row < detections.starts[picture + 1]!; row++) {
      if (leftOut[row] === 1 || !keeps(row)) continue;
      kept[picture]!++;
      if (objectOf[row]! >= 0) hits[picture]!++;
    }
    for (let row = truth.starts[picture]!; row < truth.starts[picture + 1]!; row++) {
      if (truth.kinds[row] === TRUTH_KIND.object && classes.includes(truth.classIds[row]!))
        objects[picture]!++;
    }
  }
  return { hits, kept, objects };
}

/** Keeps the `count` highest scores of all pictures, ties by row. */
export function highest({ detections: { scores } }: Judged, count: number): (row: number) => boolean {
  const rows = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b);
  const chosen = new Set(rows.slice(0, count));
  return (row) => chosen.has(row);
}

export function total(counts: Int32Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Figures of the policy, of the plain choice, and of the policy minus the plain choice. */
export interface Comparison {
  readonly recall: Figure;
  readonly plainRecall: Figure;
  readonly precision: Figure;
  readonly plainPrecision: Figure;
  readonly recallGain: Figure;
  readonly precisionGain: Figure;
  readonly f1Gain: Figure;
  /** Mean number of boxes a picture, of the policy and of the plain one. */
  readonly boxes: readonly [policy: number, plain: number];
}

/** Differences of what two choices find in the same pictures, with intervals over resampled pictures. */
export function compareFound(policy: Found, plain: Found, places: readonly number[]): Comparison {
  const sum = (values: Int32Array, counts: Int32Array) =>
    places.reduce((whole, place) => whole + values[place]! * counts[place]!, 0);
  const rates = ({ hits, kept, objects }: Found, counts: Int32Array) => {
    const [hit, boxes, all] = [sum(hits, counts), sum(kept, counts), sum(objects, counts)];
    return { recall: ratio(hit, all), precision: ratio(hit, boxes), f1: ratio(2 * hit, boxes + all) };
  };
  const figures = bootstrapFigures(policy.hits.length, [{ key: 'pictures', groups: places }], (counts) => {
    const [own, other] = [rates(policy, counts), rates(plain, counts)];
    return {
      recall: own.recall,
      plainRecall: other.recall,
      precision: own.precision,
      plainPrecision: other.precision,
      recallGain: difference(own.recall, other.recall),
      precisionGain: difference(own.precision, other.precision),
      f1Gain: difference(own.f1, other.f1),
    };
  });
  const perPicture = ({ kept }: Found) =>
    places.reduce((whole, place) => whole + kept[place]!, 0) / Math.max(1, places.length);
  return { ...figures, boxes: [perPicture(policy), perPicture(plain)] };
}

function ratio(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}

function difference(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}
