// Runs one ffmpeg that decodes, turns and scales, and pairs what it writes: the scaled picture (pipe 1), the whole
// picture (pipe 3, where asked for) and the size of each frame (standard error).
import type { Readable, Writable } from 'node:stream';
import type { Size, SourceError } from '#core';
import {
  buildArguments,
  type CommandInput,
  type Ffmpeg,
  isTelling,
  type LogLine,
  type SupervisedChild,
  spawnChild,
} from '../ffmpeg/index.ts';
import { BufferPool } from './buffer-pool.ts';
import { filterGraph, type GraphOptions } from './filter-graph.ts';
import type { DecodedFrame, DecoderEnd, DecoderHandlers, FrameDecoder } from './frame-decoder.ts';
import { NutDemuxer, type NutFrame } from './nut.ts';
import { damagedNut, type NutStream } from './nut-headers.ts';
import { COPY_ARGUMENTS } from './stream-copy.ts';
import { explainTrouble, type StreamTrouble } from './stream-words.ts';

export interface DecoderOptions extends GraphOptions {
  readonly ffmpeg: Ffmpeg;
  readonly input: CommandInput;
  /** A hardware decoder is asked for: what ffmpeg says before the first frame is about the device, not the video. */
  readonly hardware?: boolean;
  /** Takes the encoded stream, too. */
  readonly copy?: (chunk: Buffer) => void;
  /** Hear when an RTSP camera has answered, which ffmpeg says among much else. */
  readonly hearAnswer?: boolean;
  /** Opens the child's standard input, for `pipe:0`. */
  readonly stdin?: boolean;
}

/** `showinfo` says `n: 12 pts: … s:1920x1080 …`; the letters before and after vary with the version. */
const FRAME_INFO = /^n: *\d+ pts:.* s:(\d+)x(\d+)/;
const INPUT_INFO = /^\s*Stream #0:\d+.*: Video: .*?, (\d{1,5})x(\d{1,5})\b/;
const HARDWARE_TROUBLE =
  /hwaccel initiali[sz]ation|Failed setup for format|Using software decod|No device available for decoder/i;

export class Decoder implements FrameDecoder {
  errorLines = 0;
  readonly #child: SupervisedChild;
  readonly #handlers: DecoderHandlers;
  readonly #content: Track;
  readonly #full: Track | undefined;
  readonly #sizes: Size[] = [];
  readonly #hardware: boolean;
  #ordinal = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;
  #toldOfHardware = false;
  #toldInputSize = false;

