import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nutFrameHeader, nutHeader } from '../../../runtime/sinks/nut-writer.ts';

const hasFfmpeg = spawnSync('ffprobe', ['-version']).error === undefined;

/** What ffprobe reads from a stream of grey frames with these time stamps. */
function probe(
  ticks: readonly number[],
  width: number,
  height: number,
): { pts: number[]; size: string; errors: string } {
  const frameBytes = (width * height * 3) / 2;
  const input = Buffer.concat([
    nutHeader(width, height),
    ...ticks.flatMap((tick) => [nutFrameHeader(tick, frameBytes), Buffer.alloc(frameBytes, 100)]),
  ]);
  const entries = 'frame=pts,width,height,pix_fmt';
  const result = spawnSync(
    'ffprobe',
    ['-v', 'error', '-f', 'nut', '-i', 'pipe:0', '-show_entries', entries, '-of', 'json'],
    { input },
  );
  const { frames } = JSON.parse(result.stdout.toString()) as {
    frames: { pts: number; width: number; height: number; pix_fmt: string }[];
  };
  const first = frames[0];
  return {
    pts: frames.map(({ pts }) => pts),
    size: `${first?.width}x${first?.height} ${first?.pix_fmt}`,
    errors: result.stderr.toString(),
  };
}

describe.skipIf(!hasFfmpeg)('the NUT writer (skipped without ffmpeg)', () => {
  it('gives ffmpeg every frame with its exact time stamp', () => {
    const ticks = [0, 1, 126, 127, 128, 33_367, 66_733, 5_000_000, 3_600_000_001];
    const { pts, size, errors } = probe(ticks, 64, 48);
    expect(errors).toBe('');
    expect(pts).toEqual(ticks);
    expect(size).toBe('64x48 yuv420p');
  });

  it('carries frames larger than the distance of sync points', () => {
    const { pts, errors } = probe([0, 40_000, 80_000], 1920, 1080);
    expect(errors).toBe('');
    expect(pts).toEqual([0, 40_000, 80_000]);
  });
});
