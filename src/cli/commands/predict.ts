// `edge-detect predict`: pictures or videos to annotated copies in a run folder.
import type { Config } from '../config.ts';
import { say } from '../output.ts';
import { resultLine } from '../report.ts';
import { runCommand } from './run.ts';

export function predict(config: Config, signal: AbortSignal): Promise<void> {
  return runCommand(config, signal, {
    json: false,
    save: true,
    ...(config.flag('json') ? {} : { onResult: (result) => say(resultLine(result)) }),
  });
}
