// Writes the filter graph that turns a decoded picture into what the network takes, and into what is painted on.
import type { Size } from '#core';

export interface GraphOptions {
  /** Size of the scaled picture, from the letterbox. */
  readonly content: Size;
  /** Also the whole picture as yuv420p, for painting. */
  readonly full: boolean;
  /** Every n-th frame only; times stay true. */
  readonly stride?: number;
  readonly deinterlace?: boolean;
  /** Anamorphic video is stretched to square pixels before anything else (OpenCV and Ultralytics do not). */
  readonly squarePixels?: boolean;
  /** Chroma is kept at full resolution: within 1 grey level of an exact conversion for 40 % more time. */
  readonly exactColour?: boolean;
  /** Added to all times, where a file begins before zero: NUT cannot carry that. */
  readonly shiftSeconds?: number;
  /**
   * Nothing before the first key frame: a decoder that joins H.265 or MPEG-4 between two of them shows what moves over
   * even grey, in which light and objects are made up.
   */
  readonly fromKeyFrame?: boolean;
}

/** Where key frames are that rare, or a decoder does not tell them, a broken picture is better than none. */
const LONGEST_WAIT_SECONDS = 5;

const FROM_KEY_FRAME = `select=key+not(isnan(prev_selected_t))+gte(t-start_t\\,${LONGEST_WAIT_SECONDS})`;

/** Ends named `[content]` and, where asked for, `[full]`. `0:V:0` is the first video that is no cover picture. */
export function filterGraph(options: GraphOptions): string {
  const { content, full, exactColour = false } = options;
  const before = [
    ...(options.fromKeyFrame ? [FROM_KEY_FRAME] : []),
    ...(options.deinterlace ? ['yadif=deint=interlaced'] : []),
    ...((options.stride ?? 1) > 1 ? [`select=not(mod(n\\,${options.stride}))`] : []),
    ...(options.squarePixels ? ['scale=trunc(iw*sar/2)*2:ih', 'setsar=1'] : []),
    ...(options.shiftSeconds ? [`setpts=PTS+${options.shiftSeconds}/TB`] : []),
    // Says the size of every single frame: a picture that changes its size must not mis-map its boxes.
    'showinfo=checksum=0',
  ].join(',');
  // Scaling in YUV and converting the small picture saves 1 to 3 ms of CPU a frame at 1080p against scaling to RGB.
  const planes = exactColour ? 'yuv444p' : 'yuv420p';
  const toContent = `scale=${content.width}:${content.height}:flags=bilinear,format=${planes},format=rgb24[content]`;
  if (!full) return `[0:V:0]${before},${toContent}`;
  const even = (side: string) => `max(2\\,trunc(${side}/2)*2)`;
  const toFull = `scale=${even('iw')}:${even('ih')}:flags=bilinear:out_range=tv,format=yuv420p[full]`;
  return `[0:V:0]${before},split=2[a][b];[a]${toContent};[b]${toFull}`;
}
