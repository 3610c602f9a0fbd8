// The short way: one picture in, its detections out, without a source, a signal or a loop.
import type { Size } from '#core';
import { openPicture, type ReadPictureOptions } from '#data/images';
import type { Detected, Detector } from './detector.ts';

/** What was found in one picture, and how long it took. */
export interface PictureDetections extends Detected {
  /** As displayed: turned by the EXIF orientation. Boxes are in px of it. */
  readonly size: Size;
  /** What was odd about the file but did not prevent reading it, in words. */
  readonly warnings: readonly string[];
}

/**
 * Detects on one picture. For many pictures, `detections` with `openSource('folder')` is faster: it reads ahead.
 * @param picture path, or the bytes of a file (JPEG, PNG, WebP, …), known by their content
 * @throws DataError where the picture cannot be read, ModelError where the graph fails
 * @example
 * const detector = await openDetector('yolov8n.onnx');
 * const { detections: found } = await detectPicture(detector, 'bus.jpg');
 * for (const { className, score, boxVariance } of found) console.log(className, score, boxVariance);
 * await detector.close();
 */
export async function detectPicture(
  detector: Detector,
  picture: string | Uint8Array,
  options: ReadPictureOptions = {},
): Promise<PictureDetections> {
  const { name, size, resizeTo } = await openPicture(picture, options);
  const letterbox = detector.fit(size);
  const { rgb, warnings } = await resizeTo(letterbox.content);
  // Its memory is its own and goes when nobody holds it any more.
  const frame = { source: name, index: 0, letterbox, content: rgb, release: () => undefined };
  const [detected] = await detector.detect([frame]);
  if (detected === undefined) throw new Error('a detector answers every frame');
  return { ...detected, size, warnings };
}
