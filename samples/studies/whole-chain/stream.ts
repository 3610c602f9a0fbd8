// What a stream says: a file opened and run as `stream` runs it, over a list of pictures.
import { DataError } from 'edge-detect/core';
import type { PicturePrediction, Predictions } from 'edge-detect/evaluate';
import { type DetectorOptions, detections, openDetector, openSource } from 'edge-detect/runtime';

export interface StreamedFile {
  readonly path: string;
  /** `off` for the raw scores of a file that carries a calibrator. */
  readonly calibrator?: 'off';
  /** Classes that count, as one; absent: all of the model. */
  readonly classes?: readonly string[];
}

/** AP needs the tail. */
const LEAST_SCORE = 0.001;

/** @param list file with one picture a line */
export async function streamOver(
  { path, calibrator, classes }: StreamedFile,
  list: string,
  signal: AbortSignal,
): Promise<Predictions> {
  const options: DetectorOptions = {
    threshold: { kind: 'fixed', base: LEAST_SCORE },
    sessions: 2,
    threads: 1,
    ...(calibrator && { calibrator }),
    // Several classes count as one here, so they must not be reported twice.
    ...(classes && { agnostic: true }),
  };
  const detector = await openDetector(path, options, ({ classNames }) =>
    classes ? { classes: classes.map((name) => classNames.indexOf(name)).filter((id) => id >= 0) } : {},
  );
  try {
    const source = await openSource(list);
    const pictures: PicturePrediction[] = [];
    for await (const { frame, size, detections: found } of detections({ source, detector, signal })) {
      // A picture that cannot be read would shift all that follow.
      if (frame.index !== pictures.length)
        throw new DataError(`${list}: no result for picture ${pictures.length}`, {
          hint: 'check that it can be read',
        });
      pictures.push({ size, detections: found });
    }
    return { classNames: detector.classNames, pictures };
  } finally {
    await detector.close();
  }
}
