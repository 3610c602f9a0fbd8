// `-`: a video that comes in through a pipe, encoded (any container that can be read forwards) or as raw frames.
import type { Readable, Writable } from 'node:stream';
import { ConfigError } from '#core';
import type { CommandInput } from '../ffmpeg/index.ts';
import type { VideoInfo } from './probe.ts';

/** ffprobe has seen enough long before; more would mean that it cannot make sense of what comes. */
const LARGEST_HEAD = 64 << 20;

export interface RawFormat {
  readonly input: CommandInput;
  readonly info: VideoInfo;
}

/**
 * @param text `rgb24:640x480@25`: ffmpeg's pixel format, size, frames per second
 * @throws ConfigError showing the form
 */
export function parseRawFormat(text: string): RawFormat {
  const match = /^([a-z0-9]+):(\d{1,5})x(\d{1,5})@(\d+(?:\.\d+|\/\d+)?)$/.exec(text);
  const [, pixelFormat = '', width = '', height = '', rate = ''] = match ?? [];
  const [numerator, denominator = 1] = rate.split('/').map(Number);
  const framesPerSecond = (numerator ?? 0) / denominator;
  if (match === null || !(Number(width) > 0 && Number(height) > 0 && framesPerSecond > 0)) {
    throw new ConfigError(`raw=${text}: not the format of raw frames`, {
      hint: 'write pixel format, size and rate, as in raw=rgb24:640x480@25',
    });
  }
  const size = { width: Number(width), height: Number(height) };
  const options = [
    '-f',
    'rawvideo',
    '-pix_fmt',
    pixelFormat,
    '-video_size',
    `${width}x${height}`,
    '-framerate',
    rate,
  ];
  return {
    input: { url: 'pipe:0', options },
    info: {
      size,
      pixelAspect: 1,
      turned: false,
      framesPerSecond,
      startSeconds: 0,
      timeBase: '',
      codec: 'rawvideo',
      pixelFormat,
      isImage: false,
    },
  };
}

/** A stream that is looked into first and then read as a whole: what the probe took is kept and given again. */
export class ReplayableInput {
  readonly #input: Readable;
  readonly #head: Buffer[] = [];
  #headBytes = 0;

  constructor(input: Readable) {
    this.#input = input;
  }

  get isEmpty(): boolean {
    return this.#headBytes === 0;
  }

  /** Feeds a probe until it closes its end. */
  peek(target: Writable): void {
    const take = (chunk: Buffer) => {
      this.#head.push(chunk);
      this.#headBytes += chunk.length;
      if (this.#headBytes > LARGEST_HEAD) target.end();
      else if (!target.write(chunk)) this.#input.pause();
    };
    const resume = () => this.#input.resume();
    const end = () => target.end();
    const done = () => {
      this.#input.pause();
      this.#input.off('data', take).off('end', end);
      target.off('drain', resume);
    };
    this.#input.on('data', take).once('end', end);
    target.on('drain', resume).once('close', done);
  }

  /** Feeds the decoder from the beginning. */
  replay(target: Writable): void {
    for (const chunk of this.#head.splice(0)) target.write(chunk);
    if (this.#input.readableEnded) target.end();
    else this.#input.pipe(target);
  }
}
