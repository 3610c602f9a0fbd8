// All slices as one table, in an order that does not depend on theirs: every figure is then a function of how often each
// picture counts, and exchanging two slices changes nothing but signs.
import {
  type ComparedPictures,
  ConfigError,
  DataError,
  type DetectionTable,
  outcomesPerClass,
  type PictureOutcomes,
  pooledOutcomes,
  type TruthTable,
} from '#core';
import { type ClassMatchingOptions, matchClasses } from '../class-matching.ts';
import { detectionTable, truthTable } from '../tables.ts';
import type { ComparedPicture, PredictedSlice } from './slices.ts';
import type { TimeBlocks } from './time-blocks.ts';

export interface ClassNames {
  /** Of the model that predicted. */
  readonly model: readonly string[];
  /** Of the labels; absent where there are none. */
  readonly labels?: readonly string[];
}

export interface JoinedSlices {
  /** Names in the order of the caller. */
  readonly names: readonly string[];
  readonly pictures: readonly ComparedPicture[];
  /** Pictures by slice name, then camera; both in order of name. */
  readonly conditions: ReadonlyMap<string, ComparedPictures['first']>;
  readonly classNames: readonly string[];
  /** Classes that the model can name. */
  readonly comparable: readonly number[];
  readonly detections: DetectionTable;
  /** Int32[detections], -1 without a track. */
  readonly trackIds: Int32Array;
  /** Absent where a slice is unlabelled. */
  readonly labelled?: LabelledTables;
  /** Absent where pictures are repetitions of their own, and not frames of clips. */
  readonly blocks?: TimeBlocks;
}

export interface LabelledTables {
  readonly truth: TruthTable;
  readonly perClass: readonly PictureOutcomes[];
  /** Comparable classes under one threshold. */
  readonly pooled: PictureOutcomes;
}

/**
 * @throws ConfigError for fewer than two slices or two of one name; DataError where a slice is empty, lacks a prediction,
 * is labelled in part, or the class names do not fit
 */
export function joinSlices(
  slices: readonly PredictedSlice[],
  classNames: ClassNames,
  options: ClassMatchingOptions & { readonly maxDets: number },
): JoinedSlices {
  checkSlices(slices);
  const rows = [...slices]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, pictures, predictions }) =>
      pictures
        .map((picture, place) => ({ name, picture, prediction: predictions[place] }))
        .sort((a, b) => (a.picture.path < b.picture.path ? -1 : 1)),
    )
    .map(({ name, picture, prediction }) => {
      if (prediction !== undefined) return { name, picture, prediction };
      throw new DataError(`${picture.path}: a prediction is missing`, {
        hint: 'predict every picture of the slices',
      });
    });
  const pictures = rows.map(({ picture }) => picture);
  const labels = classNames.labels !== undefined && everyLabelled(pictures) ? classNames.labels : undefined;
  const matching =
    labels === undefined
      ? matchClasses(classNames.model, classNames.model)
      : matchClasses(labels, classNames.model, options);
  const predictions = rows.map(({ prediction }) => prediction);
  const detections = detectionTable(predictions, matching.modelIds);
  const reported = predictions.flatMap(({ detections: found }) =>
    found.filter(({ classId }) => (matching.modelIds[classId] ?? -1) >= 0),
  );
  const joined = {
    names: slices.map(({ name }) => name),
    pictures,
    conditions: conditionsOf(rows),
    classNames: matching.classNames,
    comparable: matching.comparable,
    detections,
    trackIds: Int32Array.from(reported, ({ trackId }) => trackId ?? -1),
  };
  if (labels === undefined) return joined;
  const truth = truthTable(
    pictures.map(({ path, objects = [] }) => ({ path, id: path, objects })),
    predictions.map(({ size }) => size),
    matching.truthIds,
  );
  const perClass = outcomesPerClass(truth, detections, {
    classCount: matching.classNames.length,
    maxDets: options.maxDets,
  });
  const pooled = pooledOutcomes(perClass.filter((_, classId) => matching.comparable.includes(classId)));
  return { ...joined, labelled: { truth, perClass, pooled } };
}

/** The pictures of a slice; throws where there is none of that name. */
export function conditionOf({ conditions }: JoinedSlices, name: string): ComparedPictures['first'] {
  const found = conditions.get(name);
  if (found === undefined) throw new RangeError(`no slice '${name}'`);
  return found;
}

export function picturesOf(condition: ComparedPictures['first']): readonly number[] {
  return [...condition.cameras.values()].flat();
}

function checkSlices(slices: readonly PredictedSlice[]): void {
  if (slices.length < 2) {
    throw new ConfigError(`${slices.length} slices to compare`, { hint: 'give two or more' });
  }
  for (const { name, pictures } of slices) {
    if (slices.filter((other) => other.name === name).length > 1) {
      throw new ConfigError(`two slices are named "${name}"`, { hint: 'give each slice a name of its own' });
    }
    if (pictures.length === 0) {
      throw new DataError(`the slice "${name}" has no pictures`, {
        hint: 'check the rule that makes the slices',
      });
    }
  }
}

function everyLabelled(pictures: readonly ComparedPicture[]): boolean {
  const labelled = pictures.filter(({ objects }) => objects !== undefined).length;
  if (labelled > 0 && labelled < pictures.length) {
    throw new DataError(`${labelled} of ${pictures.length} pictures are labelled`, {
      hint: 'compare labelled slices, or leave the labels of all out',
    });
  }
  return labelled > 0;
}

function conditionsOf(
  rows: readonly { readonly name: string; readonly picture: ComparedPicture }[],
): ReadonlyMap<string, ComparedPictures['first']> {
  const conditions = new Map<string, { name: string; cameras: Map<string, number[]> }>();
  const cameras = [...new Set(rows.map(({ picture }) => picture.camera))].sort();
  for (const { name } of rows) {
    if (!conditions.has(name)) conditions.set(name, { name, cameras: new Map() });
  }
  for (const camera of cameras) {
    for (const [place, { name, picture }] of rows.entries()) {
      if (picture.camera !== camera) continue;
      const own = conditions.get(name)?.cameras;
      own?.set(camera, [...(own.get(camera) ?? []), place]);
    }
  }
  return conditions;
}
