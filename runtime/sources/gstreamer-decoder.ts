// Runs one gst-launch-1.0 that decodes and scales, and pairs what it writes: the scaled picture (fd 3), the whole
// picture (fd 4, where asked for) and the size of the input (standard output).
import type { Readable } from 'node:stream';
import type { Size } from '#core';
import { type LogLine, type SupervisedChild, spawnChild } from '../ffmpeg/index.ts';
import { BufferPool } from './buffer-pool.ts';
import type {
  DecodedFrame,
  DecodeRequest,
  DecoderEnd,
  DecoderHandlers,
  FrameDecoder,
} from './frame-decoder.ts';
import { formatSize, isSameSize } from './geometry.ts';
import { damagedGdp, GdpDemuxer } from './gstreamer-gdp.ts';
import type { Gstreamer } from './gstreamer-locate.ts';
import { isPacked, type PictureLayout, pack, pictureLayout } from './gstreamer-picture.ts';
import { type GstreamerInput, pipelineArguments, SIZE_PROBE } from './gstreamer-pipeline.ts';
import { explainGstreamer } from './gstreamer-words.ts';
import type { StreamTrouble } from './stream-words.ts';

export interface GstreamerDecoderOptions {
  readonly gstreamer: Gstreamer;
  readonly input: GstreamerInput;
  readonly hardware: boolean;
  /** Every n-th frame only. */
  readonly stride?: number;
  /** Time of the first frame, where a file tells it. GStreamer's own clock begins elsewhere. */
  readonly startSeconds?: number;
}

interface Picture {
  readonly ptsNs: bigint;
  readonly data: Uint8Array;
  readonly size: Size;
}

const SIZE_LINE = new RegExp(
  `GstIdentity:${SIZE_PROBE}\\.GstPad:\\w+: caps = video/x-raw.*? width=\\(int\\)(\\d+), height=\\(int\\)(\\d+)`,
);
const LONGEST_LINE = 65_536;

