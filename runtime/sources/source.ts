// What every source of frames offers, whether a folder of pictures, a file or a camera.
import type { Letterbox, Size } from '#core';
import type { Frame } from '../frame.ts';

/** What a consumer asks of a source. */
export interface FrameRequest {
  /** Fits a frame of this size (as displayed) into the network's input. Called again when the size changes. */
  readonly fit: (frame: Size) => Letterbox;
  /** Also deliver the whole frame, for painting. */
  readonly full: boolean;
  readonly signal: AbortSignal;
  /** Told of everything that an operator should know; never called after the iteration ended. */
  readonly onEvent?: (event: SourceEvent) => void;
}

/** What an operator should know of a source while it runs. */
export type SourceEvent =
  /** A source is open: what was found. */
  | { readonly kind: 'open'; readonly source: string; readonly size: Size; readonly framesPerSecond?: number }
  /** A picture or a part of a video could not be read; the run goes on. */
  | { readonly kind: 'damaged'; readonly source: string; readonly reason: string }
  /** A live source broke; `retryInMs` until the next try. */
  | { readonly kind: 'lost'; readonly source: string; readonly reason: string; readonly retryInMs: number }
  /** A live source is back; the size may have changed. */
  | { readonly kind: 'resumed'; readonly source: string; readonly size: Size }
  /** The light of a stream as first found (no `before`), or changed; `value` is what was measured. */
  | {
      readonly kind: 'light';
      readonly source: string;
      readonly state: string;
      readonly before?: string;
      readonly value: number;
    }
  | { readonly kind: 'notice'; readonly source: string; readonly message: string };

/** Counts so far; final once the iteration has ended. */
export interface SourceStats {
  /** Frames handed out. */
  readonly frames: number;
  /** Frames of a live source that a newer one replaced before anybody took them. */
  readonly dropped: number;
  readonly reconnects: number;
  /** Pictures left out, or error lines of the decoder. */
  readonly damaged: number;
}

/** Where frames come from: pictures, a video, or a live stream. Made by `openSource`. */
export interface FrameSource {
  /** For people and results: credentials removed. */
  readonly name: string;
  readonly kind: 'pictures' | 'video' | 'live';
  /** Pictures or frames to come, where it is known. */
  readonly frameCount?: number;
  /** Average rate of a video, where it is known. */
  readonly framesPerSecond?: number;
  /**
   * Frames in order. Files are read at the pace of the consumer and never dropped from; a live source keeps the
   * newest frame. Ends when the source ends or the signal aborts (then it throws the signal's reason).
   * Throws SourceError or DataError in the user's terms. May be called once.
   */
  frames(request: FrameRequest): AsyncIterable<Frame>;
  /** Counts up to now. */
  stats(): SourceStats;
}
