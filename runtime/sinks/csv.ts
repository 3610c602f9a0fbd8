// One row per detection for spreadsheets and pandas (RFC 4180).
import { toDecimals } from '../decimals.ts';
import type { LineOutput } from './line-output.ts';
import { detectionForm } from './result-form.ts';
import type { FrameResult, Sink } from './sink.ts';

const COLUMNS = [
  'stream',
  'frame',
  'pts_s',
  'class',
  'name',
  'confidence',
  'x1',
  'y1',
  'x2',
  'y2',
  'score_var',
  'x1_var',
  'y1_var',
  'x2_var',
  'y2_var',
  'score_var_epistemic',
  'track_id',
];

/** Values that a model lacks stay empty; frames without a detection have no row. */
export function createCsv(output: LineOutput): Sink {
  let hasHeader = false;
  const writeHeader = async () => {
    if (hasHeader) return;
    hasHeader = true;
    await output.writeLine(COLUMNS.join(','));
  };
  return {
    outputs: output.isFile ? [output.name] : [],
    async write(result) {
      await writeHeader();
      for (const row of rowsOf(result)) await output.writeLine(row.map(csvField).join(','));
    },
    async close() {
      // An empty result is a table without rows, not an empty file.
      await writeHeader().finally(() => output.close());
    },
  };
}

type Field = string | number | undefined;

function rowsOf({ frame, detections }: FrameResult): readonly (readonly Field[])[] {
  const pts = frame.ptsSeconds === undefined ? undefined : toDecimals(frame.ptsSeconds, 6);
  return detections.map((detection) => {
    const {
      name,
      class: classId,
      confidence,
      box,
      score_var: scoreVar,
      score_var_epistemic: epistemic,
      box_var: boxVar,
      track_id: trackId,
    } = detectionForm(detection);
    const found: readonly Field[] = [classId, name, confidence, box.x1, box.y1, box.x2, box.y2];
    return [
      frame.source,
      frame.index,
      pts,
      ...found,
      scoreVar,
      boxVar?.x1,
      boxVar?.y1,
      boxVar?.x2,
      boxVar?.y2,
      epistemic,
      trackId,
    ];
  });
}

function csvField(value: Field): string {
  const text = value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
