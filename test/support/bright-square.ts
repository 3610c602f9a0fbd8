// A camera that sees a white square come and go at known times, and a detector that finds what is white: what a clip
// must show can then be told from its pixels.
import { spawnSync } from 'node:child_process';
import type { Box, Detection } from '#core';
import type { Frame, OpenDetector } from '#runtime';

const SIDE = 40;

/** ffmpeg's expression of when the square is there: seconds [from, to) of every `period`. */
export function squareInput(from: number, to: number, period: number, seconds?: number): readonly string[] {
  const shown = `if(gte(mod(t,${period}),${from})*lt(mod(t,${period}),${to}),80,-100)`;
  const length = seconds === undefined ? [] : ['-t', String(seconds)];
  return [
    ...(seconds === undefined ? ['-re'] : []),
    ...[
      '-f',
      'lavfi',
      '-i',
      `color=gray:size=320x180:rate=10[a];color=white:size=${SIDE}x${SIDE}:rate=10[b];[a][b]overlay=x='${shown}':y=60`,
    ],
    ...length,
  ];
}

/** @param base an open model, whose answers are replaced */
export function whiteFinder(base: OpenDetector): OpenDetector {
  return {
    ...base,
    detect: async (frames) =>
      frames.map((frame) => ({
        detections: find(frame),
        limitReached: false,
        nonFinite: 0,
        timing: { preMs: 0, inferMs: 0, postMs: 0 },
      })),
  };
}

function find({ content, letterbox }: Frame): readonly Detection[] {
  const { width, height } = letterbox.content;
  let [x1, y1, x2, y2] = [width, height, -1, -1];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      if (content[3 * (y * width + x)]! < 200) continue;
      [x1, y1, x2, y2] = [Math.min(x1, x), Math.min(y1, y), Math.max(x2, x), Math.max(y2, y)];
    }
  if (x2 < 0) return [];
  const { scaleX, scaleY } = letterbox;
  const box = { x1: x1 / scaleX, y1: y1 / scaleY, x2: x2 / scaleX, y2: y2 / scaleY } as Box<'frame'>;
  return [{ box, classId: 0, className: 'person', score: 0.9, rawScore: 0.9 }];
}

export interface Shown {
  /** Of the last picture. */
  readonly seconds: number;
  /** Seconds of the first and the last picture with the square; undefined where none has it. */
  readonly first?: number;
  readonly last?: number;
}

/** Reads a whole file with ffmpeg. Throws where it says anything at all. */
export function readSquare(path: string): Shown {
  const { status, stdout, stderr } = spawnSync(
    'ffmpeg',
    [
      ...['-v', 'error', '-nostdin', '-i', path],
      ...[
        '-vf',
        'crop=20:20:90:70,scale=1:1',
        '-fps_mode',
        'passthrough',
        '-enc_time_base',
        '1:1000000',
        '-pix_fmt',
        'gray',
      ],
      ...['-f', 'rawvideo', 'pipe:1'],
    ],
    { maxBuffer: 1 << 26 },
  );
  if (status !== 0 || stderr.length > 0) throw new Error(`${path}: ${stderr.toString()}`);
  const times = timesOf(path);
  const white = times.filter((_, index) => (stdout[index] ?? 0) > 200);
  const seconds = times.at(-1) ?? 0;
  const [first] = white;
  const last = white.at(-1);
  return { seconds, ...(first !== undefined && last !== undefined && { first, last }) };
}

function timesOf(path: string): readonly number[] {
  const entries = ['-select_streams', 'v:0', '-show_entries', 'frame=best_effort_timestamp_time'];
  const { stdout } = spawnSync('ffprobe', ['-v', 'error', ...entries, '-of', 'csv=p=0', path], {
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => Number.parseFloat(line));
}
