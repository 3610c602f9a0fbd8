// However a run ends, what was written is whole, nobody stays behind, and the exit code says how it ended.
import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serialize, standInDetector } from '#onnx';
import { type CliResult, jsonLines, runCli } from '../support/cli.ts';
import { ClipFolder, FAST_H264 } from '../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { isAlive } from '../support/processes.ts';

const FRAMES = 6000;

let folder: ClipFolder;
let model: string;
let clip: string;

beforeAll(() => {
  if (!ffmpegAvailable) return;
  folder = new ClipFolder();
  model = join(folder.path, 'stand-in.onnx');
  writeFileSync(model, serialize(standInDetector({ width: 320, height: 256 })));
  const picture = `testsrc=size=320x240:rate=50:duration=${FRAMES / 50}`;
  clip = folder.draw('long.mkv', '-f', 'lavfi', '-i', picture, ...FAST_H264);
});

afterAll(() => folder?.remove());

/** All processes whose command line holds this text. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    })
    .filter(isAlive);
}

async function nobodyLeft(text: string, withinMs = 3000): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (processesWith(text).length > 0) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

interface Stopped extends CliResult {
  readonly msToEnd: number;
}

/** Streams to an annotated video and does something to the process once results flow. */
async function stopWhileRunning(video: string, act: (child: ChildProcess) => void): Promise<Stopped> {
  let acted = 0;
  const result = await runCli(['stream', `model=${model}`, `source=${clip}`, `output=${video}`], {
    onStart(child) {
      let lines = 0;
      child.stdout?.on('data', (text: string) => {
        lines += text.split('\n').length - 1;
        if (acted > 0 || lines < 40) return;
        acted = performance.now();
        act(child);
      });
    },
  });
  return { ...result, msToEnd: performance.now() - acted };
}

function frameCount(video: string): number {
  const args = [
    '-v',
    'error',
    '-count_frames',
    '-show_entries',
    'stream=nb_read_frames',
    '-of',
    'csv=p=0',
    video,
  ];
  const { status, stdout } = spawnSync('ffprobe', args, { encoding: 'utf8' });
  return status === 0 ? Number(stdout.trim()) : -1;
}

describe.skipIf(!ffmpegAvailable)(`the end of a run${ffmpegNote}`, () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    it(`${signal}: exit code ${code} within 3 s, a playable video, whole lines, nobody left`, async () => {
      const video = join(folder.path, `${signal}.mp4`);
      const result = await stopWhileRunning(video, (child) => child.kill(signal));
      expect(result.code).toBe(code);
      expect(result.msToEnd).toBeLessThan(3000);
      const lines = jsonLines<{ frame: number }>(result.stdout);
      expect(lines.map(({ frame }) => frame)).toEqual(lines.map((_, index) => index));
      expect(lines.length).toBeLessThan(FRAMES);
      expect(frameCount(video)).toBe(lines.length);
      expect(result.stderr).toMatch(
        new RegExp(`${lines.length} frames, .*per frame: .*\\n[\\s\\S]*stopped by ${signal}`),
      );
      expect(result.stderr).not.toMatch(/\n\s+at /);
      expect(await nobodyLeft(folder.path)).toBe(true);
    });
  }

  it('SIGINT twice: ends at once, by the signal', async () => {
    const video = join(folder.path, 'twice.mp4');
    const result = await stopWhileRunning(video, (child) => {
      child.kill('SIGINT');
      setTimeout(() => child.kill('SIGINT'), 20);
    });
    // A run that finished in order before the second signal came has done even better.
    expect([result.signal, result.code]).toContain(result.signal === null ? 130 : 'SIGINT');
    expect(result.msToEnd).toBeLessThan(1500);
    expect(await nobodyLeft(folder.path)).toBe(true);
  });

  it('SIGKILL: the children end by themselves and the video so far plays', async () => {
    const video = join(folder.path, 'killed.mp4');
    const result = await stopWhileRunning(video, (child) => child.kill('SIGKILL'));
    expect(result.signal).toBe('SIGKILL');
    expect(await nobodyLeft(folder.path)).toBe(true);
    expect(frameCount(video)).toBeGreaterThan(0);
  });

  it('a reader that leaves (| head -1): a quiet end with code 0, and a playable video', async () => {
    const video = join(folder.path, 'closed.mp4');
    const result = await stopWhileRunning(video, (child) => child.stdout?.destroy());
    expect(result.code).toBe(0);
    expect(result.stderr).not.toMatch(/error|EPIPE/);
    expect(frameCount(video)).toBeGreaterThan(0);
    expect(await nobodyLeft(folder.path)).toBe(true);
  });

  it('a full disk under the video: exit code 4, naming file and reason, nobody left', async () => {
    const video = join(folder.path, 'full.mkv');
    symlinkSync('/dev/full', video);
    const result = await runCli(['stream', `model=${model}`, `source=${clip}`, `output=${video}`]);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/cannot write .*full\.mkv: .*No space left on device/);
    expect(result.stderr).toMatch(/what to do: check the free space/);
    expect(await nobodyLeft(folder.path)).toBe(true);
  });

  it('a full disk under standard output: exit code 4, naming the reason', async () => {
    const words = [process.execPath, 'dist/src/cli/bin.js', 'stream', `model=${model}`, `source=${clip}`];
    const { status, stderr } = spawnSync('bash', ['-c', '"$@" > /dev/full', 'bash', ...words], {
      encoding: 'utf8',
    });
    expect(status).toBe(4);
    expect(stderr).toMatch(/cannot write standard output: no space left on the disk/);
    expect(await nobodyLeft(folder.path)).toBe(true);
  });

  it('a folder that cannot be written: exit code 4 before any frame', async () => {
    const result = await runCli(['predict', `model=${model}`, `source=${clip}`, 'project=/sys/nowhere']);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/cannot write \/sys\/nowhere\S*: no permission/);
    expect(result.stdout).toBe('');
  });

  it('leaves the input of a shell loop alone', async () => {
    const list = join(folder.path, 'list.txt');
    const short = folder.h264('short.mp4', '320x240', 25, 3);
    writeFileSync(list, `${short}\n`.repeat(4));
    const script = 'while read -r clip; do "$@" "source=$clip" 2>/dev/null; done < "$LIST"';
    const words = [process.execPath, 'dist/src/cli/bin.js', 'stream', `model=${model}`];
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...words], {
      encoding: 'utf8',
      env: { ...process.env, LIST: list },
    });
    expect(jsonLines<{ frame: number }>(stdout).map(({ frame }) => frame)).toEqual([
      0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2,
    ]);
  });

  it('runs with standard input closed', async () => {
    const short = existsSync(join(folder.path, 'short.mp4'))
      ? join(folder.path, 'short.mp4')
      : folder.h264('short.mp4', '320x240', 25, 3);
    const words = [process.execPath, 'dist/src/cli/bin.js', 'stream', `model=${model}`, `source=${short}`];
    const { stdout, status } = spawnSync('bash', ['-c', '"$@" <&- 2>/dev/null', 'bash', ...words], {
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(jsonLines(stdout)).toHaveLength(3);
  });
});
