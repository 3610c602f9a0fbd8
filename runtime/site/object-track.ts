// One followed object: its scores, where it is, and which zones and lines it has met.
import type { Box, Detection, Point, Size } from '#core';
import { classifyLaw, crossing, isInside, mixtureBimodality } from '#core';
import type { ReviewReason } from './events.ts';
import type { CountLine, ReviewRule, Zone } from './site.ts';

export interface Corners {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** What a step of a track brought about. */
export type TrackStep =
  | { readonly kind: 'entered' | 'left'; readonly zone: string }
  | { readonly kind: 'crossed'; readonly line: string; readonly direction: 'in' | 'out' };

/** Boxes that the medians look back on. */
const MEMORY = 64;
/** An object whose edges stay where they were, within this share of its size, for so long has come to rest. */
const REST_SHARE = 0.15;
const REST_MS = 10_000;

interface ZonePlace {
  inside: boolean;
  /** Frames in a row that say otherwise. */
  against: number;
}

/** Follows one track id. Frames in order; `see` once for each frame with its box. */
export class ObjectTrack {
  readonly trackId: number;
  readonly startMs: number;
  lastMs: number;
  frames = 0;
  topScore = 0;
  readonly #scores: number[] = [];
  readonly #stds: number[] = [];
  readonly #classes = new Map<string, number>();
  readonly #zones = new Map<string, ZonePlace>();
  readonly #entered = new Set<string>();
  readonly #review = new Set<ReviewReason>();
  #foot: Point | undefined;
  #latest: Detection | undefined;
  /** Where it was when it moved last, and when that was. */
  #anchor: Corners | undefined;
  #movedMs: number;

  constructor(trackId: number, atMs: number) {
    this.trackId = trackId;
    this.startMs = atMs;
    this.lastMs = atMs;
    this.#movedMs = atMs;
  }

  see(
    found: Detection,
    {
      atMs,
      size,
      zones,
      lines,
      review,
    }: {
      readonly atMs: number;
      readonly size: Size;
      readonly zones: readonly Zone[];
      readonly lines: readonly CountLine[];
      readonly review: ReviewRule | undefined;
    },
  ): readonly TrackStep[] {
    this.#latest = found;
    this.lastMs = atMs;
    this.frames++;
    if (this.#anchor === undefined || hasLeft(this.#anchor, found.box)) {
      this.#anchor = found.box;
      this.#movedMs = atMs;
    }
    this.topScore = Math.max(this.topScore, found.score);
    remember(this.#scores, found.score);
    if (found.scoreVariance !== undefined) remember(this.#stds, Math.sqrt(found.scoreVariance));
    this.#classes.set(found.className, (this.#classes.get(found.className) ?? 0) + 1);
    if (review !== undefined) for (const reason of reviewReasons(found, review)) this.#review.add(reason);
    const foot = footOf(found.box, size);
    const steps = [...this.#moveZones(foot, zones), ...this.#crossLines(foot, lines)];
    this.#foot = foot;
    return steps;
  }

  get latest(): Detection {
    if (this.#latest === undefined) throw new Error('a track without a box');
    return this.#latest;
  }

  /** A parked car, and not one that goes. */
  get isStill(): boolean {
    return this.lastMs - this.#movedMs >= REST_MS;
  }

  get medianScore(): number {
    return medianOf(this.#scores);
  }

  get medianStd(): number | undefined {
    return this.#stds.length === 0 ? undefined : medianOf(this.#stds);
  }

  /** The class that most of its boxes have; of equals the first. */
  get className(): string {
    let best = '';
    let most = 0;
    for (const [name, count] of this.#classes) if (count > most) [best, most] = [name, count];
    return best;
  }

  get zones(): readonly string[] {
    return [...this.#zones].flatMap(([name, { inside }]) => (inside ? [name] : []));
  }

  get enteredZones(): readonly string[] {
    return [...this.#entered];
  }

  get review(): readonly ReviewReason[] {
    return [...this.#review];
  }

  /** @returns the zones that it was in; it is in none afterwards */
  leaveAll(): readonly string[] {
    const names = this.zones;
    for (const place of this.#zones.values()) place.inside = false;
    return names;
  }

  *#moveZones(foot: Point, zones: readonly Zone[]): Generator<TrackStep> {
    for (const { name, region, classes, inertia } of zones) {
      const counts = classes === undefined || classes.has(this.className);
      const inside = counts && isInside(region, foot);
      const place = this.#zones.get(name) ?? { inside: false, against: 0 };
      this.#zones.set(name, place);
      place.against = inside === place.inside ? 0 : place.against + 1;
      if (place.against < inertia || inside === place.inside) continue;
      place.inside = inside;
      place.against = 0;
      if (inside) this.#entered.add(name);
      yield { kind: inside ? 'entered' : 'left', zone: name };
    }
    // A zone that the site no longer has is left without a word: nobody listens to it.
    for (const name of this.#zones.keys())
      if (!zones.some((zone) => zone.name === name)) this.#zones.delete(name);
  }

  *#crossLines(foot: Point, lines: readonly CountLine[]): Generator<TrackStep> {
    if (this.#foot === undefined) return;
    for (const { name, from, to, classes } of lines) {
      if (classes !== undefined && !classes.has(this.className)) continue;
      const way = crossing(from, to, this.#foot, foot);
      if (way !== 0) yield { kind: 'crossed', line: name, direction: way > 0 ? 'in' : 'out' };
    }
  }
}

/** Middle of the lower edge, in shares of the picture: where a thing stands. */
export function footOf({ x1, x2, y2 }: Box<'frame'>, { width, height }: Size): Point {
  return [(x1 + x2) / 2 / width, y2 / height];
}

export function reviewReasons(found: Detection, rule: ReviewRule): readonly ReviewReason[] {
  const { score, scoreVariance, scoreVarianceEpistemic } = found;
  const above = (variance: number | undefined, most: number | undefined) =>
    variance !== undefined && most !== undefined && Math.sqrt(variance) > most;
  const { doubtful } = rule;
  return [
    ...(above(scoreVariance, rule.maxStd) ? (['std'] as const) : []),
    ...(above(scoreVarianceEpistemic, rule.maxEpistemicStd) ? (['epistemic'] as const) : []),
    ...(doubtful && score >= doubtful[0] && score <= doubtful[1] ? (['doubtful'] as const) : []),
    ...(rule.bimodal && hesitates(found) ? (['bimodal'] as const) : []),
  ];
}

/** Bins say it better than the two Gaussians that stand for them. */
function hesitates({ distribution, mixture }: Detection): boolean {
  if (distribution !== undefined) return classifyLaw(distribution) === 'bimodal';
  return mixture !== undefined && mixtureBimodality(mixture).bimodal;
}

function hasLeft(anchor: Corners, box: Corners): boolean {
  const width = REST_SHARE * (anchor.x2 - anchor.x1);
  const height = REST_SHARE * (anchor.y2 - anchor.y1);
  const moved = (before: number, now: number, most: number) => Math.abs(now - before) > most;
  return (
    moved(anchor.x1, box.x1, width) ||
    moved(anchor.x2, box.x2, width) ||
    moved(anchor.y1, box.y1, height) ||
    moved(anchor.y2, box.y2, height)
  );
}

function remember(values: number[], value: number): void {
  values.push(value);
  if (values.length > MEMORY) values.shift();
}

function medianOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
