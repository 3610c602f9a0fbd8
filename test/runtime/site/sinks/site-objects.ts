// Objects and events as a site says them, for tests of what listens.
import type { SiteEvent, SiteObject } from '../../../../runtime/site/events.ts';

const START_MS = 1_764_624_000_000;

export function siteObject(changes: Partial<SiteObject> = {}): SiteObject {
  return {
    id: `gate-${START_MS}-1`,
    camera: 'gate',
    className: 'car',
    score: 0.8,
    scoreStd: 0.05,
    medianScore: 0.75,
    medianStd: 0.06,
    topScore: 0.9,
    box: { x1: 10, y1: 20, x2: 110, y2: 70 },
    boxSigma: { x1: 1.5, y1: 1, x2: 2, y2: 1.25 },
    startMs: START_MS,
    lastMs: START_MS + 2500,
    frames: 12,
    zones: ['street'],
    enteredZones: ['street'],
    light: 'day',
    review: [],
    ...changes,
  };
}

export function objectEvent(type: 'new' | 'update' | 'end', changes: Partial<SiteObject> = {}): SiteEvent {
  const after = siteObject(changes);
  return {
    kind: 'object',
    type,
    atMs: after.lastMs,
    camera: after.camera,
    ...(type !== 'new' && { before: siteObject() }),
    after,
  };
}

/** Numbered, so that a test sees which have arrived. */
export function notice(message: string, camera = 'gate'): SiteEvent {
  return { kind: 'notice', atMs: START_MS, camera, message };
}

/** Waits for what comes by itself; fails after `seconds`. */
export async function eventually(check: () => boolean | Promise<boolean>, seconds = 10): Promise<void> {
  const end = Date.now() + 1000 * seconds;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`not so after ${seconds} s: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
