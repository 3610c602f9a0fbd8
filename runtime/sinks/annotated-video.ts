// Writes what the detector saw: the video with its boxes and how sure they are.
import type { Detection } from '#core';
import type { Ffmpeg } from '../ffmpeg/index.ts';
import type { FullFrame } from '../frame.ts';
import type { Encoder } from './encoder.ts';
import { openEncoder } from './encoder.ts';
import type { Painter } from './paint/index.ts';
import type { FrameResult, Sink } from './sink.ts';

/** Where painted videos go, who paints, and who encodes. */
export interface AnnotatedVideoOptions {
  readonly ffmpeg: Ffmpeg;
  /** Where the video of a source goes: `.mp4`, `.mov`, `.mkv` or `.m3u8`. */
  readonly pathOf: (source: string) => string;
  readonly painter: Painter;
  readonly live: boolean;
}

interface Part {
  readonly encoder: Encoder;
  readonly key: string;
  readonly firstSeconds: number;
}

/**
 * Needs sources that were asked for whole frames. A change of size or source begins a new file, with a number where the
 * name is taken.  Time stamps are kept, so a video of uneven rate stays one.
 */
export function createAnnotatedVideo(options: AnnotatedVideoOptions): Sink {
  const outputs: string[] = [];
  let part: Part | undefined;
  const begin = async ({ frame, size }: FrameResult, key: string): Promise<Part> => {
    await part?.encoder.close();
    const wanted = options.pathOf(frame.source);
    const before = outputs.filter((path) => path === wanted || path.startsWith(`${stemOf(wanted)}-`)).length;
    const path = before === 0 ? wanted : wanted.replace(/(\.[^./\\]+)$/, `-${before + 1}$1`);
    const full = frame.full ?? size;
    const encoder = await openEncoder({ ...options, path, width: full.width, height: full.height });
    outputs.push(path);
    part = { encoder, key, firstSeconds: frame.ptsSeconds ?? 0 };
    return part;
  };
  return {
    outputs,
    async write(result) {
      const { full, source, ptsSeconds = 0 } = result.frame;
      if (full === undefined || full.format !== 'yuv420p') {
        throw new Error('annotated video needs whole yuv420p frames from the source');
      }
      const key = `${source} ${full.width}x${full.height}`;
      const current = part?.key === key ? part : await begin(result, key);
      await options.painter.paint(full, fitted(result, full));
      await current.encoder.write(full.data, ptsSeconds - current.firstSeconds);
    },
    async close() {
      await part?.encoder.close();
    },
  };
}

/** A source may deliver whole frames in another size than the one its boxes are in (odd sizes, a file that changes). */
function fitted({ detections, size }: FrameResult, full: FullFrame): readonly Detection[] {
  const x = full.width / size.width;
  const y = full.height / size.height;
  if (x === 1 && y === 1) return detections;
  return detections.map((detection) => {
    const { box, boxVariance } = detection;
    return {
      ...detection,
      box: { x1: box.x1 * x, y1: box.y1 * y, x2: box.x2 * x, y2: box.y2 * y },
      ...(boxVariance && {
        boxVariance: {
          x1: boxVariance.x1 * x * x,
          y1: boxVariance.y1 * y * y,
          x2: boxVariance.x2 * x * x,
          y2: boxVariance.y2 * y * y,
        },
      }),
    };
  });
}

function stemOf(path: string): string {
  return path.replace(/\.[^./\\]+$/, '');
}
