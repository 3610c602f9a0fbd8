// Which boxes of successive frames are the same object: two-stage association after Zhang et al., "ByteTrack",
// ECCV 2022 (algorithm 1): sure boxes choose first, then the doubtful ones may go on with tracks that are left.
import type { Detection } from '#core';
import { type Association, createAssociation } from './association.ts';
import { correctMotion, type Motion, predictMotion, startMotion } from './motion.ts';

/** Names in brackets are those of the command line and of Ultralytics' trackers. */
export interface TrackerOptions {
  /** Score from which a box takes part in the first association (`track_high_thresh`). Default 0.25. */
  readonly highThreshold?: number;
  /** Score above which a box may go on with a track, in the second association (`track_low_thresh`). Default 0.1. */
  readonly lowThreshold?: number;
  /** Score from which a box that no track wanted begins one (`new_track_thresh`). Default 0.25. */
  readonly newThreshold?: number;
  /** How long a track that is not seen is remembered, in seconds (`track_buffer` in 30ths). Default 1. */
  readonly bufferSeconds?: number;
  /** Pairs of the first association have 1 - IoU, or 1 - IoU x score, below it (`match_thresh`). Default 0.8. */
  readonly matchThreshold?: number;
  /** Whether the score counts in that (`fuse_score`). Default true. */
  readonly fuseScore?: boolean;
  /** Whether a track keeps its class (`track_per_class`). Default false: a box may change its class and keep its id. */
  readonly perClass?: boolean;
}

/** A state machine without input or output: frames of one stream go in, in order. */
export interface Tracker {
  /**
   * @param detections of a frame, down to `lowThreshold`: doubtful boxes hold tracks together
   * @param seconds time of the frame; a step back forgets all tracks
   * @returns those that belong to a track, in the given order, with `trackId`; box, score and variance stay as the
   * detector gave them. A track begins to be reported when it is seen in a second frame (in the first of all at once);
   * ids count from 1 in the order in which that happens.
   * @throws RangeError where `seconds` is not finite
   */
  update(detections: readonly Detection[], seconds: number): readonly Detection[];
  /** Forgets all tracks. Ids are not given again. */
  reset(): void;
}

export const TRACKER_DEFAULTS = {
  highThreshold: 0.25,
  lowThreshold: 0.1,
  newThreshold: 0.25,
  bufferSeconds: 1,
  matchThreshold: 0.8,
  fuseScore: true,
  perClass: false,
} as const satisfies Required<TrackerOptions>;

/** 1 - IoU of pairs of the second association, and of those of tracks that were seen once. */
const SECOND_LIMIT = 0.5;
const UNCONFIRMED_LIMIT = 0.7;
/** 1 - IoU below which a track that is seen and one that is lost are one object. */
const SAME_LIMIT = 0.15;

/** One object. */
interface Track {
  /** 0 until it was seen twice. */
  id: number;
  readonly motion: Motion;
  classId: number;
  /** Seen in the latest frame. */
  seen: boolean;
  readonly bornSeconds: number;
  lastSeconds: number;
}

/** @example for (const result of frames) shown.push(...tracker.update(result.detections, result.seconds)); */
export function createTracker(options: TrackerOptions = {}): Tracker {
  return new ByteTracker({ ...TRACKER_DEFAULTS, ...options });
}

class ByteTracker implements Tracker {
  readonly #options: Required<TrackerOptions>;
  readonly #association: Association;
  #tracks: Track[] = [];
  #lastId = 0;
  #lastSeconds: number | undefined;

  constructor(options: Required<TrackerOptions>) {
    this.#options = options;
    this.#association = createAssociation(options.perClass);
  }

  reset(): void {
    this.#tracks = [];
    this.#lastSeconds = undefined;
  }

