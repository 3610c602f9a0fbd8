// `edge-detect stream`: a video or camera to one JSON line per frame.
import type { Config } from '../config.ts';
import { runCommand } from './run.ts';

export function stream(config: Config, signal: AbortSignal): Promise<void> {
  return runCommand(config, signal, { json: true, save: false });
}
