// What a validation leaves in its folder: figures, thresholds, plots and a page.
import { basename, join } from 'node:path';
import { buildThresholdsFile, ConfigError, formatThresholdsFile } from '#core';
import { type CocoRow, toCocoRow, writeWholeFile } from '#runtime';
import { writeCharts } from '../chart-files.ts';
import { validationCharts } from './charts.ts';
import { type ValidationFigures, validationFigures } from './figures.ts';
import { validationPage } from './page.ts';
import type { DetectionsValidation } from './validate-detections.ts';
import type { ModelValidation, Validation } from './validate-model.ts';

export interface WriteValidationOptions {
  /** `predictions.json`. */
  readonly cocoResults: boolean;
  /** Plots as PNG, and `report.html`. */
  readonly plots: boolean;
}

/**
 * Writes `results.json`, `thresholds.json` where the data suffice for one, and what the options ask for.
 * @returns why there are no thresholds, where there are none
 * @throws DataError where a file cannot be written
 */
export async function writeValidation(
  validation: ModelValidation | DetectionsValidation,
  folder: string,
  { cocoResults, plots }: WriteValidationOptions,
): Promise<{ readonly withoutThresholds?: string }> {
  const { dataset, split, report } = validation;
  const figures = validationFigures(validation.tables);
  const numbers = numbersOf(validation, figures);
  await writeWholeFile(join(folder, 'results.json'), `${JSON.stringify(numbers, null, 2)}\n`);
  if (cocoResults) {
    const rows = cocoRows(validation).map((row) => JSON.stringify(row));
    await writeWholeFile(join(folder, 'predictions.json'), `[${rows.join(',\n')}]\n`);
  }
  if (plots) {
    const charts = await validationCharts(report, figures);
    await writeCharts(charts, folder);
    const [model, data] = [basename(sourceOf(validation)), basename(dataset.source)];
    const page = validationPage({ model, data, split, report, figures, charts, numbers });
    await writeWholeFile(join(folder, 'report.html'), page);
  }
  if (!('ranWith' in validation)) {
    return { withoutThresholds: 'the detections come from a file, and a thresholds file names its model' };
  }
  return writeThresholds(validation, figures, join(folder, 'thresholds.json'));
}

async function writeThresholds(
  { ranWith, report: { classNames }, isOwnClasses }: ModelValidation,
  { bestF1 }: ValidationFigures,
  path: string,
): Promise<{ readonly withoutThresholds?: string }> {
  if (!isOwnClasses) {
    return { withoutThresholds: 'classes were mapped, and a thresholds file names those of the model' };
  }
  try {
    const { modelSha256, score, suppression, iou, agnostic } = ranWith;
    const file = buildThresholdsFile({
      ...{ modelSha256, score, suppression, iou, agnostic, classNames },
      points: bestF1,
    });
    await writeWholeFile(path, formatThresholdsFile(file, path));
    return {};
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { withoutThresholds: error.message };
  }
}

function sourceOf(validation: ModelValidation | DetectionsValidation): string {
  return 'ranWith' in validation ? validation.ranWith.path : validation.saved.source;
}

/** Plain data; curves of a thousand points lie in the plots only. */
function numbersOf(
  validation: ModelValidation | DetectionsValidation,
  { lrp, bestF1, lrpOptimal, confusion }: ValidationFigures,
) {
  const { dataset, split, report } = validation;
  return {
    ...('ranWith' in validation ? { model: validation.ranWith } : { predictions: validation.saved }),
    data: dataset.source,
    split,
    ...('ranWith' in validation && { msPerPicture: validation.msPerPicture }),
    ...report,
    lrp,
    operatingPoints: { bestF1, lrpOptimal },
    confusion: { ...confusion, counts: [...confusion.counts] },
  };
}

/** Ids of pictures and categories are those of the data set, so that its own tools can read the file. */
function cocoRows({ dataset, pictures, predictions }: Validation): CocoRow[] {
  const keys = predictions.classNames.map((name) => dataset.classKeys[dataset.classNames.indexOf(name)]);
  const categoryIds = keys.map((key, classId) => (typeof key === 'number' ? key : classId));
  return predictions.pictures.flatMap(({ detections }, place) =>
    detections.map((detection) => toCocoRow(detection, pictures[place]?.id ?? place, categoryIds)),
  );
}
