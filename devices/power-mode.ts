// The power mode of a Jetson: the same board is several times slower in its lowest.
import { execFile } from 'node:child_process';

/** As nvpmodel says it (`15W`, `MAXN_SUPER`); undefined where there is none or it may not be asked. */
export function readPowerMode(program = 'nvpmodel'): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ['-q'], { timeout: 5000 }, (_error, stdout) => resolve(powerModeOf(String(stdout))));
  });
}

/** `NV Power Mode: 15W`; older releases write `NV Power Mode: MODE_15W_6CORE`. */
export function powerModeOf(answer: string): string | undefined {
  return /NV Power Mode:\s*(?:MODE_)?(\S+)/.exec(answer)?.[1];
}