  update(detections: readonly Detection[], seconds: number): readonly Detection[] {
    if (!Number.isFinite(seconds))
      throw new RangeError(`the time of a frame must be finite, found ${seconds}`);
    if (this.#lastSeconds !== undefined && seconds < this.#lastSeconds) this.reset();
    const isFirst = this.#lastSeconds === undefined;
    this.#forget(seconds);
    this.#predict(seconds - (this.#lastSeconds ?? seconds));
    this.#lastSeconds = seconds;
    const owners = this.#associate(detections, seconds);
    this.#begin(detections, owners, { seconds, isFirst });
    this.#merge(owners, seconds);
    return this.#report(detections, owners);
  }

  #predict(stepSeconds: number): void {
    for (const { motion, seen } of this.#tracks) predictMotion(motion, stepSeconds, !seen);
  }

  /** @returns the track of each detection; those without one are left to begin tracks */
  #associate(detections: readonly Detection[], seconds: number): Map<Detection, Track> {
    const { highThreshold, lowThreshold, matchThreshold, fuseScore } = this.#options;
    const owners = new Map<Detection, Track>();
    const confirmed = this.#tracks.filter(({ id }) => id > 0);
    const wasSeen = new Set(confirmed.filter(({ seen }) => seen));
    const unconfirmed = this.#tracks.filter(({ id }) => id === 0);
    for (const track of this.#tracks) track.seen = false;
    const pair = (tracks: readonly Track[], found: readonly Detection[], fuse: boolean, limit: number) => {
      for (const [track, detection] of this.#association.pair(tracks, found, { fuse, limit })) {
        owners.set(detection, track);
        take(track, detection, seconds);
      }
    };
    const high = detections.filter(({ score }) => score >= highThreshold);
    const low = detections.filter(({ score }) => score > lowThreshold && score < highThreshold);
    pair(confirmed, high, fuseScore, matchThreshold);
    // What is lost does not come back by a doubtful box.
    pair(
      confirmed.filter((track) => wasSeen.has(track) && !track.seen),
      low,
      false,
      SECOND_LIMIT,
    );
    pair(
      unconfirmed,
      high.filter((found) => !owners.has(found)),
      fuseScore,
      UNCONFIRMED_LIMIT,
    );
    return owners;
  }

  #begin(
    detections: readonly Detection[],
    owners: Map<Detection, Track>,
    { seconds, isFirst }: { readonly seconds: number; readonly isFirst: boolean },
  ): void {
    const { highThreshold, newThreshold } = this.#options;
    const least = Math.max(highThreshold, newThreshold);
    for (const detection of detections) {
      const owner = owners.get(detection);
      if (owner !== undefined) {
        if (owner.id === 0) owner.id = ++this.#lastId;
        continue;
      }
      if (detection.score < least) continue;
      const track: Track = {
        id: isFirst ? ++this.#lastId : 0,
        motion: startMotion(detection),
        classId: detection.classId,
        seen: true,
        bornSeconds: seconds,
        lastSeconds: seconds,
      };
      this.#tracks.push(track);
      owners.set(detection, track);
    }
  }

  /** Where a lost track and one that is seen lie on each other, the older goes on with what the younger sees. */
  #merge(owners: Map<Detection, Track>, seconds: number): void {
    const lost = this.#tracks.filter(({ id, seen }) => id > 0 && !seen);
    if (lost.length === 0) return;
    const found = new Map([...owners].filter(([, track]) => track.id > 0));
    for (const [track, detection] of this.#association.pair(lost, [...found.keys()], {
      fuse: false,
      limit: SAME_LIMIT,
    })) {
      const rival = found.get(detection)!;
      const isOlder = track.bornSeconds < rival.bornSeconds;
      const gone = isOlder ? rival : track;
      if (isOlder) {
        take(track, detection, seconds);
        owners.set(detection, track);
      }
      this.#tracks.splice(this.#tracks.indexOf(gone), 1);
    }
  }

  /** What the frame before showed is remembered however long ago that was: some cameras give a picture a minute. */
  #forget(seconds: number): void {
    const { bufferSeconds } = this.#options;
    this.#tracks = this.#tracks.filter(
      ({ id, seen, lastSeconds }) => seen || (id > 0 && seconds - lastSeconds <= bufferSeconds),
    );
  }

  #report(detections: readonly Detection[], owners: ReadonlyMap<Detection, Track>): readonly Detection[] {
    return detections.flatMap((detection) => {
      const trackId = owners.get(detection)?.id ?? 0;
      return trackId === 0 ? [] : [{ ...detection, trackId }];
    });
  }
}

function take(track: Track, detection: Detection, seconds: number): void {
  correctMotion(track.motion, detection);
  track.classId = detection.classId;
  track.seen = true;
  track.lastSeconds = seconds;
}
