// From boxes with track ids to events that a house can listen to: an object comes, changes, goes, enters and leaves
// zones, crosses lines. A box is a sample; only a track whose samples agree is an object.
import type { Detection, Size } from '#core';
import { isInside } from '#core';
import { toDecimals } from '../decimals.ts';
import type { SiteEvent, SiteObject } from './events.ts';
import { type Corners, footOf, ObjectTrack, type TrackStep } from './object-track.ts';
import type { ClassFilter, SiteCamera } from './site.ts';

/** What the rules of a camera may change while it runs. */
export type ObjectRules = Pick<
  SiteCamera,
  'classes' | 'filters' | 'zones' | 'lines' | 'review' | 'minFrames' | 'minMedianScore'
>;

export interface ObjectEventsOptions {
  readonly camera: string;
  readonly rules: ObjectRules;
  /** Seconds without a box after which an object has gone. */
  readonly endSeconds: number;
  /** Seconds between two updates that only say that it is still there. */
  readonly updateSeconds: number;
}

/** The boxes of one frame, with track ids. */
export interface ObjectFrame {
  readonly detections: readonly Detection[];
  readonly size: Size;
  readonly atMs: number;
  readonly light?: string;
  /** Least score of a class in this light: the median over a track must reach it. */
  readonly least: (className: string) => number;
}

export interface ObjectEvents {
  /** Frames in order. @returns what happened, in order */
  see(frame: ObjectFrame): readonly SiteEvent[];
  /** All objects end: the camera is off, or its picture begins anew. */
  end(atMs: number): readonly SiteEvent[];
  useRules(rules: ObjectRules): void;
  /** Objects that are there now. */
  readonly objects: readonly SiteObject[];
  /** Whether anything is followed, object yet or not, that moves or was not seen the last time. */
  readonly following: boolean;
  /** Says which picture shows an object best. */
  setSnapshot(id: string, file: string): void;
}

interface Followed {
  readonly track: ObjectTrack;
  /** As it was last said; absent until it is an object. */
  said?: SiteObject;
  snapshot?: string;
  light?: string;
}

const OPEN_FILTER: ClassFilter = {
  minArea: 0,
  maxArea: 1,
  minRatio: 0,
  maxRatio: Number.POSITIVE_INFINITY,
  masks: [],
};

export function createObjectEvents(options: ObjectEventsOptions): ObjectEvents {
  return new Life(options);
}

class Life implements ObjectEvents {
  readonly #options: ObjectEventsOptions;
  #rules: ObjectRules;
  readonly #followed = new Map<number, Followed>();
  /** Place → class → objects there, as last said. */
  readonly #counts = new Map<string, Map<string, number>>();
  /** Time of the latest frame. */
  #seenMs = 0;

  constructor(options: ObjectEventsOptions) {
    this.#options = options;
    this.#rules = options.rules;
  }

