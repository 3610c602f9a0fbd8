// The classes of a model against those of a data set, by name: order and count may differ only where names agree.
import { DataError } from '#core';

/**
 * @param modelNames names of the model by class id
 * @param datasetNames names of the set by class id
 * @returns the model's class id for each class id of the set
 * @throws DataError that lists both, where a class of the set is unknown to the model
 */
export function matchClasses(
  modelNames: readonly string[],
  datasetNames: readonly string[],
): readonly number[] {
  const ids = datasetNames.map((name) => modelNames.indexOf(name));
  const unknown = datasetNames.filter((_, index) => ids[index] === -1);
  if (unknown.length === 0) return ids;
  throw new DataError(
    `the model and the data set have different classes: the model lacks ${unknown.join(', ')}; ` +
      `the model has ${modelNames.length} (${modelNames.join(', ')}), the set ${datasetNames.length} (${datasetNames.join(', ')})`,
    {
      hint: 'map the classes of the set to names of the model, or take the model that was trained on this set',
    },
  );
}
