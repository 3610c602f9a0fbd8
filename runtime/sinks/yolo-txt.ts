// One text file per picture or frame in the YOLO label form, ready to be used as labels.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { clipBox, type Detection, type Size } from '#core';
import { outputFault } from './output-fault.ts';
import { createOutputNames } from './output-names.ts';
import { round } from './result-form.ts';
import type { Sink } from './sink.ts';
import { writeWholeFile } from './whole-file.ts';

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
        .map((detection) => yoloRow(detection, size, saveConf))
        .filter((row) => row !== undefined);
      const ending = frame.ptsSeconds === undefined ? '.txt' : `_${frame.index}.txt`;
      const name = names.nameFor(frame.source, ending);
      if (rows.length > 0) await writeWholeFile(join(labels, name), `${rows.join('\n')}\n`);
    },
    close: async () => undefined,
  };
}

/** Undefined where nothing of the box lies inside the picture. */
function yoloRow(
  { box, classId, score }: Detection,
  { width, height }: Size,
  saveConf: boolean,
): string | undefined {
  const inside = clipBox(box, width, height);
  if (!inside) return undefined;
  const numbers = [
    (inside.x1 + inside.x2) / 2 / width,
    (inside.y1 + inside.y2) / 2 / height,
    (inside.x2 - inside.x1) / width,
    (inside.y2 - inside.y1) / height,
    ...(saveConf ? [score] : []),
  ];
  return [classId, ...numbers.map((number) => round(number, 6))].join(' ');
}
