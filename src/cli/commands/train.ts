// `edge-detect train`: a data set and a host to a detector whose score is a distribution.
import { rmdir } from 'node:fs/promises';
import { chooseEngine, resumeRun, trainDetector } from '#training';
import type { Config } from '../config.ts';
import { defined } from '../open.ts';
import { say } from '../output.ts';
import { openRunFolder } from '../run-folder.ts';
import { startTrainingReport } from '../train-report.ts';
import { expectSameOptions, readEngineRequest, readTrainRequest } from '../train-request.ts';

export async function train(config: Config, signal: AbortSignal): Promise<void> {
  const resume = config.text('resume');
  const resumed =
    resume === undefined
      ? undefined
      : await resumeRun(resume, {
          ...defined('epochs', config.number('epochs')),
          ...defined('patience', config.number('patience')),
        });
  if (resumed) expectSameOptions(config, resumed.arguments);
  const request = resumed?.request ?? readTrainRequest(config);
  const folder = resumed?.folder ?? (await openRunFolder(config, 'train'));
  const report = startTrainingReport();
  let canGoOn = resumed !== undefined;
  try {
    const engine = readEngineRequest(config);
    const events = trainDetector(request, {
      folder,
      signal,
      tfevents: config.flag('tfevents') ?? false,
      ...defined('cacheFolder', config.text('cache_folder')),
      ...(resumed && { resumeFrom: resumed.statePath }),
      async openEngine(part, batch) {
        const chosen = await chooseEngine({ ...engine, ...(resumed && { plan: resumed.plan }) }, part, batch);
        say(`engine: ${chosen.reason}`);
        return chosen.engine;
      },
    });
    for await (const event of events) {
      if (event.type === 'saved' && event.isKept) canGoOn = true;
      report.tell(event);
    }
  } catch (error) {
    await removeEmpty(folder);
    throw error;
  } finally {
    report.stop();
    if (signal.aborted) {
      say(
        canGoOn
          ? `stopped; go on with: edge-detect train resume=${folder}`
          : 'stopped before an epoch was done: start again',
      );
    }
  }
}

/** A run that was refused leaves no folder behind; what holds anything stays. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
