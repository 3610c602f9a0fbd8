// `edge-detect compare`: whether a detector says the same by day and at dusk, and with which thresholds to run it.
import {
  type CompareContext,
  compareClips,
  compareModel,
  comparisonResults,
  writeComparison,
} from '#evaluate';
import { comparisonLines } from '../compare-lines.ts';
import { readCompareRequest } from '../compare-request.ts';
import type { Config } from '../config.ts';
import { print, printJson, say } from '../output.ts';
import { createProgressBar } from '../progress-bar.ts';
import { openRunFolder } from '../run-folder.ts';

const LABELS = { parted: 'slices', predicted: 'pictures' } as const;

export async function compare(config: Config, signal: AbortSignal): Promise<void> {
  let made: Promise<string> | undefined;
  // Rendered pictures need it early; else a run that fails leaves no folder.
  const folder = () => {
    made ??= openRunFolder(config, 'compare');
    return made;
  };
  const request = await readCompareRequest(config, folder);
  const bar = createProgressBar();
  const context: CompareContext = {
    signal,
    onPicture: (stage, done, total) => bar.show(LABELS[stage], done, total, 'pictures'),
  };
  const comparing = 'clips' in request ? compareClips(request, context) : compareModel(request, context);
  const comparison = await comparing.finally(() => bar.stop());
  const { withoutThresholds } = await writeComparison(comparison, await folder(), {
    plots: config.flag('plots') ?? true,
  });
  if (config.flag('json')) printJson(comparisonResults(comparison));
  else for (const line of comparisonLines(comparison)) print(line);
  if (withoutThresholds !== undefined) say(`no thresholds.json: ${withoutThresholds}`);
  else if (comparison.light?.remark !== undefined) say(comparison.light.remark);
  say(`results in ${await folder()}`);
}
