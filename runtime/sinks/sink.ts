// What every sink of results offers. Results are written as they come and nothing is kept.
import type { Detection, Size } from '#core';
import type { Frame } from '../frame.ts';

/** What was found in one frame. */
export interface FrameResult {
  /** The frame itself: its bytes are valid until all sinks have returned. */
  readonly frame: Frame;
  readonly size: Size;
  readonly detections: readonly Detection[];
  /** State of the light, where it is followed: its thresholds were used. */
  readonly light?: string;
}

/** Where results go: a file, a folder, a stream. */
export interface Sink {
  /** Resolves when the result is handed over and the frame's bytes are no longer needed. */
  write(result: FrameResult): Promise<void>;
  /** Completes the output: whole lines, a playable file. Safe to call twice, also after a failed write. */
  close(): Promise<void>;
  /** What was written, for the closing summary: paths. */
  readonly outputs: readonly string[];
}