  get objects(): readonly SiteObject[] {
    return [...this.#followed.values()].flatMap(({ said }) => (said ? [said] : []));
  }

  get following(): boolean {
    for (const { track } of this.#followed.values())
      if (track.lastMs < this.#seenMs || !track.isStill) return true;
    return false;
  }

  useRules(rules: ObjectRules): void {
    this.#rules = rules;
  }

  setSnapshot(id: string, file: string): void {
    for (const followed of this.#followed.values()) if (followed.said?.id === id) followed.snapshot = file;
  }

  see(frame: ObjectFrame): readonly SiteEvent[] {
    const events: SiteEvent[] = [];
    this.#seenMs = frame.atMs;
    for (const found of frame.detections) {
      if (found.trackId !== undefined && this.#passes(found, frame.size))
        events.push(...this.#step(found.trackId, found, frame));
    }
    const oldest = frame.atMs - 1000 * this.#options.endSeconds;
    for (const [id, { track }] of this.#followed)
      if (track.lastMs < oldest) events.push(...this.#finish(id, frame.atMs));
    return [...events, ...this.#countChanges(frame.atMs)];
  }

  end(atMs: number): readonly SiteEvent[] {
    const events = [...this.#followed.keys()].flatMap((id) => this.#finish(id, atMs));
    return [...events, ...this.#countChanges(atMs)];
  }

  #passes(found: Detection, size: Size): boolean {
    const { classes, filters } = this.#rules;
    if (classes !== undefined && !classes.has(found.className)) return false;
    const filter = filters.get(found.className) ?? filters.get('*') ?? OPEN_FILTER;
    const [width, height] = [found.box.x2 - found.box.x1, found.box.y2 - found.box.y1];
    const area = (width * height) / (size.width * size.height);
    const ratio = width / height;
    if (area < filter.minArea || area > filter.maxArea) return false;
    if (ratio < filter.minRatio || ratio > filter.maxRatio) return false;
    const foot = footOf(found.box, size);
    return !filter.masks.some((mask) => isInside(mask, foot));
  }

  #step(trackId: number, found: Detection, frame: ObjectFrame): readonly SiteEvent[] {
    const { atMs, size, light } = frame;
    const { zones, lines, review, minFrames, minMedianScore } = this.#rules;
    const followed = this.#followed.get(trackId) ?? { track: new ObjectTrack(trackId, atMs) };
    this.#followed.set(trackId, followed);
    const { track } = followed;
    const steps = track.see(found, { atMs, size, zones, lines, review });
    if (light !== undefined) followed.light = light;
    if (followed.said === undefined) {
      const least = Math.max(minMedianScore, frame.least(track.className));
      // Once it is an object it stays one until it goes: a score that flickers about the threshold makes no events.
      if (track.frames < minFrames || track.medianScore < least) return [];
      followed.said = this.#describe(followed);
      const entered = track.zones.map((zone): TrackStep => ({ kind: 'entered', zone }));
      const crossed = steps.filter(({ kind }) => kind === 'crossed');
      return [
        this.#objectEvent('new', atMs, undefined, followed.said),
        ...this.#say(followed, [...entered, ...crossed], atMs),
      ];
    }
    return this.#update(followed, steps, atMs);
  }

  #update(followed: Followed, steps: readonly TrackStep[], atMs: number): readonly SiteEvent[] {
    const before = followed.said as SiteObject;
    const now = this.#describe(followed);
    const due = atMs - before.lastMs >= 1000 * this.#options.updateSeconds;
    const changed =
      steps.length > 0 ||
      now.className !== before.className ||
      now.review.length !== before.review.length ||
      now.snapshot !== before.snapshot;
    if (!due && !changed) return [];
    followed.said = now;
    return [this.#objectEvent('update', atMs, before, now), ...this.#say(followed, steps, atMs)];
  }

  #finish(trackId: number, atMs: number): readonly SiteEvent[] {
    const followed = this.#followed.get(trackId);
    this.#followed.delete(trackId);
    if (followed?.said === undefined) return [];
    const left = followed.track.leaveAll().map((zone): TrackStep => ({ kind: 'left', zone }));
    const before = followed.said;
    followed.said = { ...this.#describe(followed), endMs: followed.track.lastMs };
    return [...this.#say(followed, left, atMs), this.#objectEvent('end', atMs, before, followed.said)];
  }

  #objectEvent(
    type: 'new' | 'update' | 'end',
    atMs: number,
    before: SiteObject | undefined,
    after: SiteObject,
  ): SiteEvent {
    return { kind: 'object', type, atMs, camera: this.#options.camera, ...(before && { before }), after };
  }

  #say({ said }: Followed, steps: readonly TrackStep[], atMs: number): readonly SiteEvent[] {
    const object = said as SiteObject;
    const { camera } = this.#options;
    return steps.map((step) =>
      step.kind === 'crossed'
        ? { kind: 'line', atMs, camera, line: step.line, direction: step.direction, object }
        : { kind: 'zone', type: step.kind, atMs, camera, zone: step.zone, object },
    );
  }

  #describe({ track, snapshot, light }: Followed): SiteObject {
    const { camera } = this.#options;
    const { latest, medianStd } = track;
    const { scoreVariance, boxVariance } = latest;
    return {
      id: `${camera}-${track.startMs}-${track.trackId}`,
      camera,
      className: track.className,
      score: toDecimals(latest.score, 4),
      ...(scoreVariance !== undefined && { scoreStd: toDecimals(Math.sqrt(scoreVariance), 4) }),
      medianScore: toDecimals(track.medianScore, 4),
      ...(medianStd !== undefined && { medianStd: toDecimals(medianStd, 4) }),
      topScore: toDecimals(track.topScore, 4),
      box: cornersOf(latest.box),
      ...(boxVariance && { boxSigma: sigmaOf(boxVariance) }),
      startMs: track.startMs,
      lastMs: track.lastMs,
      frames: track.frames,
      zones: track.zones,
      enteredZones: track.enteredZones,
      ...(light !== undefined && { light }),
      review: track.review,
      ...(snapshot !== undefined && { snapshot }),
    };
  }

  /** A place that becomes empty is said, too; one that always was is not. */
  #countChanges(atMs: number): readonly SiteEvent[] {
    const { camera } = this.#options;
    const now = new Map<string, Map<string, number>>();
    for (const { className, zones } of this.objects) {
      for (const place of [camera, ...zones]) {
        const classes = now.get(place) ?? new Map<string, number>();
        now.set(place, classes.set(className, (classes.get(className) ?? 0) + 1));
      }
    }
    const events: SiteEvent[] = [];
    for (const place of new Set([...this.#counts.keys(), ...now.keys()])) {
      const [before, after] = [this.#counts.get(place), now.get(place)];
      for (const className of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
        const count = after?.get(className) ?? 0;
        if (count !== (before?.get(className) ?? 0))
          events.push({ kind: 'count', atMs, camera, place, className, count });
      }
    }
    this.#counts.clear();
    for (const [place, classes] of now) this.#counts.set(place, classes);
    return events;
  }
}

function cornersOf({ x1, y1, x2, y2 }: Corners): Corners {
  return { x1: toDecimals(x1, 2), y1: toDecimals(y1, 2), x2: toDecimals(x2, 2), y2: toDecimals(y2, 2) };
}

function sigmaOf(variance: Corners): Corners {
  const sigma = (value: number) => toDecimals(Math.sqrt(Math.max(0, value)), 2);
  return {
    x1: sigma(variance.x1),
    y1: sigma(variance.y1),
    x2: sigma(variance.x2),
    y2: sigma(variance.y2),
  };
}
