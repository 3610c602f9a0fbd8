// How much `edge-detect stream` costs beyond the network itself: paired rounds of the command line against a bare
// `session.run` loop on the same tensors, with one inference thread, in one run on one machine.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { probedTimes } from '../support/clips.ts';
import type { BareFigures } from './bare-loop.ts';

const BIN = fileURLToPath(new URL('../../src/cli/bin.js', import.meta.url));
const BARE = fileURLToPath(new URL('./bare-loop.js', import.meta.url));

export interface Clip {
  readonly name: string;
  readonly path: string;
}

export interface StreamFigures {
  readonly clip: string;
  readonly frames: number;
  /** Every frame once, with the time stamp that ffprobe gives. */
  readonly exact: boolean;
  /** Wall time per frame, first to last result, divided by the bare loop's; one per round. */
  readonly ratios: readonly number[];
  readonly medianRatio: number;
  readonly streamMsPerFrame: number;
  readonly bareMsPerFrame: number;
  /** CPU time to start, open model and source and give one result; median. */
  readonly startCpuSeconds: number;
  /** CPU time of Node and ffmpeg per 1,000 frames beyond the start and beyond the bare loop's; median of the rounds. */
  readonly cpuSecondsBeyondInference: number;
}

interface StreamRun {
  readonly pts: readonly number[];
  readonly wallMsPerFrame: number;
  readonly cpuSeconds: number;
}

/** Runs the command line under bash's `time`, which counts the CPU of all its children. */
async function runStream(model: string, clip: string, ...more: string[]): Promise<StreamRun> {
  const script = 'TIMEFORMAT="cpu %U %S"; time "$@" 2>/dev/null';
  const words = [process.execPath, BIN, 'stream', `model=${model}`, `source=${clip}`, 'threads=1', ...more];
  const child = spawn('bash', ['-c', script, 'bash', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const pts: number[] = [];
  let [rest, stderr, first, last] = ['', '', 0, 0];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) pts.push((JSON.parse(line) as { pts_s: number }).pts_s);
    last = performance.now();
    if (first === 0) first = last;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  const [, user = '0', system = '0'] = /cpu ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  return {
    pts,
    wallMsPerFrame: (last - first) / (pts.length - 1),
    cpuSeconds: Number(user) + Number(system),
  };
}

function runBare(model: string, clip: string, frames: number): BareFigures {
  const { stdout } = spawnSync(process.execPath, [BARE, model, clip, String(frames)], { encoding: 'utf8' });
  return JSON.parse(stdout) as BareFigures;
}

export async function measureStream(
  model: string,
  { name, path }: Clip,
  rounds: number,
): Promise<StreamFigures> {
  const times = probedTimes(path);
  const results: { stream: StreamRun; bare: BareFigures }[] = [];
  for (let round = 0; round < rounds; round++) {
    // The order turns around every round, so that a slow drift of the machine favours neither.
    const bareFirst = round % 2 === 0;
    const before = bareFirst ? runBare(model, path, times.length) : undefined;
    const stream = await runStream(model, path);
    results.push({ stream, bare: before ?? runBare(model, path, times.length) });
  }
  const starts: number[] = [];
  for (let round = 0; round < 3; round++)
    starts.push((await runStream(model, path, 'max_frames=1')).cpuSeconds);
  const startCpuSeconds = median(starts);
  const ratios = results.map(({ stream, bare }) => stream.wallMsPerFrame / bare.wallMsPerFrame);
  return {
    clip: name,
    frames: times.length,
    exact: results.every(({ stream }) => sameTimes(stream.pts, times)),
    ratios: ratios.map((ratio) => Number(ratio.toFixed(3))),
    medianRatio: median(ratios),
    streamMsPerFrame: median(results.map(({ stream }) => stream.wallMsPerFrame)),
    bareMsPerFrame: median(results.map(({ bare }) => bare.wallMsPerFrame)),
    startCpuSeconds,
    cpuSecondsBeyondInference: median(
      results.map(
        ({ stream, bare }) =>
          ((stream.cpuSeconds - startCpuSeconds) * 1000) / stream.pts.length - bare.cpuMsPerFrame,
      ),
    ),
  };
}

function sameTimes(found: readonly number[], wanted: readonly number[]): boolean {
  return (
    found.length === wanted.length &&
    wanted.every((time, index) => Math.abs(time - (found[index] ?? -1)) < 2e-6)
  );
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

export function machineName(): string {
  const cpu = /model name\s*:\s*(.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown CPU';
  return `${cpu}, Node ${process.version}`;
}
