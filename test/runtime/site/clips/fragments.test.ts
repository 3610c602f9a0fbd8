// A stream of fragments cut up again, compared with what ffprobe finds in it, and the ring that keeps the last of them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClipRing } from '../../../../runtime/site/clips/clip-ring.ts';
import { type Fragment, FragmentReader } from '../../../../runtime/site/clips/fragments.ts';
import { COPY_ARGUMENTS } from '../../../../runtime/sources/stream-copy.ts';
import { ClipFolder, runFfmpeg } from '../../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../../support/ffmpeg-available.ts';

describe.skipIf(!ffmpegAvailable)(`fragments${ffmpegNote}`, () => {
  const folder = new ClipFolder();
  afterAll(() => folder.remove());

  interface Read {
    readonly head: Buffer;
    readonly fragments: readonly Fragment[];
  }

  function read(stream: Buffer, chunkBytes: number): Read {
    const fragments: Fragment[] = [];
    const heads: Buffer[] = [];
    const reader = new FragmentReader({
      onHead: (bytes) => heads.push(bytes),
      onFragment: (fragment) => fragments.push(fragment),
    });
    for (let at = 0; at < stream.length; at += chunkBytes) reader.push(stream.subarray(at, at + chunkBytes));
    expect(heads).toHaveLength(1);
    return { head: heads[0]!, fragments };
  }

  function keyFrames(path: string): number {
    const entries = ['-select_streams', 'v', '-skip_frame', 'nokey', '-show_entries', 'frame=pts'];
    const { stdout } = spawnSync('ffprobe', ['-v', 'error', ...entries, '-of', 'csv=p=0', path], {
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => line !== '').length;
  }

  let stream: Buffer;
  let path = '';
  beforeAll(() => {
    // A key frame every 2.5 s, a fragment every second.
    path = folder.h264('a.mp4', '160x90', 10, 100, '-g', '25', '-sc_threshold', '0');
    stream = runFfmpeg('-i', path, '-map', '0:V:0', ...COPY_ARGUMENTS, 'pipe:1');
  });

  it('are the same however the stream is cut, and say where key frames are', () => {
    const whole = read(stream, stream.length);
    for (const bytes of [1, 7, 4096]) expect(read(stream, bytes)).toEqual(whole);
    expect(whole.fragments.length).toBeGreaterThanOrEqual(10);
    expect(whole.fragments.filter(({ isKey }) => isKey)).toHaveLength(keyFrames(path));
    expect(whole.fragments[0]?.isKey).toBe(true);
    const durations = whole.fragments.map(({ durationMs }) => durationMs);
    expect(durations.reduce((sum, one) => sum + one, 0)).toBeCloseTo(10_000, 0);
    expect(Math.max(...durations)).toBeLessThanOrEqual(1000);
  });

  it('of JPEG pictures all begin with a key frame', () => {
    const jpeg = runFfmpeg('-i', path, '-c:v', 'mjpeg', '-f', 'matroska', 'pipe:1');
    const file = join(folder.path, 'jpeg.mkv');
    spawnSync('ffmpeg', ['-v', 'error', '-nostdin', '-i', 'pipe:0', '-c', 'copy', '-y', file], {
      input: jpeg,
    });
    const { fragments } = read(runFfmpeg('-i', file, '-map', '0:V:0', ...COPY_ARGUMENTS, 'pipe:1'), 1000);
    expect(fragments.length).toBeGreaterThan(50);
    expect(fragments.every(({ isKey }) => isKey)).toBe(true);
  });

  it('are refused where the bytes are something else', () => {
    const reader = new FragmentReader({ onHead: () => undefined, onFragment: () => undefined });
    expect(() => reader.push(readFileSync(path).fill(255, 0, 8))).toThrow(RangeError);
  });
});

describe('the ring', () => {
  const fragment = (second: number, isKey: boolean, byteCount = 10) => ({
    bytes: Buffer.alloc(byteCount),
    isKey,
    durationMs: 1000,
    startMs: 1000 * second,
    endMs: 1000 * (second + 1),
  });
  const starts = (ring: ClipRing, ms: number) => ring.from(ms).map(({ startMs }) => startMs / 1000);

  it('keeps from the last key frame that is old enough', () => {
    const ring = new ClipRing(4000);
    for (let second = 0; second < 12; second++) ring.push(fragment(second, second % 3 === 0));
    // At second 12 all from 8 on is asked for; the key frame before is that of 6.
    expect(starts(ring, 0)).toEqual([6, 7, 8, 9, 10, 11]);
    expect(starts(ring, 9500)).toEqual([9, 10, 11]);
    expect(ring.byteCount).toBe(60);
  });

  it('is bounded in bytes, and begins again at a key frame', () => {
    const ring = new ClipRing(60_000, 45);
    ring.push(fragment(0, false));
    expect(ring.byteCount).toBe(0);
    for (let second = 1; second < 5; second++) ring.push(fragment(second, second % 2 === 1));
    expect(starts(ring, 0)).toEqual([1, 2, 3, 4]);
    ring.push(fragment(5, false));
    expect(starts(ring, 0)).toEqual([3, 4, 5]);
    ring.push(fragment(6, false, 40));
    expect(starts(ring, 0)).toEqual([]);
    ring.push(fragment(7, true));
    expect(starts(ring, 0)).toEqual([7]);
  });
});
