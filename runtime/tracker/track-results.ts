// Gives the results of a source their track ids, and begins anew where the picture does.
import type { Detection, Size, ThresholdPolicy } from '#core';
import { accepts, ConfigError } from '#core';
import type { FrameResult } from '../sinks/sink.ts';
import { createTracker, type TrackerOptions } from './tracker.ts';

/** How the results of a source are tracked. */
export interface TrackResultsOptions extends TrackerOptions {
  /**
   * Which boxes of tracks are reported; absent: all, also the doubtful ones that held a track together. Any rule but
   * `tail-mass`, which needs more than a detection carries.
   */
  readonly shown?: ThresholdPolicy;
}

/** @param shown rule of this frame, in place of that of the options */
export type ResultTracker = <Result extends FrameResult>(result: Result, shown?: ThresholdPolicy) => Result;

/**
 * Frames in order. Detections of the results have ids and belong to tracks; those without a track are left out. A
 * frame without a time (a still picture) keeps its detections, without ids. A new file begins with id 1; a camera that
 * was connected again, or whose picture changed its size, has new tracks, and ids go on, so that none is given twice.
 * @throws ConfigError where `shown` is a tail-mass rule
 */
export function trackResults({ shown: always, ...options }: TrackResultsOptions): ResultTracker {
  if (always?.kind === 'tail-mass') throw unseenTail();
  let tracker = createTracker(options);
  let before: Place | undefined;
  return (result, shown = always) => {
    const { frame, size, detections } = result;
    const place = { source: frame.source, connection: frame.connection ?? 0, size };
    if (before !== undefined && before.source !== place.source) tracker = createTracker(options);
    else if (before !== undefined && !isSamePlace(before, place)) tracker.reset();
    before = place;
    const tracked =
      frame.ptsSeconds === undefined ? detections : tracker.update(detections, frame.ptsSeconds);
    return { ...result, detections: shown ? tracked.filter((found) => isShown(shown, found)) : tracked };
  };
}

interface Place {
  readonly source: string;
  readonly connection: number;
  readonly size: Size;
}

function isSamePlace(a: Place, b: Place): boolean {
  return a.connection === b.connection && a.size.width === b.size.width && a.size.height === b.size.height;
}

function isShown(policy: ThresholdPolicy, { classId, score, scoreVariance = 0 }: Detection): boolean {
  return accepts(policy, {
    classId,
    score,
    variance: scoreVariance,
    tailMass: () => {
      throw unseenTail();
    },
  });
}

function unseenTail(): ConfigError {
  return new ConfigError('threshold=tail-mass cannot choose among the boxes of tracks', {
    hint: 'use threshold=fixed, variance or std with tracking',
  });
}
