// The published threshold and suppression: against the fixed threshold as published, against the fixed one that keeps as
// many boxes, and against no threshold at all; per light, and for far and near objects.
import type { Detection } from 'edge-detect';
import {
  accepts,
  type DetectionTable,
  evaluateDetections,
  HARD_SUPPRESSION,
  matchDetections,
  PUBLISHED_THRESHOLD,
  type ThresholdPolicy,
  type TruthTable,
  UNCERTAINTY_SUPPRESSION,
} from 'edge-detect/core';
import { evaluationTables, type Predictions } from 'edge-detect/evaluate';
import type { HeldOut } from '../common/hold-out.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { LightName } from '../logit-range/pictures.ts';
import { suppressAll } from '../policies/boxes.ts';
import { SUPPRESSION_IOU } from './decode.ts';

/** The published base, and one at which scores that mean a quality keep more boxes. */
const RULE_BASES = [0.5, 0.25] as const;

const SLICES = ['all', 'day', 'dusk', 'night'] as const;
type Slice = (typeof SLICES)[number];

/** Objects of COCO's small ones are far: below 32 × 32 px. */
const FAR_AREA = 32 ** 2;

interface Tables {
  readonly truth: TruthTable;
  readonly detections: DetectionTable;
  readonly classCount: number;
}

/** Light of a picture, by its path. */
export type LightOf = (path: string) => LightName | undefined;

/** @param plain what suppression leaves, without a threshold @returns figures by `ruleRow` */
export function ruleFigures(
  plain: Predictions,
  heldOut: HeldOut,
  lightOf: LightOf,
): ReadonlyMap<string, Figures> {
  const rows = new Map<string, Figures>();
  for (const [slice, places] of placesOf(heldOut, lightOf)) {
    const whole = tablesAt(plain, heldOut, places);
    for (const base of RULE_BASES) {
      const keptBy = (policy: ThresholdPolicy) =>
        tablesAt(plain, heldOut, places, (detection) => accepts(policy, candidateOf(detection)));
      const ruled = keptBy({ ...PUBLISHED_THRESHOLD, base });
      const equal = highestOf(whole, ruled.detections.scores.length);
      rows.set(
        ruleRow(base, slice),
        againstFixed({ whole, ruled, fixed: keptBy({ kind: 'fixed', base }), equal }),
      );
    }
  }
  return rows;
}

/** @param proposed all boxes, before suppression @returns figures by slice */
export function suppressionFigures(
  proposed: Predictions,
  heldOut: HeldOut,
  lightOf: LightOf,
): ReadonlyMap<Slice, Figures> {
  const plain = suppressAll(proposed, HARD_SUPPRESSION, SUPPRESSION_IOU);
  const ordered = suppressAll(proposed, UNCERTAINTY_SUPPRESSION, SUPPRESSION_IOU);
  return new Map(
    [...placesOf(heldOut, lightOf)].map(([slice, places]) => [
      slice,
      againstPlain(tablesAt(ordered, heldOut, places), tablesAt(plain, heldOut, places)),
    ]),
  );
}

const ruleRow = (base: number, slice: Slice) => `base ${base}, ${slice}`;

/** Places of the pictures of every slice that has any. */
function placesOf({ pictures }: HeldOut, lightOf: LightOf): ReadonlyMap<Slice, readonly number[]> {
  const places = SLICES.map((slice) => {
    const own = [...pictures.keys()].filter(
      (place) => slice === 'all' || lightOf(pictures[place]!.path) === slice,
    );
    return [slice, own] as const;
  });
  return new Map(places.filter(([, own]) => own.length > 0));
}

function tablesAt(
  predictions: Predictions,
  { classNames, pictures }: HeldOut,
  places: readonly number[],
  keeps: (detection: Detection) => boolean = () => true,
): Tables {
  const found = places.map((place) => {
    const { detections, size } = predictions.pictures[place]!;
    return { size, detections: detections.filter(keeps) };
  });
  const tables = evaluationTables(
    { classNames, pictures: places.map((place) => pictures[place]!) },
    { classNames: predictions.classNames, pictures: found },
  );
  return { truth: tables.truth, detections: tables.detections, classCount: tables.classNames.length };
}

function candidateOf({ classId, score, scoreVariance = 0 }: Detection) {
  return { classId, score, variance: scoreVariance, tailMass: () => Number.NaN };
}

interface Compared {
  readonly whole: Tables;
  readonly ruled: Tables;
  readonly fixed: Tables;
  readonly equal: Tables;
}

