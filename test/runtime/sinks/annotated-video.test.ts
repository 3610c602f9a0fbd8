import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLetterbox, DataError, type Detection } from '#core';
import { createAnnotatedVideo, createPainter, type FrameResult, locateFfmpeg, type Sink } from '#runtime';
import { ClipFolder, probedTimes, runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';

let folder: ClipFolder;

beforeAll(() => {
  if (ffmpegAvailable) folder = new ClipFolder();
});
afterAll(() => folder?.remove());

const car: Detection = {
  box: { x1: 40, y1: 40, x2: 120, y2: 100 },
  classId: 0,
  className: 'car',
  score: 0.82,
  rawScore: 0.82,
  scoreVariance: 0.0036,
  boxVariance: { x1: 9, y1: 9, x2: 9, y2: 9 },
};

/** A grey frame of this size at this time. */
function result(width: number, height: number, seconds: number, size = { width, height }): FrameResult {
  const data = new Uint8Array((width * height * 3) / 2).fill(128);
  const frame = {
    source: 'clip.mp4',
    index: 0,
    ptsSeconds: seconds,
    letterbox: createLetterbox(size, { width: 64, height: 64 }),
    content: new Uint8Array(),
    full: { format: 'yuv420p', width, height, data } as const,
    release: () => undefined,
  };
  return { frame, size, detections: [car] };
}

async function openSink(path: string, live = false): Promise<Sink> {
  return createAnnotatedVideo({
    ffmpeg: await locateFfmpeg(),
    pathOf: () => path,
    painter: createPainter(),
    live,
  });
}

async function writeAll(sink: Sink, results: readonly FrameResult[]): Promise<void> {
  for (const one of results) await sink.write(one);
  await sink.close();
}

/** Grey values of the first picture. */
function firstPicture(path: string): Buffer {
  return runFfmpeg('-i', path, '-frames:v', '1', '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1');
}

describe.skipIf(!ffmpegAvailable)(`annotated video${ffmpegNote}`, () => {
  it('keeps the time stamps of a video of uneven rate, counted from its first frame', async () => {
    const path = join(folder.path, 'uneven.mp4');
    const times = [10, 10.04, 10.5, 10.54, 12];
    await writeAll(
      await openSink(path),
      times.map((seconds) => result(160, 120, seconds)),
    );
    const found = probedTimes(path);
    expect(found).toHaveLength(times.length);
    for (const [index, seconds] of times.entries()) expect(found[index]).toBeCloseTo(seconds - 10, 3);
  });

  it('shows the box where it is', async () => {
    const path = join(folder.path, 'box.mkv');
    await writeAll(await openSink(path), [result(160, 120, 0)]);
    const grey = firstPicture(path);
    const at = (x: number, y: number) => grey[y * 160 + x] ?? 0;
    expect(Math.abs(at(80, 100) - at(80, 70))).toBeGreaterThan(5); // bottom edge against the inside
    expect(Math.abs(at(150, 110) - at(80, 70))).toBeLessThan(4); // outside against the inside
  });

  it('scales boxes to whole frames of another size than the one the boxes are in', async () => {
    const path = join(folder.path, 'scaled.mkv');
    await writeAll(await openSink(path), [result(320, 240, 0, { width: 160, height: 120 })]);
    const grey = firstPicture(path);
    const at = (x: number, y: number) => grey[y * 320 + x] ?? 0;
    expect(Math.abs(at(160, 200) - at(160, 140))).toBeGreaterThan(5);
  });

  it('begins a new file when the size changes', async () => {
    const path = join(folder.path, 'sizes.mp4');
    const sink = await openSink(path);
    await writeAll(sink, [0, 0.1].map((t) => result(160, 120, t)).concat(result(320, 240, 0.2)));
    const second = join(folder.path, 'sizes-2.mp4');
    expect(sink.outputs).toEqual([path, second]);
    expect(probedTimes(path)).toHaveLength(2);
    expect(probedTimes(second)).toEqual([0]);
  });

  it('writes HLS whose playlist plays', async () => {
    const path = join(folder.path, 'list.m3u8');
    const results = Array.from({ length: 75 }, (_, index) => result(160, 120, index / 25));
    await writeAll(await openSink(path), results);
    expect(existsSync(join(folder.path, 'list1.ts'))).toBe(true);
    expect(probedTimes(path)).toHaveLength(75);
  });

  it('writes a live recording in fragments, playable before it is complete', async () => {
    const path = join(folder.path, 'live.mp4');
    const sink = await openSink(path, true);
    for (let index = 0; index < 300; index++) await sink.write(result(160, 120, index / 25));
    await expect.poll(() => spawnSync('ffprobe', ['-v', 'error', path]).status, { timeout: 5000 }).toBe(0);
    await sink.close();
    expect(probedTimes(path)).toHaveLength(300);
  });

  it('refuses an ending that it does not know', async () => {
    const sink = await openSink(join(folder.path, 'clip.xyz'));
    await expect(sink.write(result(160, 120, 0))).rejects.toThrow(DataError);
    await sink.close();
  });
});
