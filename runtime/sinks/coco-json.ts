// Detections in the COCO results form: one JSON array, written as it comes and whole after close.
import { rename } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { Frame } from '../frame.ts';
import { toCocoRow } from '../habitual-shapes.ts';
import { linesToFile } from './line-output.ts';
import { outputFault } from './output-fault.ts';
import type { Sink } from './sink.ts';
import { temporaryBeside } from './whole-file.ts';

/** Where COCO results go, and how classes are numbered there. */
export interface CocoJsonOptions {
  /** Appears at `close`; until then a hidden file beside it grows. */
  readonly path: string;
  /** Category id of each class of the model; without it the class itself, from 0. */
  readonly categoryIds?: readonly number[];
}

/**
 * Rows are `{"image_id","category_id","bbox":[x,y,w,h],"score"}` with 3 decimals of a px and 5 of the score, and
 * `score_var`, `score_var_epistemic`, `box_var` [x1,y1,x2,y2] px² where the model knows them. `image_id` is the stem of the picture, as an
 * integer where it is all digits; frames of a video have `<stem>_<frame>`.
 */
export async function createCocoJson({ path, categoryIds }: CocoJsonOptions): Promise<Sink> {
  const temporary = temporaryBeside(path);
  const output = await linesToFile(temporary).catch((cause: unknown) => {
    throw outputFault(path, cause);
  });
  let rows = 0;
  let closed = false;
  return {
    outputs: [path],
    async write({ frame, detections }) {
      for (const detection of detections) {
        const row = JSON.stringify(toCocoRow(detection, imageId(frame), categoryIds));
        // The comma stands before a row: every line that was written can be closed with `]`.
        await output.writeLine(`${rows === 0 ? '[' : ','}${row}`);
        rows++;
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      await output.writeLine(rows === 0 ? '[]' : ']').finally(() => output.close());
      await rename(temporary, path).catch((cause: unknown) => {
        throw outputFault(path, cause);
      });
    },
  };
}

function imageId({ source, index, ptsSeconds }: Frame): string | number {
  const stem = basename(source, extname(source));
  if (ptsSeconds !== undefined) return `${stem}_${index}`;
  return /^\d+$/.test(stem) && Number.isSafeInteger(Number(stem)) ? Number(stem) : stem;
}
