// Still pictures as a source of frames: read one or two ahead, so that decoding and inference overlap.
import { DataError } from '#core';
import { openPicture, type ReadPictureOptions } from '#data/images';
import type { Frame } from '../frame.ts';
import type { FrameRequest, FrameSource } from './source.ts';

export interface PicturesOptions extends Pick<ReadPictureOptions, 'maxPixels'> {
  readonly name: string;
  /** Pictures that are decoded before they are asked for. Memory is bounded by this number of pictures, plus one. */
  readonly readAhead?: number;
}

type Outcome =
  | { readonly path: string; readonly frame: Frame; readonly warnings: readonly string[] }
  | { readonly path: string; readonly frame?: undefined; readonly fault: unknown };

/**
 * Frames in the order of the paths. A picture that cannot be read is reported, counted and passed over; where no
 * picture at all can be read, the first fault is thrown.
 */
export function openPictures(paths: readonly string[], options: PicturesOptions): FrameSource {
  const { name, readAhead = 2 } = options;
  let frames = 0;
  let damaged = 0;
  return {
    name,
    kind: 'pictures',
    frameCount: paths.length,
    stats: () => ({ frames, dropped: 0, reconnects: 0, damaged }),
    async *frames(request) {
      let firstFault: unknown;
      for await (const outcome of readInOrder(paths, request, options, readAhead)) {
        request.signal.throwIfAborted();
        const { path, frame } = outcome;
        if (!frame) {
          damaged++;
          firstFault ??= outcome.fault;
          const reason = damageReason(outcome.fault);
          // The fault of an only picture is thrown below, and need not be told twice.
          if (paths.length > 1) request.onEvent?.({ kind: 'damaged', source: path, reason });
          continue;
        }
        if (frames === 0) request.onEvent?.({ kind: 'open', source: name, size: frame.letterbox.frame });
        for (const message of outcome.warnings) request.onEvent?.({ kind: 'notice', source: path, message });
        frames++;
        yield frame;
      }
      if (frames === 0 && firstFault !== undefined) throw nothingRead(firstFault, paths.length);
    },
  };
}

async function* readInOrder(
  paths: readonly string[],
  request: FrameRequest,
  options: PicturesOptions,
  readAhead: number,
): AsyncGenerator<Outcome> {
  const underway: Promise<Outcome>[] = [];
  let next = 0;
  while (next < paths.length || underway.length > 0) {
    request.signal.throwIfAborted();
    while (underway.length <= readAhead && next < paths.length) {
      const path = paths[next];
      if (path !== undefined) underway.push(readFrame(path, next, request, options));
      next++;
    }
    const outcome = await underway.shift();
    if (outcome) yield outcome;
  }
}

/** Never rejects on a faulty picture: it may be waited for only later. */
async function readFrame(
  path: string,
  index: number,
  request: FrameRequest,
  { maxPixels }: PicturesOptions,
): Promise<Outcome> {
  try {
    const picture = await openPicture(path, maxPixels === undefined ? {} : { maxPixels });
    const letterbox = request.fit(picture.size);
    // Decoded twice for painting: the network sees the same pixels whether somebody paints or not.
    const content = await picture.resizeTo(letterbox.content);
    const whole = request.full ? await picture.decode() : undefined;
    const frame: Frame = {
      source: path,
      index,
      letterbox,
      content: content.rgb,
      ...(whole && { full: { format: 'rgb24', ...picture.size, data: whole.rgb } }),
      // Every picture has memory of its own, which goes with the frame.
      release: () => undefined,
    };
    return { path, frame, warnings: content.warnings };
  } catch (fault) {
    return { path, fault };
  }
}

function damageReason(fault: unknown): string {
  // A fault that is not the picture's is a bug of ours and must not look like a damaged file.
  if (!(fault instanceof DataError)) throw fault;
  return `${fault.message}; ${fault.hint}`;
}

function nothingRead(fault: unknown, count: number): unknown {
  if (count === 1 || !(fault instanceof DataError)) return fault;
  return new DataError(`none of the ${count} pictures could be read; the first: ${fault.message}`, {
    hint: fault.hint,
    cause: fault,
  });
}
