// What a file is worth on the judging cameras, in each light: boxes, honesty of scores, and what is found at thresholds
// that were chosen on the fitting cameras.
import {
  bootstrapFigures,
  drawnAp,
  type Figure,
  localisationEce,
  operatingPoints,
  outcomesPerClass,
} from 'edge-detect/core';
import { evaluatePredictions, evaluationTables, type Predictions } from 'edge-detect/evaluate';
import { LEAST_RAW_SCORE } from '../common/cross-fit.ts';
import { bestBoxes } from '../common/quality-figures.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { LightName, PlacedPicture } from '../logit-range/pictures.ts';
import { found, type Judged } from '../policies/measure.ts';

export const LIGHTS = ['all', 'day', 'dusk', 'night'] as const;
export type LightRow = (typeof LIGHTS)[number];

/** One threshold for every light, or one of its own for each. */
export const RULES = ['one threshold', 'per light'] as const;
export type Rule = (typeof RULES)[number];

/** Pictures and what a file said about them. */
export interface Answers {
  readonly classNames: readonly string[];
  readonly placed: readonly PlacedPicture[];
  readonly predictions: Predictions;
}

/** Figures by light: of the boxes, and of each rule. */
export interface StageFigures {
  readonly boxes: Readonly<Record<LightRow, Figures>>;
  readonly rules: Readonly<Record<Rule, Readonly<Record<LightRow, Figures>>>>;
}

/** @param precision least share of kept boxes that hit, where a threshold is chosen */
export function judgeStage(fit: Answers, judge: Answers, precision: number): StageFigures {
  const thresholds = chooseThresholds(fit, precision);
  return {
    boxes: byLight((light) => boxFigures(answersIn(judge, light), precision)),
    rules: {
      'one threshold': ruleFigures(judge, () => thresholds.all),
      'per light': ruleFigures(judge, (light) => thresholds[light] ?? thresholds.all),
    },
  };
}

function byLight<Value>(of: (light: LightRow) => Value): Record<LightRow, Value> {
  return { all: of('all'), day: of('day'), dusk: of('dusk'), night: of('night') };
}

function answersIn({ classNames, placed, predictions }: Answers, light: LightRow): Answers {
  const places = [...placed.keys()].filter((place) => light === 'all' || placed[place]!.light === light);
  return {
    classNames,
    placed: places.map((place) => placed[place]!),
    predictions: {
      classNames: predictions.classNames,
      pictures: places.map((place) => predictions.pictures[place]!),
    },
  };
}

const MOST_BOXES = 300;

/** All vehicles are one class. */
export function judgedOf({ classNames, placed, predictions }: Answers): Judged {
  const split = { classNames, pictures: placed.map(({ picture }) => picture) };
  const { truth, detections } = evaluationTables(split, predictions, { singleClass: true });
  return { truth, detections, classCount: 1, classes: [0] };
}

/** Per light where enough was seen there; undefined where no threshold reaches the target. */
export function chooseThresholds(fit: Answers, precision: number): Record<LightRow, number | undefined> {
  return byLight((light) => pointOf(answersIn(fit, light), precision)?.threshold);
}

function pointOf(answers: Answers, target: number) {
  const { truth, detections, classCount } = judgedOf(answers);
  const goal = { kind: 'precision', target } as const;
  return operatingPoints(truth, detections, goal, { classCount, maxDets: MOST_BOXES }).pooled.chosen;
}

function boxFigures(answers: Answers, precision: number): Figures {
  const { classNames, placed, predictions } = answers;
  const split = { classNames, pictures: placed.map(({ picture }) => picture) };
  const options = { singleClass: true, resamples: 0 } as const;
  const { averagePrecision, calibration } = evaluatePredictions(split, predictions, options);
  const objects = placed.flatMap(({ picture }) =>
    picture.objects.filter(({ crowd, difficult }) => !crowd && !difficult),
  );
  const whole = honesty({ ...answers, predictions: aboveLeast(predictions) });
  const best = honesty({ ...answers, predictions: bestBoxes(predictions, objects.length) });
  return {
    ap50: averagePrecision.ap50 ?? null,
    ap: averagePrecision.ap ?? null,
    'recall at precision': pointOf(answers, precision)?.recall ?? 0,
    laEce0: whole.laEce.mean,
    'laEce0 best': best.laEce.mean,
    'score - IoU best': best.signed,
    dEce: calibration.dEce.measured?.error ?? null,
  };
}

function honesty(answers: Answers) {
  const { truth, detections, classCount } = judgedOf(answers);
  return localisationEce(truth, detections, { classCount, minScore: 0 });
}

/** By the raw score: a calibrator must not choose by which boxes it is judged. */
function aboveLeast({ classNames, pictures }: Predictions): Predictions {
  return {
    classNames,
    pictures: pictures.map(({ detections, size }) => ({
      size,
      detections: detections.filter(({ rawScore }) => rawScore >= LEAST_RAW_SCORE),
    })),
  };
}

function ruleFigures(
  judge: Answers,
  thresholdIn: (light: LightName) => number | undefined,
): Record<LightRow, Figures> {
  const judged = judgedOf(judge);
  const { starts, scores } = judged.detections;
  const least = new Float64Array(scores.length);
  for (const [place, { light }] of judge.placed.entries())
    least.fill(thresholdIn(light) ?? Infinity, starts[place]!, starts[place + 1]!);
  const { hits, kept, objects } = found(judged, (row) => scores[row]! > least[row]!, 0.5);
  return byLight((light) => {
    const places = [...judge.placed.keys()].filter(
      (place) => light === 'all' || judge.placed[place]!.light === light,
    );
    const sum = (counts: Int32Array) => places.reduce((whole, place) => whole + counts[place]!, 0);
    const [hit, boxes, all] = [sum(hits), sum(kept), sum(objects)];
    return {
      recall: all === 0 ? null : hit / all,
      precision: boxes === 0 ? null : hit / boxes,
      'false alarms': places.length === 0 ? null : (boxes - hit) / places.length,
    };
  });
}

const AP_RESAMPLES = 500;

/** AP50 of one seed, and how far it may lie from that of a reference, with intervals over resampled pictures. */
export function resampledAp50(
  own: Answers,
  reference: Answers,
): { readonly ap50: Figure; readonly gain: Figure } {
  const [mine, other] = [own, reference].map((answers) => {
    const { truth, detections, classCount } = judgedOf(answers);
    return outcomesPerClass(truth, detections, { classCount })[0]!;
  }) as [Parameters<typeof drawnAp>[0], Parameters<typeof drawnAp>[0]];
  return bootstrapFigures(
    own.placed.length,
    [{ key: 'pictures', groups: [...own.placed.keys()] }],
    (counts) => {
      const [a, b] = [drawnAp(mine, counts)?.ap50, drawnAp(other, counts)?.ap50];
      return { ap50: a, gain: a === undefined || b === undefined ? undefined : a - b };
    },
    { resamples: AP_RESAMPLES },
  );
}
