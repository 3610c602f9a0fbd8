// One JSON object per frame or picture and line, written as it comes.
import type { LineOutput } from './line-output.ts';
import { pictureForm, streamForm } from './result-form.ts';
import type { Sink } from './sink.ts';

/**
 * `stream`: `{"stream","frame","pts_s","width","height","detections":[…]}`; `picture`: `{"source","width","height",
 * "detections":[…]}`. Also frames without a detection have their line. `write` throws OutputClosed where the reader
 * went away and DataError where the line cannot be written.
 */
export function createJsonLines(output: LineOutput, form: 'stream' | 'picture'): Sink {
  return {
    outputs: output.isFile ? [output.name] : [],
    write: (result) =>
      output.writeLine(JSON.stringify(form === 'stream' ? streamForm(result) : pictureForm(result))),
    close: () => output.close(),
  };
}