export class GstreamerDecoder implements FrameDecoder {
  errorLines = 0;
  readonly stdin = undefined;
  readonly #options: GstreamerDecoderOptions;
  readonly #handlers: DecoderHandlers;
  readonly #child: SupervisedChild;
  readonly #content: Track;
  readonly #full: Track | undefined;
  #inputSize: Size | undefined;
  #firstPtsNs: bigint | undefined;
  /** Frames that came; of these every `stride`-th is handed on. */
  #arrived = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: GstreamerDecoderOptions, { content, full }: DecodeRequest, handlers: DecoderHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#child = spawnChild(
      options.gstreamer.launchPath,
      pipelineArguments({ input: options.input, hardware: options.hardware, content, full }),
      { extraPipes: full ? 2 : 1, onLog: (line) => this.#takeLog(line) },
    );
    this.#content = new Track(content);
    this.#full = full ? new Track() : undefined;
    this.#readSizes(this.#child.stdout);
    const [contentPipe, fullPipe] = this.#child.extra;
    if (contentPipe !== undefined) this.#readPictures(contentPipe, this.#content);
    if (fullPipe !== undefined && this.#full !== undefined) this.#readPictures(fullPipe, this.#full);
    this.#child.exited.then(
      (exit) => this.#finish({ exit, ...(this.#failure && { failure: this.#failure.error }) }),
      (failure: unknown) =>
        this.#finish({ exit: { code: null, signal: null, reason: '', lastWords: '' }, failure }),
    );
  }

  pause(): void {
    for (const pipe of this.#child.extra) pipe.pause();
  }

  resume(): void {
    if (this.#stopped) return;
    for (const pipe of this.#child.extra) pipe.resume();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#child.stop();
  }

  explain(lastWords: string): StreamTrouble {
    return explainGstreamer(lastWords);
  }

  /** Told with -v, beside the pictures: of a change in the middle, the first picture or two may still have the old size. */
  #readSizes(stdout: Readable): void {
    let rest = '';
    stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = (lines.pop() ?? '').slice(-LONGEST_LINE);
      for (const line of lines) this.#takeSize(SIZE_LINE.exec(line));
    });
  }

  #takeSize(match: RegExpExecArray | null): void {
    if (match === null || this.#stopped) return;
    const { input, hardware } = this.#options;
    const [width, height] = [Number(match[1]), Number(match[2])];
    const turnsLater = hardware && input.kind === 'file' && input.turned;
    const size = turnsLater ? { width: height, height: width } : { width, height };
    if (this.#inputSize !== undefined && isSameSize(this.#inputSize, size)) return;
    const isFirst = this.#inputSize === undefined;
    this.#inputSize = size;
    if (isFirst) this.#handlers.onInputSize?.(size);
    this.#guard(() => this.#pair());
  }

  #readPictures(pipe: Readable, track: Track): void {
    const demuxer = new GdpDemuxer({
      onCaps: (caps) => track.open(pictureLayout(caps)),
      allocate: (byteCount) => track.allocate(byteCount),
      onFrame: ({ ptsNs, corrupted, data }) => {
        if (corrupted && track === this.#content) this.errorLines += 1;
        if (ptsNs === undefined) throw damagedGdp('a picture without a time');
        track.add(ptsNs, data);
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
    while (this.#inputSize !== undefined && this.#content.waiting.length > 0 && full?.waiting.length !== 0) {
      const content = this.#content.waiting.shift();
      const whole = full?.waiting.shift();
      if (content === undefined) return;
      if (whole !== undefined && whole.ptsNs !== content.ptsNs)
        throw damagedGdp('the scaled and the whole picture have different times');
      this.#handOn(content, whole, this.#inputSize);
    }
  }

  #handOn(content: Picture, whole: Picture | undefined, size: Size): void {
    const stride = this.#options.stride ?? 1;
    const place = this.#arrived;
    this.#arrived += 1;
    const frame = this.#toFrame(content, whole, size, Math.floor(place / stride));
    if (place % stride === 0) this.#handlers.onFrame(frame);
    else frame.release();
  }

  #toFrame(content: Picture, whole: Picture | undefined, size: Size, ordinal: number): DecodedFrame {
    this.#firstPtsNs ??= content.ptsNs;
    const sinceFirst = Number(content.ptsNs - this.#firstPtsNs) / 1e9;
    let released = false;
    return {
      ordinal,
      ptsSeconds: (this.#options.startSeconds ?? 0) + sinceFirst,
      size,
      content: content.data,
      ...(whole && { full: { format: 'yuv420p', ...whole.size, data: whole.data } }),
      release: () => {
        if (released) return;
        released = true;
        this.#content.free(content.data);
        if (whole !== undefined) this.#full?.free(whole.data);
      },
    };
  }

  #takeLog({ text }: LogLine): void {
    if (!this.#stopped && /^(?:ERROR|WARNING): from element/.test(text)) this.errorLines += 1;
  }

  #finish(end: DecoderEnd): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#handlers.onEnd(end);
  }
}

/** One pipe: pictures that wait for their counterpart, and the buffers they lie in. */
class Track {
  readonly waiting: Picture[] = [];
  readonly #expected: Size | undefined;
  #layout: PictureLayout | undefined;
  #pool: BufferPool | undefined;
  /** Where a picture lands whose rows have gaps. */
  #landing: Uint8Array | undefined;

  /** @param expected size of all pictures, where it was asked for */
  constructor(expected?: Size) {
    this.#expected = expected;
  }

  open(layout: PictureLayout): void {
    this.#layout = layout;
    if (this.#pool?.byteCount !== layout.bytesPacked) this.#pool = new BufferPool(layout.bytesPacked);
    this.#landing = isPacked(layout) ? undefined : new Uint8Array(layout.bytesAsSent);
  }

  allocate(byteCount: number): Uint8Array {
    if (this.#layout === undefined || this.#pool === undefined)
      throw damagedGdp('a picture before its format');
    this.#expectSize(this.#layout.size); // only now: videoflip tells a format before it knows how to turn, and another after
    if (byteCount !== this.#layout.bytesAsSent)
      throw damagedGdp(`a picture of ${byteCount} bytes, expected ${this.#layout.bytesAsSent}`);
    return this.#landing ?? this.#pool.take();
  }

  #expectSize(found: Size): void {
    const wanted = this.#expected;
    if (wanted === undefined || isSameSize(found, wanted)) return;
    throw damagedGdp(`pictures of ${formatSize(found)}, expected ${formatSize(wanted)}`);
  }

  add(ptsNs: bigint, sent: Uint8Array): void {
    if (this.#layout === undefined || this.#pool === undefined) return;
    let data = sent;
    if (this.#landing !== undefined) {
      data = this.#pool.take();
      pack(this.#layout, sent, data);
    }
    this.waiting.push({ ptsNs, data, size: this.#layout.size });
  }

  free(buffer: Uint8Array): void {
    if (buffer.length === this.#pool?.byteCount) this.#pool.give(buffer);
  }
}
