// How long a user waits: for the help, and for the first detection.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { median } from './stream.ts';

const BIN = fileURLToPath(new URL('../../src/cli/bin.js', import.meta.url));
const ROUNDS = 9;

export interface StartFigures {
  readonly bareNodeMs: number;
  readonly helpMs: number;
  /** From the start of the process to the first line with a detection; absent without the test data. */
  readonly firstDetectionMs?: number;
}

async function timeToFirstLine(words: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const elapsed = await new Promise<number>((resolve) => {
    child.stdout.once('data', () => resolve(performance.now() - started));
  });
  child.stdout.resume();
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('close', resolve));
  return elapsed;
}

async function timeToEnd(words: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  await new Promise((resolve) => child.once('close', resolve));
  return performance.now() - started;
}

async function medianOf(measure: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await measure());
  return median(times);
}

export async function measureStart(model: string, clip: string): Promise<StartFigures> {
  const figures = {
    bareNodeMs: await medianOf(() => timeToEnd(['-e', '0'])),
    helpMs: await medianOf(() => timeToEnd([BIN, '--help'])),
  };
  if (!existsSync(model)) return figures;
  const words = [BIN, 'stream', `model=${model}`, `source=${clip}`];
  return { ...figures, firstDetectionMs: await medianOf(() => timeToFirstLine(words)) };
}
