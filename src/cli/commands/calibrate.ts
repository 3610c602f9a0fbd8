// `edge-detect calibrate`: scores that mean what they say, and how much of that holds on pictures not fitted on.
import type { CalibrationMap, CalibrationTarget } from '#core';
import {
  type CalibrateRequest,
  calibrateModel,
  calibrationResults,
  type PictureGrouping,
  writeCalibration,
  writeCalibrator,
  writeConformal,
} from '#evaluate';
import { calibrationLines, howToRun } from '../calibrate-lines.ts';
import type { Config } from '../config.ts';
import { conformalLines } from '../conformal-lines.ts';
import { readConformal } from '../conformal-request.ts';
import { readClassMatching, readPredictOptions } from '../evaluate-request.ts';
import { defined } from '../open.ts';
import { print, printJson, say } from '../output.ts';
import { createProgressBar } from '../progress-bar.ts';
import { openRunFolder } from '../run-folder.ts';

export async function calibrate(config: Config, signal: AbortSignal): Promise<void> {
  const bar = createProgressBar();
  const calibration = await calibrateModel(readRequest(config), {
    signal,
    onPicture: (done, total) => bar.show('pictures', done, total, 'pictures'),
  }).finally(() => bar.stop());
  await writeCalibrator(calibration);
  const folder = await openRunFolder(config, 'calibrate');
  await writeCalibration(calibration, folder, { plots: config.flag('plots') ?? true });
  if (config.flag('json')) printJson(calibrationResults(calibration));
  else for (const line of [...calibrationLines(calibration), ...conformalLines(calibration)]) print(line);
  say(`calibrator in ${calibration.outPath}: ${howToRun(calibration)}`);
  const thresholds = await writeConformal(calibration, folder);
  if (thresholds !== undefined) {
    say(
      'path' in thresholds
        ? `thresholds in ${thresholds.path}: run it with thresholds=${thresholds.path}`
        : `no thresholds file: ${thresholds.why}`,
    );
  }
  say(`results in ${folder}`);
}

function readRequest(config: Config): CalibrateRequest {
  return {
    model: config.required('model'),
    data: config.required('data'),
    ...defined('split', config.text('split') as CalibrateRequest['split']),
    ...defined('method', config.text('method') as CalibrationMap['kind'] | undefined),
    ...defined('target', config.text('target') as CalibrationTarget | undefined),
    ...defined('grouping', config.text('groups') as PictureGrouping | undefined),
    ...defined('foldCount', config.number('folds')),
    ...defined('out', config.text('out')),
    ...defined('conformal', readConformal(config)),
    predict: readPredictOptions(config),
    matching: readClassMatching(config),
  };
}
