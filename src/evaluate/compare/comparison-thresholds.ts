// The thresholds of a comparison as the file that `stream` and `predict` load: in the names of the model's classes.
import type { LightLadder, ThresholdsFile } from '#core';
import type { ModelComparison } from './compare-model.ts';
import { type ThresholdTables, thresholdTables } from './condition-thresholds.ts';

const OTHERS = '*';

/**
 * Best F1 per class and condition, with what switches between the conditions where the light parted them.
 * @returns undefined where no class has a verdict in any condition: one threshold for all is then as good
 */
export function comparisonThresholds(comparison: ModelComparison): ThresholdsFile | undefined {
  const { ranWith, classNames, report, light, options } = comparison;
  const { thresholds } = report;
  const judged = thresholds?.some(({ conditions }) =>
    conditions.some(({ bestF1 }) => bestF1.kind === 'threshold'),
  );
  const tables = judged && thresholds ? thresholdTables(thresholds, 'bestF1') : undefined;
  if (tables === undefined) return undefined;
  const namesOf = modelNames(classNames, options);
  const renamed = (table: ThresholdTables['classes']) =>
    Object.fromEntries(
      Object.entries(table).flatMap(([name, threshold]) => namesOf(name).map((own) => [own, threshold])),
    );
  return {
    version: 1,
    modelSha256: ranWith.modelSha256,
    score: ranWith.score,
    suppression: { ...ranWith.suppression, iou: ranWith.iou, agnostic: ranWith.agnostic },
    classes: renamed(tables.classes),
    conditions: Object.fromEntries(
      Object.entries(tables.conditions).map(([condition, table]) => [condition, renamed(table)]),
    ),
    cameras: {},
    ...(light?.ladder && { hysteresis: pictureLadder(light.ladder) }),
  };
}

/** What switches between light states that were measured in pictures. */
export function pictureLadder({
  states,
  boundaries,
  margin,
  holdSeconds,
}: LightLadder): NonNullable<ThresholdsFile['hysteresis']> {
  return { measure: 'picture', states: [...states], boundaries: [...boundaries], margin, holdSeconds };
}

/** Classes of the model that count as one of the data set; counted as one class, only `*` is left. */
function modelNames(
  classNames: readonly string[],
  { classMap, singleClass }: ModelComparison['options'],
): (name: string) => readonly string[] {
  return (name) => {
    if (name === OTHERS) return [OTHERS];
    if (singleClass === true) return [];
    if (classMap === undefined) return [name];
    return classNames.filter((own) => Object.hasOwn(classMap, own) && classMap[own] === name);
  };
}
