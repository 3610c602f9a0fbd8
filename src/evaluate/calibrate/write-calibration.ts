// What a calibration leaves in its folder: figures as JSON, a page, and the reliability diagram.
import { join } from 'node:path';
import { CHART_FILES } from '#report';
import { writeWholeFile } from '#runtime';
import type { ModelCalibration } from './calibrate-model.ts';
import { calibrationPage, reliabilityOfCalibration } from './calibration-page.ts';

/** `results.json` as plain data. */
export function calibrationResults({
  file,
  outPath,
  folds,
  study,
  stored,
  validation,
  conformal,
}: ModelCalibration) {
  return {
    version: 1,
    model: file.path,
    modelSha256: file.sha256,
    data: validation.dataset.source,
    split: validation.split,
    out: outPath,
    judgedOn: {
      groupedBy: folds.groupedBy,
      cameras: folds.cameras,
      folds: folds.foldCount,
      description: folds.description,
    },
    suppression: stored.suppression,
    ...study,
    ...(conformal && { conformal }),
  };
}

/** @throws DataError where a file cannot be written */
export async function writeCalibration(
  calibration: ModelCalibration,
  folder: string,
  { plots }: { readonly plots: boolean },
): Promise<void> {
  const results = `${JSON.stringify(calibrationResults(calibration), null, 2)}\n`;
  await writeWholeFile(join(folder, 'results.json'), results);
  const chart = plots ? await reliabilityOfCalibration(calibration) : undefined;
  if (chart) await writeWholeFile(join(folder, CHART_FILES.reliability), chart.png);
  await writeWholeFile(join(folder, 'report.html'), calibrationPage(calibration, chart));
}
