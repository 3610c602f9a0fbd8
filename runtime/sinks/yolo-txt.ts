// One text file per picture or frame in the YOLO label form, ready to be used as labels.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toYoloRow } from '../habitual-shapes.ts';
import { outputFault } from './output-fault.ts';
import { createOutputNames } from './output-names.ts';
import type { Sink } from './sink.ts';
import { writeWholeFile } from './whole-file.ts';

/** Where label files go. */
export interface YoloTxtOptions {
  /** The run folder; files lie in `labels/` inside. */
  readonly folder: string;
  /** Adds the confidence as the last column. */
  readonly saveConf: boolean;
}

/**
 * `labels/<stem>.txt` for pictures, `labels/<stem>_<frame>.txt` for videos, with the 0-based frame of the JSON lines.
 * Rows are `class cx cy w h [conf]`, clipped to the picture and divided by its size. No detection, no file, as
 * Ultralytics has it: in a data set that means background.
 */
export async function createYoloTxt({ folder, saveConf }: YoloTxtOptions): Promise<Sink> {
  const labels = join(folder, 'labels');
  await mkdir(labels, { recursive: true }).catch((cause: unknown) => {
    throw outputFault(labels, cause);
  });
  const names = createOutputNames();
  return {
    outputs: [labels],
    async write({ frame, size, detections }) {
      const rows = detections
        .map((detection) => toYoloRow(detection, size, saveConf))
        .filter((row) => row !== undefined);
      const ending = frame.ptsSeconds === undefined ? '.txt' : `_${frame.index}.txt`;
      const name = names.nameFor(frame.source, ending);
      if (rows.length > 0) await writeWholeFile(join(labels, name), `${rows.join('\n')}\n`);
    },
    close: async () => undefined,
  };
}
