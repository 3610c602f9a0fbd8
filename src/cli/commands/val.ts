// `edge-detect val`: how good a detector is, run here or saved by any tool, and whether its scores mean what they say.
import { type ModelValidation, validateModel, writeValidation } from '#evaluate';
import type { Config } from '../config.ts';
import { readClassMatching, readPredictOptions } from '../evaluate-request.ts';
import { defined } from '../open.ts';
import { print, printJson, say } from '../output.ts';
import { judgesDetections, validateSaved } from '../predictions-request.ts';
import { createProgressBar } from '../progress-bar.ts';
import { openRunFolder } from '../run-folder.ts';
import { validationLines } from '../val-lines.ts';

export async function val(config: Config, signal: AbortSignal): Promise<void> {
  const validation = judgesDetections(config)
    ? await validateSaved(config)
    : await validateRun(config, signal);
  const folder = await openRunFolder(config, 'val');
  const { withoutThresholds } = await writeValidation(validation, folder, {
    plots: config.flag('plots') ?? true,
    cocoResults: config.flag('save_json') ?? false,
  });
  if (config.flag('json')) printJson(validation.report);
  else for (const line of validationLines(validation)) print(line);
  if ('saved' in validation) for (const remark of validation.saved.remarks) say(`note: ${remark}`);
  if (withoutThresholds !== undefined) say(`no thresholds.json: ${withoutThresholds}`);
  say(`results in ${folder}`);
}

function validateRun(config: Config, signal: AbortSignal): Promise<ModelValidation> {
  const bar = createProgressBar();
  return validateModel(
    {
      model: config.required('model'),
      data: config.required('data'),
      ...defined('split', config.text('split') as 'train' | 'val' | 'test' | undefined),
      predict: readPredictOptions(config),
      matching: readClassMatching(config),
    },
    { signal, onPicture: (done, total) => bar.show('pictures', done, total, 'pictures') },
  ).finally(() => bar.stop());
}
