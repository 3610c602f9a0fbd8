// Reads a source to its end, as a test needs it: times, sizes, copies of the bytes, and all that it reported.
import { createLetterbox, type Letterbox, type Size } from '#core';
import type { Frame } from '../../runtime/frame.ts';
import type { FrameRequest, FrameSource, SourceEvent } from '../../runtime/sources/source.ts';

export interface ReadFrame {
  readonly index: number;
  readonly ptsSeconds: number;
  readonly letterbox: Letterbox;
  readonly content: Uint8Array;
  readonly full?: { readonly width: number; readonly height: number; readonly data: Uint8Array };
}

export interface ReadResult {
  readonly frames: readonly ReadFrame[];
  readonly events: readonly SourceEvent[];
}

export const INPUT: Size = { width: 160, height: 160 };

export function frameRequest(events: SourceEvent[], overrides: Partial<FrameRequest> = {}): FrameRequest {
  return {
    fit: (frame) => createLetterbox(frame, INPUT),
    full: false,
    signal: new AbortController().signal,
    onEvent: (event) => events.push(event),
    ...overrides,
  };
}

export async function readAll(
  source: FrameSource,
  overrides: Partial<FrameRequest> = {},
): Promise<ReadResult> {
  const events: SourceEvent[] = [];
  const frames: ReadFrame[] = [];
  for await (const frame of source.frames(frameRequest(events, overrides))) {
    frames.push(copyOf(frame));
    frame.release();
  }
  return { frames, events };
}

function copyOf(frame: Frame): ReadFrame {
  const { index, ptsSeconds = Number.NaN, letterbox, full } = frame;
  return {
    index,
    ptsSeconds,
    letterbox,
    content: frame.content.slice(),
    ...(full && { full: { width: full.width, height: full.height, data: full.data.slice() } }),
  };
}
