// Plays several sources one after another as one: a folder or a list that holds pictures and clips.
import { DataError, SourceError } from '#core';
import type { FrameRequest, FrameSource, SourceStats } from './source.ts';

export interface SequencePart {
  readonly name: string;
  /** Called when its turn comes, so that one source at a time is open. */
  open(): Promise<FrameSource>;
}

/**
 * A part that cannot be opened or read is reported, counted as damaged and passed over; where no part gives a frame,
 * the first fault is thrown. Each frame names its own picture or clip.
 */
export function openSequence(name: string, parts: readonly SequencePart[]): FrameSource {
  let past: SourceStats = { frames: 0, dropped: 0, reconnects: 0, damaged: 0 };
  let current: FrameSource | undefined;
  return {
    name,
    kind: 'video',
    stats: () => addStats(past, current?.stats()),
    async *frames(request: FrameRequest) {
      let firstFault: unknown;
      for (const part of parts) {
        request.signal.throwIfAborted();
        try {
          current = await part.open();
          yield* current.frames(request);
        } catch (fault) {
          if (request.signal.aborted || !(fault instanceof SourceError || fault instanceof DataError))
            throw fault;
          firstFault ??= fault;
          // A source of pictures has counted its damaged pictures itself.
          if (current?.kind !== 'pictures') past = { ...past, damaged: past.damaged + 1 };
          request.onEvent?.({ kind: 'damaged', source: part.name, reason: fault.message });
        } finally {
          past = addStats(past, current?.stats());
          current = undefined;
        }
      }
      if (past.frames === 0 && firstFault !== undefined) throw firstFault;
    },
  };
}

function addStats(a: SourceStats, b: SourceStats | undefined): SourceStats {
  if (!b) return a;
  return {
    frames: a.frames + b.frames,
    dropped: a.dropped + b.dropped,
    reconnects: a.reconnects + b.reconnects,
    damaged: a.damaged + b.damaged,
  };
}
