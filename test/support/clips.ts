// Draws small videos with ffmpeg into a temporary folder, so that no video needs to be committed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class ClipFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'clips-'));

  /** Runs ffmpeg with these arguments and the file as its output. Returns the file's path. */
  draw(name: string, ...args: readonly string[]): string {
    const path = join(this.path, name);
    runFfmpeg(...args, '-y', `file:${path}`);
    return path;
  }

  /** `testsrc2` as H.264. */
  h264(
    name: string,
    size: string,
    framesPerSecond: number,
    frames: number,
    ...more: readonly string[]
  ): string {
    const picture = `testsrc2=size=${size}:rate=${framesPerSecond}`;
    return this.draw(name, '-f', 'lavfi', '-i', picture, '-frames:v', String(frames), ...FAST_H264, ...more);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export const FAST_H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];

export function runFfmpeg(...args: readonly string[]): Buffer {
  const { status, stdout, stderr } = spawnSync(
    'ffmpeg',
    ['-hide_banner', '-nostdin', '-v', 'error', ...args],
    {
      maxBuffer: 1 << 28,
    },
  );
  if (status !== 0) throw new Error(`ffmpeg ${args.join(' ')}: ${stderr.toString()}`);
  return stdout;
}

/** Times of all frames in seconds, as ffprobe says them. */
export function probedTimes(path: string): readonly number[] {
  const { stdout } = spawnSync(
    'ffprobe',
    [
      '-v',
      'quiet',
      '-select_streams',
      'V:0',
      '-show_entries',
      'frame=best_effort_timestamp_time',
      '-of',
      'csv=p=0',
      `file:${path}`,
    ],
    { maxBuffer: 1 << 26, encoding: 'utf8' },
  );
  return stdout
    .split('\n')
    .map((line) => line.replace(/,.*$/, '').trim())
    .filter((text) => text !== '')
    .map(Number);
}