function againstFixed({ whole, ruled, fixed, equal }: Compared): Figures {
  const [none, own, same, count] = [whole, ruled, fixed, equal].map(qualityOf) as [
    Quality,
    Quality,
    Quality,
    Quality,
  ];
  return {
    kept: own.kept,
    'kept by fixed': same.kept,
    exchanged: own.kept - sharedRows(ruled.detections, equal.detections),
    'ap50 without a cut': none.ap50,
    ap50: own.ap50,
    'ap50 over fixed': difference(own.ap50, same.ap50),
    'ap50 over equal': difference(own.ap50, count.ap50),
    'ap50 over no cut': difference(own.ap50, none.ap50),
    'ap over fixed': difference(own.ap, same.ap),
    'ap over equal': difference(own.ap, count.ap),
    'recall over fixed': difference(own.recall, same.recall),
    'recall over equal': difference(own.recall, count.recall),
    'precision over fixed': difference(own.precision, same.precision),
    'precision over equal': difference(own.precision, count.precision),
    'far recall over fixed': difference(own.far, same.far),
    'far recall over equal': difference(own.far, count.far),
    'near recall over fixed': difference(own.near, same.near),
    'near recall over equal': difference(own.near, count.near),
  };
}

/** The same suppressed lists: AP without a threshold, and recall of as many boxes as there are objects. */
function againstPlain(ordered: Tables, plain: Tables): Figures {
  const count = plain.truth.kinds.length;
  const [own, base] = [ordered, plain].map(qualityOf) as [Quality, Quality];
  const [ownBest, baseBest] = [ordered, plain].map((tables) => qualityOf(highestOf(tables, count))) as [
    Quality,
    Quality,
  ];
  return {
    'ap50 gain': difference(own.ap50, base.ap50),
    'ap gain': difference(own.ap, base.ap),
    'recall gain': difference(ownBest.recall, baseBest.recall),
    'far recall gain': difference(ownBest.far, baseBest.far),
    'near recall gain': difference(ownBest.near, baseBest.near),
  };
}

interface Quality {
  readonly kept: number;
  readonly ap50: number | null;
  readonly ap: number | null;
  readonly recall: number | null;
  readonly precision: number | null;
  /** Recall of far and of near objects. */
  readonly far: number | null;
  readonly near: number | null;
}

function qualityOf({ truth, detections, classCount }: Tables): Quality {
  const { ap50, ap } = evaluateDetections(truth, detections, { classCount });
  const { objects } = matchDetections(truth, detections, { classCount, iou: 0.5, maxDets: 300 });
  const found = [...objects].filter((object) => object >= 0);
  const share = (of: (row: number) => boolean) => {
    const all = [...truth.areas.keys()].filter(of).length;
    return all === 0 ? null : found.filter(of).length / all;
  };
  const kept = detections.scores.length;
  return {
    kept,
    ap50,
    ap,
    recall: share(() => true),
    precision: kept === 0 ? null : found.length / kept,
    far: share((row) => truth.areas[row]! < FAR_AREA),
    near: share((row) => truth.areas[row]! >= FAR_AREA),
  };
}

/** The `count` highest scores of all pictures, ties by row. */
function highestOf({ truth, detections, classCount }: Tables, count: number): Tables {
  const { scores, starts, boxes, classIds } = detections;
  const rows = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, count);
  rows.sort((a, b) => a - b);
  return {
    truth,
    classCount,
    detections: {
      starts: starts.map((start) => rows.filter((row) => row < start).length),
      classIds: Int32Array.from(rows, (row) => classIds[row]!),
      scores: Float64Array.from(rows, (row) => scores[row]!),
      boxes: Float64Array.from(rows.flatMap((row) => [...boxes.subarray(4 * row, 4 * row + 4)])),
    },
  };
}

/** Boxes that both have, picture by picture. */
function sharedRows(a: DetectionTable, b: DetectionTable): number {
  const keys = ({ starts, boxes }: DetectionTable, picture: number) =>
    Array.from({ length: starts[picture + 1]! - starts[picture]! }, (_, place) => {
      const row = starts[picture]! + place;
      return boxes.subarray(4 * row, 4 * row + 4).join(' ');
    });
  let shared = 0;
  for (let picture = 0; picture + 1 < a.starts.length; picture++) {
    const known = new Set(keys(b, picture));
    shared += keys(a, picture).filter((key) => known.has(key)).length;
  }
  return shared;
}

function difference(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a - b;
}
