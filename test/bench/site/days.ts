// A day in the life of a site at full speed: a million frames of a small clip, and then kill -9. Nothing may grow, the
// event files turn over, and no line that was counted may be lost.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize, standInDetector } from '#onnx';
import { fitLine } from '../fit-line.ts';
import { type SiteSample, WatchedSite } from './watched-site.ts';

const FRAMES = 1_000_000;
const FRAMES_PER_SECOND = 12;
const MAX_MB = 5;
const LONGEST_SECONDS = 3600;

export interface DayFigures {
  readonly frames: number;
  readonly simulatedHours: number;
  readonly seconds: number;
  /** Of the process and its child, by tenth of the run. */
  readonly rssMb: readonly number[];
  readonly childrenMb: readonly number[];
  /** Over the second half, with its standard error. */
  readonly rssMbPer100kFrames: { readonly slope: number; readonly error: number };
  readonly descriptors: { readonly min: number; readonly max: number };
  readonly eventFiles: number;
  readonly largestFileMb: number;
  /** Counted by the site at the last look before it was killed, and found in its files. */
  readonly eventsCounted: number;
  readonly linesFound: number;
  /** Lines that are no JSON, the last one excepted. */
  readonly brokenLines: number;
  readonly lastLineIsWhole: boolean;
}

export async function measureDay(frames = FRAMES): Promise<DayFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-day-'));
  try {
    const model = join(folder, 'tiny.onnx');
    writeFileSync(model, serialize(standInDetector({ width: 64, height: 64 })));
    const events = join(folder, 'events');
    mkdirSync(events);
    const site = [
      `model: ${model}`,
      'drift: { path: drift.json, learn_hours: 2, learn_tracks: 200, window_hours: 1, window_tracks: 50 }',
      `events: { path: events/log.jsonl, max_mb: ${MAX_MB}, keep: 100 }`,
      'cameras:',
      '  lab:',
      `    source: ${makeClip(folder, frames)}`,
      '    zones: { middle: { coordinates: "0.3,0,0.6,0,0.6,1,0.3,1" } }',
      '    lines: { centre: { from: [0.5, 0], to: [0.5, 1] } }',
    ].join('\n');
    const started = performance.now();
    const watched = await WatchedSite.start(folder, site, 500);
    await watched.until(({ frames: seen }) => (seen.get('lab') ?? 0) >= frames, LONGEST_SECONDS);
    process.kill(watched.pid, 'SIGKILL');
    const seconds = (performance.now() - started) / 1000;
    await watched.stop();
    return { seconds, ...figuresOf(watched.samples), ...filesOf(events) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A white square crosses a dark picture in six of ten seconds. An hour is drawn, and copied. */
function makeClip(folder: string, frames: number): string {
  const run = (...words: string[]) => {
    const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-y', ...words], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  const hour = join(folder, 'hour.mkv');
  const square =
    "geq=lum='if(lt(mod(T,10),6)*between(X,mod(T,10)*8,mod(T,10)*8+16)*between(Y,24,40),235,20)':cb=128:cr=128";
  const dark = `color=c=black:s=64x64:r=${FRAMES_PER_SECOND}:d=3600`;
  run('-f', 'lavfi', '-i', dark, '-vf', square, '-c:v', 'mpeg4', '-q:v', '3', hour);
  const hours = Math.ceil(frames / (3600 * FRAMES_PER_SECOND)) + 1;
  const clip = join(folder, 'clip.mkv');
  run('-stream_loop', String(hours - 1), '-i', hour, '-c', 'copy', clip);
  return clip;
}

function figuresOf(samples: readonly SiteSample[]) {
  const framesOf = (sample: SiteSample) => sample.frames.get('lab') ?? 0;
  const working = samples.filter((sample) => framesOf(sample) > 0);
  const last = working.at(-1);
  if (last === undefined) throw new Error('no frame was seen');
  const tenths = Array.from(
    { length: 11 },
    (_, part) => working[Math.min(working.length - 1, Math.floor((part * working.length) / 10))],
  ).filter((sample) => sample !== undefined);
  const late = working.slice(working.length >> 1);
  const descriptors = late.map((sample) => sample.descriptors);
  return {
    frames: framesOf(last),
    simulatedHours: framesOf(last) / FRAMES_PER_SECOND / 3600,
    rssMb: tenths.map(({ rssMb }) => Math.round(rssMb)),
    childrenMb: tenths.map(({ childrenMb }) => Math.round(childrenMb)),
    rssMbPer100kFrames: fitLine(late.map((sample) => [framesOf(sample) / 1e5, sample.rssMb])),
    descriptors: { min: Math.min(...descriptors), max: Math.max(...descriptors) },
    eventsCounted: last.events,
  };
}

function filesOf(folder: string) {
  const names = readdirSync(folder).sort(youngestLast);
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  const isWhole = (line: string) => {
    try {
      JSON.parse(line);
      return true;
    } catch {
      return false;
    }
  };
  return {
    eventFiles: names.length,
    largestFileMb: Math.max(...names.map((name) => statSync(join(folder, name)).size)) / 2 ** 20,
    linesFound: lines.length,
    brokenLines: lines.slice(0, -1).filter((line) => !isWhole(line)).length,
    lastLineIsWhole: isWhole(lines.at(-1) ?? ''),
  };
}

/** `log.jsonl.12` is older than `log.jsonl.2`, and `log.jsonl` is the youngest. */
function youngestLast(a: string, b: string): number {
  const age = (name: string) => Number(/\.(\d+)$/.exec(name)?.[1] ?? 0);
  return age(b) - age(a);
}
