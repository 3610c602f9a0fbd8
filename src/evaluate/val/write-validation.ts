// What a validation leaves in its folder: figures as JSON and, where asked for, detections as COCO results.
import { join } from 'node:path';
import { type CocoRow, toCocoRow, writeWholeFile } from '#runtime';
import type { ModelValidation } from './validate-model.ts';

export interface ValidationFiles {
  /** `results.json`: the report. */
  readonly report: string;
  /** `predictions.json`. */
  readonly cocoResults?: string;
}

export interface WriteValidationOptions {
  readonly cocoResults: boolean;
}

/** @throws DataError where a file cannot be written */
export async function writeValidation(
  validation: ModelValidation,
  folder: string,
  { cocoResults }: WriteValidationOptions,
): Promise<ValidationFiles> {
  const report = join(folder, 'results.json');
  const { dataset, split, report: figures, msPerPicture } = validation;
  const results = { data: dataset.source, split, msPerPicture, ...figures };
  await writeWholeFile(report, `${JSON.stringify(results, null, 2)}\n`);
  if (!cocoResults) return { report };
  const path = join(folder, 'predictions.json');
  await writeWholeFile(
    path,
    `[${cocoRows(validation)
      .map((row) => JSON.stringify(row))
      .join(',\n')}]\n`,
  );
  return { report, cocoResults: path };
}

/** Ids of pictures and categories are those of the data set, so that its own tools can read the file. */
function cocoRows({ dataset, pictures, predictions }: ModelValidation): CocoRow[] {
  const keys = predictions.classNames.map((name) => dataset.classKeys[dataset.classNames.indexOf(name)]);
  const categoryIds = keys.map((key, classId) => (typeof key === 'number' ? key : classId));
  return predictions.pictures.flatMap(({ detections }, place) =>
    detections.map((detection) => toCocoRow(detection, pictures[place]?.id ?? place, categoryIds)),
  );
}
