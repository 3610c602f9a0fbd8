// Where a site file names classes of the model, which are known only when the model is open.
import type { ThresholdsFile } from '#core';
import { type Placed, type PositionOf, placeOf, type SitePath } from './site-placed.ts';
import type { CameraDocument, SharedDocument, SiteDocument } from './site-schema.ts';

export interface ClassUse {
  readonly name: string;
  /** Key in the site file. */
  readonly key: string;
  readonly line: number;
  readonly column: number;
  /** Thresholds file that names the class, where it is not the site file itself. */
  readonly file?: string;
}

interface Surroundings {
  readonly root: Placed;
  readonly positionOf: PositionOf;
  /** By absolute path. */
  readonly files: ReadonlyMap<string, ThresholdsFile>;
  readonly absolute: (path: string) => string;
}

interface Use {
  readonly name: string;
  readonly path: SitePath;
  readonly atKey?: boolean;
  readonly file?: string;
}

/** In the order of the site file; `*`, which stands for all classes not named, is left out. */
export function classUses(document: SiteDocument, around: Surroundings): readonly ClassUse[] {
  const cameras = Object.entries(document.cameras).flatMap(([name, camera]) => {
    const path = ['cameras', name];
    return [...sharedUses(camera, path, around), ...placeUses(camera, path)];
  });
  return [...sharedUses(document, [], around), ...cameras]
    .filter(({ name }) => name !== '*')
    .map(({ name, path, atKey = false, file }) => ({
      name,
      key: path.join('.'),
      ...around.positionOf(placeOf(around.root, path, atKey)),
      ...(file !== undefined && { file }),
    }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
}

function sharedUses(
  { classes = [], objects, thresholds }: SharedDocument,
  path: SitePath,
  around: Surroundings,
): readonly Use[] {
  return [
    ...listed(classes, [...path, 'classes']),
    ...keysOf(objects?.filters, [...path, 'objects', 'filters']),
    ...thresholdUses(thresholds, [...path, 'thresholds'], around),
  ];
}

function thresholdUses(
  thresholds: SharedDocument['thresholds'],
  path: SitePath,
  { files, absolute }: Surroundings,
): readonly Use[] {
  if (typeof thresholds === 'string') {
    const file = files.get(absolute(thresholds));
    return file === undefined ? [] : namesOf(file).map((name) => ({ name, path, file: thresholds }));
  }
  const { conditions = {}, ...table } = thresholds ?? {};
  const states = Object.entries(conditions).flatMap(([state, scores]) =>
    keysOf(scores, [...path, 'conditions', state]),
  );
  return [...keysOf(table, path), ...states];
}

function namesOf({ classes, conditions, cameras }: ThresholdsFile): readonly string[] {
  const tables = [classes, ...Object.values(conditions)];
  for (const camera of Object.values(cameras))
    tables.push(camera.classes, ...Object.values(camera.conditions));
  return [...new Set(tables.flatMap((table) => Object.keys(table)))];
}

function placeUses({ zones = {}, lines = {} }: CameraDocument, path: SitePath): readonly Use[] {
  const places = [
    ...Object.entries(zones).map(([name, { objects }]) => ({ objects, at: ['zones', name] })),
    ...Object.entries(lines).map(([name, { objects }]) => ({ objects, at: ['lines', name] })),
  ];
  return places.flatMap(({ objects = [], at }) => listed(objects, [...path, ...at, 'objects']));
}

function listed(names: readonly string[], path: SitePath): readonly Use[] {
  return names.map((name, index) => ({ name, path: [...path, String(index)] }));
}

function keysOf(map: object | undefined, path: SitePath): readonly Use[] {
  return Object.keys(map ?? {}).map((name) => ({ name, path: [...path, name], atKey: true }));
}
