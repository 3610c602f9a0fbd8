// `edge-detect stream`: a video or camera to one JSON line per frame, or all cameras of a site file.
import type { Config } from '../config.ts';
import { runCommand } from './run.ts';

export async function stream(config: Config, signal: AbortSignal): Promise<void> {
  if (config.text('config') === undefined) return runCommand(config, signal, { json: true, save: false });
  const { streamSite } = await import('./stream-site.ts');
  return streamSite(config, signal);
}
