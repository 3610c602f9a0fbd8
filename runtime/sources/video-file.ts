// A video that ends: a file, a finite download or an encoded pipe. Every frame once, in order, with its exact time.
import type { Writable } from 'node:stream';
import { type Size, SourceError } from '#core';
import type { ChildExit, CommandInput, Ffmpeg } from '../ffmpeg/index.ts';
import type { Frame } from '../frame.ts';
import { Decoder } from './decoder.ts';
import type {
  DecodedFrame,
  DecoderEnd,
  DecoderHandlers,
  FrameDecoder,
  StartDecoder,
} from './frame-decoder.ts';
import { FrameInbox } from './frame-inbox.ts';
import { Geometry } from './geometry.ts';
import { hwaccelArguments } from './hwaccel.ts';
import type { VideoInfo } from './probe.ts';
import type { FrameRequest, FrameSource, SourceEvent, SourceStats } from './source.ts';

export interface VideoSettings {
  readonly ffmpeg: Ffmpeg;
  /** Credentials removed. */
  readonly name: string;
  readonly input: CommandInput;
  readonly info: VideoInfo;
  readonly stride?: number;
  readonly deinterlace?: boolean;
  readonly squarePixels?: boolean;
  readonly exactColour?: boolean;
  /** A preset or ffmpeg's own arguments. */
  readonly hwaccel?: string;
  /** Writes the video into the decoder's standard input, for `pipe:0`. Called again for each decoder. */
  readonly feed?: (stdin: Writable) => void;
  /** Another program than ffmpeg decodes. */
  readonly startDecoder?: StartDecoder;
}

/** Whole seconds, so that times in any usual time base move by whole ticks. */
const SHIFT_SECONDS = 4096;
/** An end that comes earlier than the header's duration by more than this is a cut file and no rounding. */
const TOLERATED_SHORTFALL_SECONDS = 0.5;

export class VideoSource implements FrameSource {
  readonly kind = 'video';
  readonly name: string;
  readonly frameCount?: number;
  readonly framesPerSecond?: number;
  readonly #settings: VideoSettings;
  readonly #stride: number;
  readonly #shiftSeconds: number;
  #decoder: FrameDecoder | undefined;
  #frames = 0;
  #damaged = 0;
  #used = false;

