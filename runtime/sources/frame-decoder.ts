// What readers ask of any program that decodes: frames with their times, the size of each, and why it ended.
import type { Writable } from 'node:stream';
import type { Size } from '#core';
import type { ChildExit } from '../ffmpeg/index.ts';
import type { FullFrame } from '../frame.ts';
import type { StreamTrouble } from './stream-words.ts';

/** Starts one decoder: for a file once, for a live source at each connection. */
export type StartDecoder = (request: DecodeRequest, handlers: DecoderHandlers) => FrameDecoder;

export interface DecodeRequest {
  /** Size of the scaled picture, from the letterbox. */
  readonly content: Size;
  /** Also the whole picture, for painting. */
  readonly full: boolean;
}

export interface FrameDecoder {
  /** Error lines so far: damaged parts of the stream. */
  readonly errorLines: number;
  /** Where the encoded video goes in, if it comes from this process. */
  readonly stdin: Writable | undefined;
  /** The program waits as soon as its pipes are full. */
  pause(): void;
  resume(): void;
  /** No handler is called any more; resolves when the child is gone. */
  stop(): Promise<void>;
  /** What the program's last words mean, for people. */
  explain(lastWords: string): StreamTrouble;
}

export interface DecoderHandlers {
  readonly onFrame: (frame: DecodedFrame) => void;
  /** The sender has answered and said what it has, before anything of it came. Not every kind of source does. */
  readonly onAnswer?: () => void;
  /** Size of the input as its header says it, long before the first frame; not turned. */
  readonly onInputSize?: (size: Size) => void;
  readonly onNotice?: (message: string) => void;
  /** After the last frame. Never called after `stop()`. */
  readonly onEnd: (end: DecoderEnd) => void;
}

export interface DecodedFrame {
  /** 0-based place among the frames of this decoder. */
  readonly ordinal: number;
  readonly ptsSeconds: number;
  /** As displayed. */
  readonly size: Size;
  readonly content: Uint8Array;
  readonly full?: FullFrame;
  release(): void;
}

export interface DecoderEnd {
  readonly exit: ChildExit;
  /** Set where the frames could not be understood. */
  readonly failure?: unknown;
}
