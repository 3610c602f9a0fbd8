// `edge-detect train`: a data set and a host to a detector whose score is a distribution.
import { join } from 'node:path';
import { createRunFolder } from '#runtime';
import { chooseEngine, resumeRun, trainDetector } from '#training';
import type { Config } from '../config.ts';
import { defined } from '../open.ts';
import { say } from '../output.ts';
import { startTrainingReport } from '../train-report.ts';
import { readEngineRequest, readTrainRequest } from '../train-request.ts';

export async function train(config: Config, signal: AbortSignal): Promise<void> {
  const resume = config.text('resume');
  const resumed = resume === undefined ? undefined : await resumeRun(resume, config.number('epochs'));
  const request = resumed?.request ?? readTrainRequest(config);
  const folder =
    resumed?.folder ??
    (await createRunFolder({
      project: config.text('project') ?? join('runs', 'detect'),
      name: config.text('name') ?? 'train',
      existOk: config.flag('exist_ok') ?? false,
    }));
  const report = startTrainingReport();
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
    for await (const event of events) report.tell(event);
  } finally {
    report.stop();
    if (signal.aborted) say(`stopped; go on with: edge-detect train resume=${folder}`);
  }
}
