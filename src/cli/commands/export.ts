// `edge-detect export`: a model as a device runs it, written only after it has shown that it says the same.
import { type ExportContext, type Exported, exportModel } from '#export';
import type { Config } from '../config.ts';
import { withChosenHead } from '../distil-head.ts';
import { exportLines } from '../export-lines.ts';
import { readExportRequest } from '../export-request.ts';
import { print, printJson, say } from '../output.ts';
import { createProgressBar } from '../progress-bar.ts';

export async function exportCommand(config: Config, signal: AbortSignal): Promise<void> {
  const request = await readExportRequest(config);
  const bar = createProgressBar();
  const context: ExportContext = {
    signal,
    onStage: (stage, done, total) => {
      if (done !== undefined && total !== undefined) bar.show(stage, done, total, 'pictures');
    },
    onLine: (line) => say(`trtexec: ${line}`),
  };
  const exported = await withChosenHead(config, request, context, (chosen) =>
    exportModel(chosen, context),
  ).finally(() => bar.stop());
  tell(exported, config);
}

function tell(exported: Exported, config: Config): void {
  if (config.flag('json')) printJson({ ...exported.paths, bytes: exported.bytes, ...exported.manifest });
  else for (const line of exportLines(exported)) print(line);
  if (exported.manifest.gate.forced)
    say('the file differs from its source by more than is allowed (force=True)');
}
