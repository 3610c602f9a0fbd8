// A source of which not every frame is looked at. The others are let go as they come, at no cost but their decoding.
import type { Frame } from '../frame.ts';
import type { FrameRequest, FrameSource, SourceStats } from '../sources/source.ts';

export interface ThinnedSource extends FrameSource {
  /** Frames that were let go. */
  readonly skipped: number;
}

/**
 * @param startChoosing begins the choice anew at each reading; what it gives says of each frame whether it is looked at
 * @param framesPerSecond that are left, where it is known
 */
export function thinSource(
  source: FrameSource,
  startChoosing: () => (frame: Frame) => boolean,
  framesPerSecond = source.framesPerSecond,
): ThinnedSource {
  let skipped = 0;
  return {
    name: source.name,
    kind: source.kind,
    ...(source.frameCount !== undefined && { frameCount: source.frameCount }),
    ...(framesPerSecond !== undefined && { framesPerSecond }),
    get skipped() {
      return skipped;
    },
    stats: (): SourceStats => {
      const stats = source.stats();
      return { ...stats, frames: stats.frames - skipped };
    },
    async *frames(request: FrameRequest): AsyncGenerator<Frame, void, undefined> {
      const isChosen = startChoosing();
      for await (const frame of source.frames(request)) {
        if (isChosen(frame)) {
          yield frame;
          continue;
        }
        skipped++;
        frame.release();
      }
    },
  };
}

/** On the clock of the stream, or of arrival where it has none. */
export function frameSeconds({ ptsSeconds, capturedAtMs }: Frame): number {
  return ptsSeconds ?? (capturedAtMs ?? Date.now()) / 1000;
}
