// A source of which only so many frames a second are looked at.
import type { Frame } from '../frame.ts';
import type { FrameSource } from '../sources/source.ts';
import { frameSeconds, type ThinnedSource, thinSource } from './thinned-source.ts';

/** @param framesPerSecond above 0; times are those of the stream, or of arrival where it has none */
export function paceSource(source: FrameSource, framesPerSecond: number): ThinnedSource {
  return thinSource(source, () => startPace(framesPerSecond), framesPerSecond);
}

function startPace(framesPerSecond: number): (frame: Frame) => boolean {
  const step = 1 / framesPerSecond;
  let due = Number.NEGATIVE_INFINITY;
  let connection: number | undefined;
  return (frame) => {
    const seconds = frameSeconds(frame);
    // After a break the clock of the stream may begin anew.
    if (frame.connection !== connection || seconds < due - 2 * step) due = Number.NEGATIVE_INFINITY;
    connection = frame.connection;
    // A camera of 25 frames a second has none at exactly every fifth of a second: a quarter of a step early will do.
    if (seconds < due - step / 4) return false;
    // The rate holds over time, but frames that were missed are not made up for.
    due = Math.max(due + step, seconds + step / 2);
    return true;
  };
}
