// What a changed site file means for a running site: what is taken over at once, and what must start again.
import { isDeepStrictEqual } from 'node:util';
import type { Site, SiteCamera } from './site.ts';

export type SiteChange =
  | { readonly kind: 'camera-added'; readonly camera: SiteCamera }
  | { readonly kind: 'camera-removed'; readonly name: string }
  /** Its pictures stay; thresholds, filters, zones and the like take effect with the next one. */
  | {
      readonly kind: 'camera-live';
      readonly camera: SiteCamera;
      readonly keys: readonly (keyof SiteCamera)[];
    }
  /** Its source is opened again; the other cameras notice nothing. */
  | {
      readonly kind: 'camera-restart';
      readonly camera: SiteCamera;
      readonly keys: readonly (keyof SiteCamera)[];
    }
  /** Only a new start of the process takes these over. */
  | { readonly kind: 'process-restart'; readonly keys: readonly (keyof Site)[] };

const NEEDS_NEW_SOURCE: ReadonlySet<string> = new Set<keyof SiteCamera>([
  'source',
  'stallSeconds',
  'rtspTransport',
]);

/** In this order: what needs a new process, cameras that went, that came, that changed. Empty: nothing changed. */
export function diffSite(before: Site, after: Site): readonly SiteChange[] {
  const process = changedKeys(before, after).filter((key) => key !== 'cameras');
  const known = new Map(before.cameras.map((camera) => [camera.name, camera]));
  const names = new Set(after.cameras.map(({ name }) => name));
  const removed = before.cameras.filter(({ name }) => !names.has(name));
  const added = after.cameras.filter(({ name }) => !known.has(name));
  return [
    ...(process.length > 0 ? [{ kind: 'process-restart', keys: process } as const] : []),
    ...removed.map(({ name }) => ({ kind: 'camera-removed', name }) as const),
    ...added.map((camera) => ({ kind: 'camera-added', camera }) as const),
    ...after.cameras.flatMap((camera) => changeOf(known.get(camera.name), camera)),
  ];
}

function changeOf(before: SiteCamera | undefined, camera: SiteCamera): readonly SiteChange[] {
  const keys = before === undefined ? [] : changedKeys(before, camera);
  if (keys.length === 0) return [];
  const kind = keys.some((key) => NEEDS_NEW_SOURCE.has(key)) ? 'camera-restart' : 'camera-live';
  return [{ kind, camera, keys }];
}

function changedKeys<T extends object>(before: T, after: T): readonly (keyof T)[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof T)[];
  return keys.filter((key) => !isDeepStrictEqual(before[key], after[key]));
}
