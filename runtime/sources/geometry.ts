// Keeps boxes true where a video changes the size of its picture in the middle.
import type { Letterbox, Size } from '#core';
import type { FrameRequest } from './source.ts';

/** Letterbox of the frames of one decoder, whose output keeps its size even where the input changes. */
export class Geometry {
  readonly #request: FrameRequest;
  readonly #first: Letterbox;
  #current: Letterbox;

  constructor(request: FrameRequest, size: Size) {
    this.#request = request;
    this.#first = request.fit(size);
    this.#current = this.#first;
  }

  get content(): Size {
    return this.#first.content;
  }

  suits(size: Size): boolean {
    return isSameSize(this.#request.fit(size).content, this.content);
  }

  letterboxOf(size: Size, notice: (message: string) => void): Letterbox {
    if (isSameSize(size, this.#current.frame)) return this.#current;
    const before = this.#current.frame;
    const fitted = this.#request.fit(size);
    const suits = isSameSize(fitted.content, this.content);
    this.#current = suits ? fitted : stretched(this.#first, size);
    const changed = `the picture changed from ${formatSize(before)} to ${formatSize(size)}`;
    notice(suits ? changed : `${changed} and is stretched to the old proportions for the detector`);
    return this.#current;
  }
}

/** ffmpeg stretches the new picture into the old content: boxes map back by the two scales, exactly. */
function stretched(first: Letterbox, frame: Size): Letterbox {
  const { content } = first;
  return { ...first, frame, scaleX: content.width / frame.width, scaleY: content.height / frame.height };
}

export function isSameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

export function formatSize({ width, height }: Size): string {
  return `${width}x${height}`;
}
