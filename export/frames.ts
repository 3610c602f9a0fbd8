// Frames of the user's pictures and clips, a few of each: what ranges are measured on and exports are judged with.
import type { Letterbox, Size } from '#core';
import { DataError } from '#core';
import { type Ffmpeg, type Frame, openSource } from '#runtime';

export interface FrameChoice {
  /** What `openSource` takes: pictures, folders, lists, clips. Live sources never end and are refused. */
  readonly sources: readonly string[];
  /** Most frames in all; each source gives its share, spread over its length where that is known. */
  readonly most: number;
  /** For clips. Default: found on the path. */
  readonly ffmpeg?: Ffmpeg;
}

/**
 * Fitted frames, in order; each is valid until the next one is asked for.
 * @throws DataError for a live source, SourceError and DataError as `openSource`
 */
export async function* chosenFrames(
  { sources, most, ffmpeg }: FrameChoice,
  fit: (frame: Size) => Letterbox,
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<Frame, void, void> {
  let given = 0;
  for (const [place, spec] of sources.entries()) {
    const share = Math.ceil((most - given) / (sources.length - place));
    if (share <= 0) return;
    const source = await openSource(spec, ffmpeg ? { ffmpeg } : {});
    if (source.kind === 'live') {
      throw new DataError(`${source.name} is a live source`, {
        hint: 'record a clip of it, or name pictures: an export is judged on frames that both models can see',
      });
    }
    const step = Math.max(1, Math.ceil((source.frameCount ?? share) / share));
    let taken = 0;
    for await (const frame of source.frames({ fit, full: false, signal })) {
      try {
        if (taken < share && frame.index % step === 0) {
          taken++;
          yield frame;
        }
      } finally {
        frame.release();
      }
      // What follows would be decoded for nothing.
      if (taken >= share) break;
    }
    given += taken;
  }
}
