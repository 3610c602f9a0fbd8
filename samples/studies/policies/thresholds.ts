// Threshold policies, each against the fixed threshold that keeps as many boxes of the same list.
import type { Detection } from 'edge-detect';
import {
  accepts,
  conformalThresholds,
  drawnBestF1,
  outcomesPerClass,
  scoreTailMass,
  type ThresholdPolicy,
} from 'edge-detect/core';
import { nameGroup } from 'edge-detect/data';
import type { Predictions } from 'edge-detect/evaluate';
import { type Judged, judge } from './measure.ts';
import type { ChoiceSetting, SlicedData } from './setting.ts';

/** Best F1 on the other cameras: per class, and per class and light. */
export const PER_CLASS_CHOICE = 'per class (best F1)';
export const LIGHT_CHOICE = 'light (best F1)';

export interface ThresholdChoice {
  readonly name: string;
  /** Whether a row of the detections is kept. */
  readonly keeps: (row: number) => boolean;
}

/** Rules on the variance or the law of a score, where the model states it. */
export function ruleChoices(
  plain: Judged,
  kept: readonly Detection[],
  conf: number,
): readonly ThresholdChoice[] {
  const rules: ThresholdPolicy[] = [];
  if (kept[0]?.scoreVariance !== undefined) {
    rules.push({ kind: 'variance', base: conf, k: 0.3 }, { kind: 'std', base: conf, k: 0.1 });
  }
  if (kept[0]?.distribution !== undefined) rules.push({ kind: 'tail-mass', base: conf, probability: 0.5 });
  return rules.map((rule) => ({
    name: rule.kind,
    keeps: (row) => {
      const { distribution, scoreVariance = 0 } = kept[row]!;
      return accepts(rule, {
        classId: plain.detections.classIds[row]!,
        score: plain.detections.scores[row]!,
        variance: scoreVariance,
        tailMass: (base) => (distribution === undefined ? 0 : scoreTailMass(distribution, base)),
      });
    },
  }));
}

/**
 * Thresholds from data, for every camera from the others: best F1 per class, the same per slice (`light`), and conformal
 * object recall per class and slice.
 */
export function fittedChoices(
  plain: Judged,
  data: SlicedData,
  predictions: Predictions,
  setting: ChoiceSetting,
): readonly ThresholdChoice[] {
  const cameras = data.pictures.map(nameGroup);
  const pictureOf = picturesOfRows(plain);
  const perCamera = new Map(
    [...new Set(cameras)].map((camera) => {
      const others = [...cameras.keys()].filter((place) => cameras[place] !== camera);
      return [camera, thresholdsFrom(others, plain, data, predictions, setting)] as const;
    }),
  );
  const choice = (name: string, of: (table: FittedThresholds, slice: string) => readonly number[]) => ({
    name,
    keeps: (row: number) => {
      const picture = pictureOf[row]!;
      const thresholds = of(perCamera.get(cameras[picture]!)!, data.slices[picture]!);
      return plain.detections.scores[row]! >= thresholds[plain.detections.classIds[row]!]!;
    },
  });
  const choices = [choice(PER_CLASS_CHOICE, ({ perClass }) => perClass)];
  if (new Set(data.slices).size > 1) {
    choices.push(choice(LIGHT_CHOICE, ({ perClass, light }, slice) => light.get(slice) ?? perClass));
  }
  choices.push(
    choice(`conformal (miss ≤ ${setting.alpha})`, ({ conformal }, slice) => conformal.get(slice) ?? []),
  );
  return choices;
}

/** Per class id; Infinity keeps nothing, -Infinity all. */
interface FittedThresholds {
  readonly perClass: readonly number[];
  readonly light: ReadonlyMap<string, readonly number[]>;
  readonly conformal: ReadonlyMap<string, readonly number[]>;
}

function thresholdsFrom(
  places: readonly number[],
  plain: Judged,
  data: SlicedData,
  predictions: Predictions,
  setting: ChoiceSetting,
): FittedThresholds {
  const outcomes = outcomesPerClass(plain.truth, plain.detections, { classCount: plain.classCount });
  const counts = (chosen: readonly number[]) => {
    const drawn = new Int32Array(data.pictures.length);
    for (const place of chosen) drawn[place] = 1;
    return drawn;
  };
  const perClass = outcomes.map((one) => drawnBestF1(one, counts(places))?.threshold ?? Infinity);
  const slices = [...new Set(data.slices)];
  const light = slices.map((slice) => {
    const own = counts(places.filter((place) => data.slices[place] === slice));
    const thresholds = outcomes.map((one, classId) => drawnBestF1(one, own)?.threshold ?? perClass[classId]!);
    return [slice, thresholds] as const;
  });
  const part = <T>(list: readonly T[]) => places.map((place) => list[place]!);
  const subset = judge(
    { ...data, pictures: part(data.pictures) },
    { ...predictions, pictures: part(predictions.pictures) },
    setting,
  );
  const conformal = conformalThresholds(subset.truth, subset.detections, {
    classCount: subset.classCount,
    slices: part(data.slices),
    lost: setting.alpha,
  }).map(
    ({ slice, perClass: own }) =>
      [slice, own.map(({ objectRecall }) => objectRecall.threshold ?? -Infinity)] as const,
  );
  return { perClass, light: new Map(light), conformal: new Map(conformal) };
}

function picturesOfRows({ detections: { starts, scores } }: Judged): Int32Array {
  const pictures = new Int32Array(scores.length);
  for (let picture = 0; picture + 1 < starts.length; picture++) {
    pictures.fill(picture, starts[picture]!, starts[picture + 1]!);
  }
  return pictures;
}
