// `edge-detect bench`: models, precisions and devices beside each other on the same frames.
import { type BenchReport, benchModels, benchResults, writeBench } from '#evaluate';
import { benchLines } from '../bench-lines.ts';
import { readBenchRequest } from '../bench-request.ts';
import type { Config } from '../config.ts';
import { print, printJson, say } from '../output.ts';
import { createProgressBar } from '../progress-bar.ts';
import { openRunFolder } from '../run-folder.ts';

export async function bench(config: Config, signal: AbortSignal): Promise<void> {
  const request = await readBenchRequest(config);
  const bar = createProgressBar();
  const report = await benchModels(request, {
    signal,
    onProgress: (stage, done, total) => bar.show(stage, done, total, stage),
  }).finally(() => bar.stop());
  throwIfNothing(report);
  const folder = await openRunFolder(config, 'bench');
  await writeBench(report, folder, { plots: config.flag('plots') ?? true });
  if (config.flag('json')) printJson(benchResults(report));
  else for (const line of benchLines(report)) print(line);
  say(`results in ${folder}`);
  throwFirst(report);
}

function throwIfNothing(report: BenchReport): void {
  if (report.entries.every(({ figures }) => figures === undefined)) throwFirst(report);
}

/** After the others are told: the first failure ends the command, the rest are said, each once. */
function throwFirst({ entries }: BenchReport): void {
  const [first, ...rest] = new Map(
    entries.flatMap(({ fault }) => (fault ? [[fault.message, fault]] : [])),
  ).values();
  for (const { message } of rest) say(`not measured: ${message}`);
  if (first !== undefined) throw first;
}
