// Classes under other names: all as one, or by a map. A class that the map lacks is dropped and counted.
import { ConfigError, nearest } from '#core';
import type { ClassMap, Dataset, DatasetFault, DatasetSplits, LabelledPicture } from './types.ts';

/**
 * The set with its classes renamed; classes that get the same name become one.
 * @param singleName the one name under `'single'`
 * @returns new classes in the order in which the map names them
 * @throws ConfigError where the map names a class that the set lacks
 */
export function mapClasses(dataset: Dataset, map: ClassMap, singleName = 'object'): Dataset {
  const targets = map === 'single' ? dataset.classNames.map(() => singleName) : lookUp(dataset, map);
  const classNames = [...new Set(map === 'single' ? [singleName] : Object.values(map))];
  const newIds = targets.map((name) => (name === undefined ? undefined : classNames.indexOf(name)));
  const dropped = new Map<number, number>();
  const relabel = (picture: LabelledPicture): LabelledPicture => ({
    ...picture,
    objects: picture.objects.flatMap((object) => {
      const classId = newIds[object.classId];
      if (classId !== undefined) return [{ ...object, classId }];
      dropped.set(object.classId, (dropped.get(object.classId) ?? 0) + 1);
      return [];
    }),
  });
  const splits = Object.fromEntries(
    Object.entries(dataset.splits).map(([name, pictures]) => [name, pictures.map(relabel)]),
  ) as DatasetSplits;
  const faults = [...dataset.faults, ...[...dropped].map(([id, count]) => droppedFault(dataset, id, count))];
  return { ...dataset, classNames, classKeys: [...classNames.keys()], splits, faults };
}

function lookUp(
  { classNames, source }: Dataset,
  map: Readonly<Record<string, string>>,
): (string | undefined)[] {
  for (const name of Object.keys(map)) {
    if (classNames.includes(name)) continue;
    const near = nearest(name, classNames);
    throw new ConfigError(`the class map names "${name}", but ${source} has ${classNames.join(', ')}`, {
      hint: near === undefined ? 'use the names of the set as keys' : `did you mean "${near}"?`,
    });
  }
  return classNames.map((name) => (Object.hasOwn(map, name) ? map[name] : undefined));
}

function droppedFault({ source, classNames }: Dataset, classId: number, count: number): DatasetFault {
  return {
    severity: 'notice',
    kind: 'class-dropped',
    file: source,
    message: `the class map lacks "${classNames[classId]}"`,
    hint: `its ${count} ${count === 1 ? 'object was' : 'objects were'} left out`,
  };
}
