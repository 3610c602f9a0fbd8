// Which class of a model is which class of a data set: by name, never by number.
import { ConfigError, DataError, nearest } from '#core';

export interface ClassMatchingOptions {
  /** Class names of the model → class names of the data set; several may go to one. Classes it lacks are dropped. */
  readonly classMap?: Readonly<Record<string, string>>;
  /** All objects, and all detections of the classes that `classMap` names (default: all), count as one class. */
  readonly singleClass?: boolean;
}

/** New class ids; -1 where detections of a class are dropped. */
export interface ClassMatching {
  readonly classNames: readonly string[];
  /** By class id of the data set. */
  readonly truthIds: readonly number[];
  /** By class id of the model. */
  readonly modelIds: readonly number[];
  /** Classes that the model can name: means are taken over these. */
  readonly comparable: readonly number[];
}

export const SINGLE_CLASS_NAME = 'object';

/**
 * @throws DataError where the names of model and data set differ and no map is given; ConfigError where the map names
 * a class that is not there
 */
export function matchClasses(
  truthNames: readonly string[],
  modelNames: readonly string[],
  { classMap, singleClass = false }: ClassMatchingOptions = {},
): ClassMatching {
  if (classMap !== undefined) checkNames(Object.keys(classMap), modelNames, 'the model');
  if (singleClass) {
    const listed = (name: string) => classMap === undefined || Object.hasOwn(classMap, name);
    return {
      classNames: [SINGLE_CLASS_NAME],
      truthIds: truthNames.map(() => 0),
      modelIds: modelNames.map((name) => (listed(name) ? 0 : -1)),
      comparable: [0],
    };
  }
  if (classMap !== undefined) checkNames(Object.values(classMap), truthNames, 'the data set');
  else expectSameNames(truthNames, modelNames);
  const modelIds = modelNames.map((name) => {
    const target = classMap === undefined ? name : Object.hasOwn(classMap, name) ? classMap[name] : undefined;
    return target === undefined ? -1 : truthNames.indexOf(target);
  });
  return {
    classNames: truthNames,
    truthIds: [...truthNames.keys()],
    modelIds,
    comparable: [...new Set(modelIds.filter((id) => id >= 0))].sort((a, b) => a - b),
  };
}

function expectSameNames(truthNames: readonly string[], modelNames: readonly string[]): void {
  const missing = truthNames.filter((name) => !modelNames.includes(name));
  const extra = modelNames.filter((name) => !truthNames.includes(name));
  if (missing.length === 0 && extra.length === 0) return;
  throw new DataError(
    `the model detects ${list(modelNames)}, but the data set is labelled with ${list(truthNames)}`,
    {
      hint: 'give a class map from the names of the model to those of the data set, or count all as one class',
    },
  );
}

function checkNames(names: readonly string[], known: readonly string[], whose: string): void {
  for (const name of names) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    throw new ConfigError(`the class map names "${name}", but ${whose} has ${list(known)}`, {
      hint: near === undefined ? `use the class names of ${whose}` : `did you mean "${near}"?`,
    });
  }
}

const MOST_NAMES = 12;

function list(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(', ');
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
