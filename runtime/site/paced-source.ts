// A source of which only so many frames a second are looked at. The others are let go as they come, at no cost but
// their decoding.
import type { Frame } from '../frame.ts';
import type { FrameRequest, FrameSource, SourceStats } from '../sources/source.ts';

export interface PacedSource extends FrameSource {
  /** Frames that were let go. */
  readonly skipped: number;
}

/** @param framesPerSecond above 0; times are those of the stream, or of arrival where it has none */
export function paceSource(source: FrameSource, framesPerSecond: number): PacedSource {
  let skipped = 0;
  return {
    name: source.name,
    kind: source.kind,
    ...(source.frameCount !== undefined && { frameCount: source.frameCount }),
    framesPerSecond,
    get skipped() {
      return skipped;
    },
    stats: (): SourceStats => {
      const stats = source.stats();
      return { ...stats, frames: stats.frames - skipped };
    },
    async *frames(request: FrameRequest): AsyncGenerator<Frame, void, undefined> {
      const step = 1 / framesPerSecond;
      let due = Number.NEGATIVE_INFINITY;
      let connection: number | undefined;
      for await (const frame of source.frames(request)) {
        const seconds = frame.ptsSeconds ?? (frame.capturedAtMs ?? Date.now()) / 1000;
        // After a break the clock of the stream may begin anew.
        if (frame.connection !== connection || seconds < due - 2 * step) due = Number.NEGATIVE_INFINITY;
        connection = frame.connection;
        // A camera of 25 frames a second has none at exactly every fifth of a second: a quarter of a step early will do.
        if (seconds < due - step / 4) {
          skipped++;
          frame.release();
          continue;
        }
        // The rate holds over time, but frames that were missed are not made up for.
        due = Math.max(due + step, seconds + step / 2);
        yield frame;
      }
    },
  };
}