  constructor(settings: VideoSettings) {
    const { info } = settings;
    this.#settings = settings;
    this.name = settings.name;
    this.#stride = settings.stride ?? 1;
    // Only NUT cannot carry times below zero.
    this.#shiftSeconds = info.startSeconds < 0 && settings.startDecoder === undefined ? SHIFT_SECONDS : 0;
    if (info.frameCount !== undefined) this.frameCount = Math.ceil(info.frameCount / this.#stride);
    if (info.framesPerSecond !== undefined) this.framesPerSecond = info.framesPerSecond / this.#stride;
  }

  stats(): SourceStats {
    const damaged = this.#damaged + (this.#decoder?.errorLines ?? 0);
    return { frames: this.#frames, dropped: 0, reconnects: 0, damaged };
  }

  async *frames(request: FrameRequest): AsyncGenerator<Frame, void, undefined> {
    if (this.#used) throw new Error(`${this.name}: frames() was called twice`);
    this.#used = true;
    request.signal.throwIfAborted();
    let reading = this.#read(request, this.#squared(this.#settings.info));
    const abort = () => {
      reading.inbox.fail(request.signal.reason);
      void reading.stop();
    };
    request.signal.addEventListener('abort', abort, { once: true });
    try {
      let first = await reading.inbox.next();
      if (first !== undefined && this.#settings.feed === undefined && !reading.geometry.suits(first.size)) {
        // The header lied about the size: once more, fitted to what the pictures are.
        const { size } = first;
        first.release();
        await reading.stop();
        reading = this.#read(request, size);
        first = await reading.inbox.next();
      }
      yield* this.#handOut(first, reading, request);
      this.#reportEnd(await reading.ended, reading, request);
    } finally {
      request.signal.removeEventListener('abort', abort);
      await reading.stop();
      this.#damaged += reading.decoder.errorLines;
      this.#decoder = undefined;
    }
  }

  async *#handOut(
    first: DecodedFrame | undefined,
    reading: Reading,
    request: FrameRequest,
  ): AsyncGenerator<Frame> {
    for (let next = first; next !== undefined; next = await reading.inbox.next()) {
      if (next === first) this.#tell(request, { kind: 'open', source: this.name, size: next.size });
      const letterbox = reading.geometry.letterboxOf(next.size, (message) =>
        request.onEvent?.({ kind: 'notice', source: this.name, message }),
      );
      reading.lastPtsSeconds = next.ptsSeconds - this.#shiftSeconds;
      this.#frames += 1;
      yield {
        source: this.name,
        index: next.ordinal * this.#stride,
        ptsSeconds: reading.lastPtsSeconds,
        letterbox,
        content: next.content,
        ...(next.full && { full: next.full }),
        release: next.release,
      };
    }
  }

  #tell(request: FrameRequest, event: Extract<SourceEvent, { kind: 'open' }>): void {
    const rate = this.framesPerSecond;
    request.onEvent?.({ ...event, ...(rate !== undefined && { framesPerSecond: rate }) });
  }

  #read(request: FrameRequest, size: Size): Reading {
    const { feed } = this.#settings;
    const geometry = new Geometry(request, size);
    const inbox = new FrameInbox<DecodedFrame>({
      policy: 'all',
      onFull: () => decoder.pause(),
      onSpace: () => decoder.resume(),
    });
    const { promise: ended, resolve: end } = settled<DecoderEnd>();
    const decoder = this.#startDecoder(geometry.content, request.full, {
      onFrame: (frame) => inbox.push(frame),
      onNotice: (message) => request.onEvent?.({ kind: 'notice', source: this.name, message }),
      onEnd: (outcome) => {
        end(outcome);
        if (outcome.failure === undefined) inbox.close();
        else inbox.fail(outcome.failure);
      },
    });
    this.#decoder = decoder;
    if (feed !== undefined && decoder.stdin !== undefined) feed(decoder.stdin);
    return { geometry, inbox, decoder, ended, lastPtsSeconds: 0, stop: () => decoder.stop() };
  }

  #startDecoder(content: Size, full: boolean, handlers: DecoderHandlers): FrameDecoder {
    const { ffmpeg, input, info, deinterlace, squarePixels, exactColour, hwaccel, feed, startDecoder } =
      this.#settings;
    if (startDecoder !== undefined) return startDecoder({ content, full }, handlers);
    return new Decoder(
      {
        ffmpeg,
        input: {
          url: input.url,
          options: [...hwaccelArguments(hwaccel, info.codec), ...(input.options ?? [])],
        },
        content,
        full,
        stride: this.#stride,
        shiftSeconds: this.#shiftSeconds,
        stdin: feed !== undefined,
        hardware: hwaccel !== undefined && hwaccel !== 'none',
        ...(deinterlace !== undefined && { deinterlace }),
        ...(squarePixels !== undefined && { squarePixels }),
        ...(exactColour !== undefined && { exactColour }),
      },
      handlers,
    );
  }

  /** ffmpeg's exit code is 0 for a file that was cut in the middle, so the end is judged here. */
  #reportEnd({ exit }: DecoderEnd, reading: Reading, request: FrameRequest): void {
    if (this.#frames === 0) throw this.#nothingDecoded(exit, reading.decoder);
    if (exit.signal !== null) {
      throw new SourceError(
        `${this.name}: the decoder was ended by ${exit.signal} after ${this.#frames} frames`,
        {
          hint: 'look whether memory ran out (dmesg)',
        },
      );
    }
    const lines = reading.decoder.errorLines;
    const missing = this.frameCount === undefined ? 0 : this.frameCount - this.#frames;
    if (lines === 0 && exit.code === 0 && !(missing > 0 && this.#endsEarly(reading.lastPtsSeconds))) return;
    this.#damaged += lines === 0 ? 1 : 0;
    const count =
      missing > 0 ? `${this.#frames} of ${this.frameCount} frames came` : `${this.#frames} frames came`;
    const said = exit.reason === '' ? '' : `; the decoder says: ${exit.reason}`;
    const found = `the video is cut or damaged: ${count}, ${lines} errors in decoding${said}`;
    request.onEvent?.({ kind: 'damaged', source: this.name, reason: found });
  }

  #nothingDecoded({ lastWords }: ChildExit, decoder: FrameDecoder): SourceError {
    const { reason, hint } = decoder.explain(lastWords);
    const why = lastWords === '' ? '' : `: ${reason}`;
    const piped = this.#settings.feed !== undefined;
    return new SourceError(`${this.name}: no frame could be decoded${why}`, {
      hint: piped
        ? 'a pipe cannot be read backwards: send mpegts, mkv, or mp4 with -movflags +faststart'
        : hint,
    });
  }

  #endsEarly(lastPtsSeconds: number): boolean {
    const { startSeconds, durationSeconds } = this.#settings.info;
    if (durationSeconds === undefined) return true;
    const interval = 1 / (this.framesPerSecond ?? 25);
    const tolerated = Math.max(TOLERATED_SHORTFALL_SECONDS, 3 * interval);
    return lastPtsSeconds + interval < startSeconds + durationSeconds - tolerated;
  }

  #squared({ size, pixelAspect }: VideoInfo): Size {
    if (!this.#settings.squarePixels) return size;
    return { width: Math.trunc((size.width * pixelAspect) / 2) * 2, height: size.height };
  }
}

interface Reading {
  readonly geometry: Geometry;
  readonly inbox: FrameInbox<DecodedFrame>;
  readonly decoder: FrameDecoder;
  readonly ended: Promise<DecoderEnd>;
  lastPtsSeconds: number;
  stop(): Promise<void>;
}

function settled<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