  constructor(options: DecoderOptions, handlers: DecoderHandlers) {
    this.#handlers = handlers;
    this.#hardware = options.hardware ?? false;
    this.#content = new Track(options.content.width * options.content.height * 3);
    this.#full = options.full ? new Track() : undefined;
    this.#child = spawnChild(options.ffmpeg.path, decoderArguments(options), {
      stdin: options.stdin ? 'pipe' : 'ignore',
      extraPipes: (options.full ? 1 : 0) + (options.copy ? 1 : 0),
      onLog: (line) => this.#takeLog(line),
    });
    this.#read(this.#child.stdout, this.#content);
    const [fullPipe] = this.#child.extra;
    const { copy } = options;
    if (copy !== undefined) this.#child.extra.at(-1)?.on('data', copy);
    if (this.#full !== undefined && fullPipe !== undefined) this.#read(fullPipe, this.#full);
    this.#child.exited.then(
      (exit) => this.#finish({ exit, ...(this.#failure && { failure: this.#failure.error }) }),
      (failure: unknown) =>
        this.#finish({ exit: { code: null, signal: null, reason: '', lastWords: '' }, failure }),
    );
  }

  get stdin(): Writable | undefined {
    return this.#child.stdin;
  }

  pause(): void {
    this.#child.stdout.pause();
    for (const pipe of this.#child.extra) pipe.pause();
  }

  resume(): void {
    if (this.#stopped) return;
    this.#child.stdout.resume();
    for (const pipe of this.#child.extra) pipe.resume();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#child.stop();
  }

  explain(lastWords: string): StreamTrouble {
    return explainTrouble(lastWords);
  }

  #read(pipe: Readable, track: Track): void {
    const demuxer = new NutDemuxer({
      onStream: (stream) => track.open(stream),
      allocate: (byteCount) => track.allocate(byteCount),
      onFrame: (frame) => {
        track.waiting.push(frame);
        this.#pair();
      },
    });
    pipe.on('data', (chunk: Buffer) => {
      if (!this.#stopped && this.#failure === undefined) this.#guard(() => demuxer.push(chunk));
    });
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure = { error };
      void this.#child.stop();
    }
  }

  /** A frame goes out when all its parts have come, over whichever pipe first. */
  #pair(): void {
    const full = this.#full;
    while (this.#content.waiting.length > 0 && this.#sizes.length > 0 && full?.waiting.length !== 0) {
      const content = this.#content.waiting.shift();
      const size = this.#sizes.shift();
      const whole = full?.waiting.shift();
      if (content === undefined || size === undefined) return;
      if (whole !== undefined && Math.abs(whole.ptsSeconds - content.ptsSeconds) > 1e-6) {
        throw damagedNut('the scaled and the whole picture have different times');
      }
      this.#handlers.onFrame(this.#toFrame(content, size, whole));
    }
  }

  #toFrame(content: NutFrame, size: Size, whole: NutFrame | undefined): DecodedFrame {
    let released = false;
    const full = this.#full;
    const ordinal = this.#ordinal;
    this.#ordinal += 1;
    return {
      ordinal,
      ptsSeconds: content.ptsSeconds,
      size,
      content: content.data,
      ...(full && whole && { full: { format: 'yuv420p', ...full.size, data: whole.data } }),
      release: () => {
        if (released) return;
        released = true;
        this.#content.free(content.data);
        if (whole !== undefined) full?.free(whole.data);
      },
    };
  }

  #takeLog(line: LogLine): void {
    if (this.#stopped) return;
    if (line.level === 'info') {
      this.#takeInfo(line.text);
      return;
    }
    // What is normal before the first picture is damage after it.
    const isSaid = isTelling(line) || (this.#ordinal > 0 && line.text !== '');
    const isError = (line.level === 'error' || line.level === 'fatal') && isSaid;
    const isAboutDevice =
      HARDWARE_TROUBLE.test(line.text) || (isError && this.#hardware && this.#ordinal === 0);
    if (isError && !isAboutDevice) this.errorLines += 1;
    if (!isAboutDevice || this.#toldOfHardware) return;
    this.#toldOfHardware = true;
    this.#handlers.onNotice?.(`hardware decoding may not be in effect: ${line.text}`);
  }

  #takeInfo(text: string): void {
    const frame = FRAME_INFO.exec(text);
    if (frame !== null) {
      this.#sizes.push({ width: Number(frame[1]), height: Number(frame[2]) });
      this.#guard(() => this.#pair());
      return;
    }
    if (text.startsWith('SDP:')) this.#handlers.onAnswer?.();
    if (this.#toldInputSize) return;
    const input = INPUT_INFO.exec(text);
    if (input === null || text.includes('(attached pic)')) return;
    this.#toldInputSize = true; // the lines about the outputs look the same and come later
    this.#handlers.onInputSize?.({ width: Number(input[1]), height: Number(input[2]) });
  }

  #finish(end: DecoderEnd): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#handlers.onEnd(end);
  }
}

/** One of ffmpeg's outputs: frames that wait for their counterpart, and the buffers they lie in. */
class Track {
  readonly waiting: NutFrame[] = [];
  size: Size = { width: 0, height: 0 };
  #pool: BufferPool | undefined;
  readonly #expectedBytes: number | undefined;

  /** @param expectedBytes size of a frame where it is known before */
  constructor(expectedBytes?: number) {
    this.#expectedBytes = expectedBytes;
  }

  open({ width, height }: NutStream): void {
    this.size = { width, height };
  }

  /** @throws SourceError where a frame has not the size of all others */
  allocate(byteCount: number): Uint8Array {
    this.#pool ??= new BufferPool(this.#expectedBytes ?? (this.size.width * this.size.height * 3) / 2);
    if (byteCount !== this.#pool.byteCount) throw this.#wrongSize(byteCount, this.#pool.byteCount);
    return this.#pool.take();
  }

  free(buffer: Uint8Array): void {
    this.#pool?.give(buffer);
  }

  #wrongSize(found: number, expected: number): SourceError {
    return damagedNut(`a frame of ${found} bytes, expected ${expected}`);
  }
}

/** Exported for the test that pins the command. */
export function decoderArguments(options: DecoderOptions): readonly string[] {
  const asNut = [
    ...options.ffmpeg.dialect.passthrough,
    // Raw frames are "encoded" by one thread per core otherwise, and as many frames wait: seconds, at 5 a second.
    ...['-c:v', 'rawvideo', '-threads', '1'],
    // Times keep 1 µs instead of snapping to the frame rate.
    ...['-enc_time_base', '1:1000000'],
    // An index of all frames would grow by 650 MB a day.
    ...['-f', 'nut', '-write_index', '0', '-flush_packets', '1'],
  ];
  return buildArguments({
    verbosity: options.hearAnswer === true ? 'level+verbose' : 'level+info',
    inputs: [{ url: options.input.url, options: ['-copyts', ...(options.input.options ?? [])] }],
    filterGraph: filterGraph(options),
    outputs: [
      { target: 'pipe:1', options: ['-map', '[content]', ...asNut] },
      ...(options.full ? [{ target: 'pipe:3', options: ['-map', '[full]', ...asNut] }] : []),
      ...(options.copy
        ? [{ target: `pipe:${options.full ? 4 : 3}`, options: ['-map', '0:V:0', ...COPY_ARGUMENTS] }]
        : []),
    ],
  });
}
