// Copies of the pictures with the detections painted in, under their own names.
import { join } from 'node:path';
import { encodedFormatOf, encodePicture } from '#data/images';
import { createOutputNames } from './output-names.ts';
import type { Painter } from './paint/painter.ts';
import type { Sink } from './sink.ts';
import { writeWholeFile } from './whole-file.ts';

/** Where painted pictures go, and who paints. */
export interface AnnotatedPicturesOptions {
  readonly folder: string;
  readonly painter: Painter;
}

/**
 * JPEG, PNG and WebP stay what they are; other formats become PNG. Needs frames with `full` in rgb24, and paints into
 * it: sinks that want the bare picture stand before this one.
 */
export function createAnnotatedPictures({ folder, painter }: AnnotatedPicturesOptions): Sink {
  const names = createOutputNames();
  return {
    outputs: [folder],
    async write({ frame, detections }) {
      const { full } = frame;
      if (full?.format !== 'rgb24') {
        throw new TypeError(
          `annotated pictures need the whole frame in rgb24, found ${full?.format ?? 'none'}`,
        );
      }
      await painter.paint(full, detections);
      const format = encodedFormatOf(frame.source);
      const ending = format === undefined ? '.png' : frame.source.slice(frame.source.lastIndexOf('.'));
      const bytes = await encodePicture(full.data, full, format ?? 'png');
      await writeWholeFile(join(folder, names.nameFor(frame.source, ending)), bytes);
    },
    close: async () => undefined,
  };
}
