// Real class labels: the features of a frozen host at the anchors that the assigner gives to labelled objects, divided by
// camera, and what a small head of each loss makes of them.
import { classificationCalibration, DataError, softmaxInto, softmaxTemperature } from 'edge-detect/core';
import { chooseEngine, type ObjectFeatures, objectFeatures } from 'edge-detect/training';
import { loadAllPictures, type StudyData } from '../common/study-data.ts';
import { type HeadRecipe, type LabelledRows, type TrainedHead, trainClassHead } from './head.ts';

export interface ObjectSet {
  readonly name: string;
  readonly classNames: readonly string[];
  readonly rows: ObjectFeatures;
  /** Per row: camera, or block of neighbouring pictures. */
  readonly groups: readonly string[];
}

/** A host reads every picture once; the rows serve all heads. */
export async function readObjects(
  { name, data, model, groupOf }: StudyData,
  signal: AbortSignal,
): Promise<ObjectSet> {
  const { classNames, pictures: all } = await loadAllPictures(data);
  const pictures = [...all].sort((a, b) => (a.path < b.path ? -1 : 1));
  const rows = await objectFeatures(
    { model, classNames, pictures },
    {
      signal,
      openEngine: async (part, batch) =>
        (await chooseEngine({ engine: 'onnx', device: { kind: 'cpu' }, threads: 1, workers: 1 }, part, batch))
          .engine,
    },
  );
  const groups = Array.from(rows.pictures, (place) => groupOf(pictures[place]!));
  return { name, classNames, rows, groups };
}

export interface ObjectParts {
  readonly training: LabelledRows;
  /** Fits the temperature and nothing else. */
  readonly validation: LabelledRows;
  /** Judges and nothing else. */
  readonly test: LabelledRows;
  /** Groups of validation and test. */
  readonly text: string;
}

const FEWEST_GROUPS = 4;

/**
 * Seed k tests on the groups 2k and 2k + 1 of the sorted ones, as the other studies hold out, fits temperatures on
 * 2k + 2, and trains on the rest. Features are scaled to mean 0 and deviation 1 of the training rows.
 * @throws DataError for fewer than four groups, or a part without objects
 */
export function divide({ name, rows, groups }: ObjectSet, seed: number): ObjectParts {
  const known = [...new Set(groups)].sort();
  if (known.length < FEWEST_GROUPS) {
    throw new DataError(
      `${name}: its objects come from ${known.length} groups of pictures, this study needs 4`,
      {
        hint: 'name pictures camera-time.jpg: two cameras test, one fits temperatures, the others train',
      },
    );
  }
  const turned = known.map((_, place) => known[(2 * seed + place) % known.length]!);
  const [tests, validations] = [turned.slice(0, 2), turned.slice(2, 3)];
  const pick = (wanted: (group: string) => boolean) =>
    rowsAt(
      rows,
      [...groups.keys()].filter((row) => wanted(groups[row]!)),
    );
  const training = pick((group) => !tests.includes(group) && !validations.includes(group));
  const scale = scaleOf(training);
  return {
    training: scale(training),
    validation: scale(pick((group) => validations.includes(group))),
    test: scale(pick((group) => tests.includes(group))),
    text: `test ${tests.join(' ')}, temperature ${validations.join(' ')}`,
  };
}

function rowsAt({ width, features, labels }: ObjectFeatures, places: readonly number[]): LabelledRows {
  if (places.length === 0) {
    throw new DataError('a part of the split has no labelled object', {
      hint: 'take a set with more objects',
    });
  }
  const picked = new Float32Array(places.length * width);
  places.forEach((place, row) => {
    picked.set(features.subarray(place * width, (place + 1) * width), row * width);
  });
  return { width, features: picked, labels: Int32Array.from(places, (place) => labels[place]!) };
}

function scaleOf({ width, features, labels }: LabelledRows): (rows: LabelledRows) => LabelledRows {
  const [means, deviations] = [new Float64Array(width), new Float64Array(width)];
  const count = labels.length;
  for (let place = 0; place < features.length; place++) means[place % width]! += features[place]! / count;
  for (let place = 0; place < features.length; place++)
    deviations[place % width]! += (features[place]! - means[place % width]!) ** 2 / count;
  return (rows) => ({
    ...rows,
    features: rows.features.map((value, place) => {
      const deviation = Math.sqrt(deviations[place % width]!);
      return deviation > 0 ? (value - means[place % width]!) / deviation : 0;
    }),
  });
}

const FIGURES = [
  'accuracy',
  /** Mean confidence − accuracy: above 0 is over-confident. */
  'signed',
  'ece',
  'eceScaled',
  /** ECE that the temperature takes away; below 0 it adds some. */
  'gain',
  'temperature',
  'nll',
  'nllScaled',
  'brier',
] as const;

/**
 * Of one head on the test part. Null: the head diverged, or no finite temperature is best for those that need one. A law
 * of NaN has an ECE of 0, the best of all.
 */
export type HeadFigures = Readonly<Record<(typeof FIGURES)[number], number | null>>;

/** 15 bins, as published. */
const BINS = 15;

export function judgeHead(parts: ObjectParts, classCount: number, recipe: HeadRecipe): HeadFigures {
  return judgeLogits(parts, classCount, trainClassHead(parts.training, classCount, recipe));
}

export function judgeLogits(
  { validation, test }: Pick<ObjectParts, 'validation' | 'test'>,
  classCount: number,
  head: TrainedHead,
): HeadFigures {
  const [logits, fitted] = [head.logits(test), head.logits(validation)];
  if (![...logits, ...fitted].every(Number.isFinite))
    return Object.fromEntries(FIGURES.map((name) => [name, null])) as HeadFigures;
  const raw = calibrationAt(logits, test.labels, classCount, 1);
  const temperature = softmaxTemperature(fitted, validation.labels, classCount) ?? null;
  const scaled =
    temperature === null ? undefined : calibrationAt(logits, test.labels, classCount, temperature);
  return {
    accuracy: raw.accuracy,
    signed: raw.signed,
    ece: raw.ece,
    eceScaled: scaled?.ece ?? null,
    gain: scaled === undefined ? null : raw.ece - scaled.ece,
    temperature,
    nll: raw.nll,
    nllScaled: scaled?.nll ?? null,
    brier: raw.brier,
  };
}

function calibrationAt(logits: Float64Array, labels: Int32Array, classCount: number, temperature: number) {
  const laws = new Float64Array(logits.length);
  const law = new Float64Array(classCount);
  const divided = logits.map((logit) => logit / temperature);
  let right = 0;
  for (let row = 0; row < labels.length; row++) {
    softmaxInto(law, divided, row * classCount, 1, classCount);
    laws.set(law, row * classCount);
    let top = 0;
    for (let k = 1; k < classCount; k++) if (law[k]! > law[top]!) top = k;
    if (top === labels[row]) right++;
  }
  const found = classificationCalibration(laws, labels, { classCount, bins: BINS })!;
  const { error: ece, signed } = found.topClass;
  return { accuracy: right / labels.length, ece, signed, nll: found.nll, brier: found.brier };
}
