// 60,000 frames through a tiny graph: memory and file descriptors must not grow, and no child may stay. The engine's
// heap takes some 40,000 frames (half a minute here) to reach its size, so the last 20,000 are judged.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize, standInDetector } from '#onnx';
import { isAlive } from '../support/processes.ts';
import { fitLine } from './fit-line.ts';

const BIN = fileURLToPath(new URL('../../src/cli/bin.js', import.meta.url));
const FRAMES = 60_000;
const JUDGED = 20_000;

export interface SoakFigures {
  readonly frames: number;
  readonly lines: number;
  readonly exitCode: number | null;
  readonly seconds: number;
  /** Resident memory of the process in MB, sampled evenly over the run, then the span over the judged part. */
  readonly rssMb: readonly number[];
  /** Slope of a straight line through the samples of the last 20,000 frames, and its standard error. */
  readonly slopeMbPer1000Frames: number;
  readonly slopeErrorMbPer1000Frames: number;
  readonly descriptors: { readonly min: number; readonly max: number };
  /** Children of the process that still live after it ended. */
  readonly childrenLeft: number;
}

interface Sample {
  readonly lines: number;
  readonly rssMb: number;
  readonly descriptors: number;
}

export async function measureSoak(frames = FRAMES): Promise<SoakFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-soak-'));
  try {
    const model = join(folder, 'tiny.onnx');
    writeFileSync(model, serialize(standInDetector({ width: 160, height: 96 })));
    const clip = join(folder, 'clip.mkv');
    const draw = [
      '-f',
      'lavfi',
      '-i',
      `testsrc2=size=160x96:rate=100:duration=${frames / 100}`,
      '-c:v',
      'mpeg4',
    ];
    spawnSync('ffmpeg', ['-v', 'error', ...draw, clip]);
    return await soak(model, clip, frames);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function soak(model: string, clip: string, frames: number): Promise<SoakFigures> {
  const started = performance.now();
  const words = [BIN, 'stream', `model=${model}`, `source=${clip}`];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const pid = child.pid ?? 0;
  let lines = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    for (const byte of bytes) if (byte === 10) lines++;
  });
  const samples: Sample[] = [];
  const family = new Set<number>();
  const timer = setInterval(() => {
    const sample = readSample(pid, lines);
    if (sample !== undefined) samples.push(sample);
    for (const member of childrenOf(pid)) family.add(member);
  }, 200);
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(timer);
  // Without the last moment, in which ffmpeg and its pipes are already gone.
  const steady = samples.filter(({ lines: at }) => at > frames - JUDGED && at < frames - 500);
  const { slope, error } = fitLine(steady.map((sample) => [sample.lines / 1000, sample.rssMb]));
  const descriptors = steady.map((sample) => sample.descriptors);
  return {
    frames,
    lines,
    exitCode,
    seconds: (performance.now() - started) / 1000,
    rssMb: samples
      .filter((_, index) => index % Math.ceil(samples.length / 12) === 0)
      .map(({ rssMb }) => Math.round(rssMb)),
    slopeMbPer1000Frames: slope,
    slopeErrorMbPer1000Frames: error,
    descriptors: { min: Math.min(...descriptors), max: Math.max(...descriptors) },
    childrenLeft: [...family].filter(isAlive).length,
  };
}

function readSample(pid: number, lines: number): Sample | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const rssMb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    return { lines, rssMb, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined; // the process has just ended
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
