// Which classes of a host and of a set are the same road users under two names.
import { ConfigError } from 'edge-detect/core';
import type { StudyData } from './study-data.ts';

/** Class names of the model → those of the data. */
export type ClassMap = Readonly<Record<string, string>>;

/** Names of COCO and those of lta_daynight_2021, which tells vans apart: COCO has none. */
const COCO_TO_LTA = 'car:car,truck:lorry_truck,motorcycle:bike,bus:bus';

/**
 * `map=` as it was given, else that of the real set.
 * @returns undefined where the names are the same, as in the sample world
 * @throws ConfigError naming the pair
 */
export function readClassMap(
  values: ReadonlyMap<string, string>,
  { kind }: Pick<StudyData, 'kind'>,
): ClassMap | undefined {
  const map = values.get('map') || (kind === 'real' ? COCO_TO_LTA : '');
  return map === '' ? undefined : parseMap(map);
}

/** `car:car,truck:lorry_truck` */
function parseMap(text: string): ClassMap {
  const pairs = text.split(',').map((pair) => pair.split(':').map((name) => name.trim()));
  for (const pair of pairs) {
    if (pair.length === 2 && pair.every((name) => name !== '')) continue;
    throw new ConfigError(`map=${text}: "${pair.join(':')}" is no pair of names`, {
      hint: 'write map=<class of the model>:<class of the data>,…',
    });
  }
  return Object.fromEntries(pairs as [string, string][]);
}

/** How the setting of a study names it. */
export function classMapText(classMap: ClassMap | undefined): string {
  if (classMap === undefined) return 'of the same names';
  return Object.entries(classMap)
    .map((pair) => pair.join(':'))
    .join(',');
}
