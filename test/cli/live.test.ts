// Cameras through the command line: words for every fault, no password in any output, results after the break.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { serialize, standInDetector } from '#onnx';
import { type CliResult, jsonLines, runCli } from '../support/cli.ts';
import { ClipFolder } from '../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { RtspServer } from '../support/rtsp-server.ts';

const PASSWORD = 'hunter2';

describe.skipIf(!ffmpegAvailable)(`stream on a camera${ffmpegNote}`, () => {
  let folder: ClipFolder;
  let model: string;
  const servers: RtspServer[] = [];

  beforeAll(() => {
    folder = new ClipFolder();
    model = join(folder.path, 'stand-in.onnx');
    writeFileSync(model, serialize(standInDetector({ width: 160, height: 96 })));
  });
  afterAll(() => folder?.remove());
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  async function serve(options: Parameters<typeof RtspServer.start>[0]): Promise<RtspServer> {
    const server = await RtspServer.start(options);
    servers.push(server);
    return server;
  }

  function stream(
    source: string,
    more: readonly string[],
    onLine: (count: number, kill: () => void) => void = () => undefined,
  ): Promise<CliResult> {
    return runCli(['stream', `model=${model}`, `source=${source}`, ...more], {
      onStart(child) {
        let count = 0;
        child.stdout?.on('data', (text: string) => {
          count += text.split('\n').length - 1;
          onLine(count, () => child.kill('SIGINT'));
        });
      },
    });
  }

  function noSecrets({ stdout, stderr }: CliResult): void {
    expect(stdout + stderr).not.toContain(PASSWORD);
    expect(stderr).not.toMatch(/\n\s+at /);
  }

  it('names the camera without its password and stops at Ctrl-C', async () => {
    const server = await serve({ user: 'admin', password: PASSWORD });
    const result = await stream(server.url('live', `admin:${PASSWORD}`), [], (count, kill) => {
      if (count >= 10) kill();
    });
    expect(result.code).toBe(130);
    const lines = jsonLines<{ stream: string; pts_s: number }>(result.stdout);
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines[0]?.stream).toMatch(/^rtsp:\/\/\*\*\*@127\.0\.0\.1/);
    expect(lines.every(({ pts_s }, index) => index === 0 || pts_s > (lines[index - 1]?.pts_s ?? 0))).toBe(
      true,
    );
    noSecrets(result);
  });

  it('says what a wrong password is, and gives up with code 7 after the retries', async () => {
    const server = await serve({ user: 'admin', password: 'other' });
    const result = await stream(server.url('live', `admin:${PASSWORD}`), ['retries=1']);
    expect(result.code).toBe(7);
    expect(result.stderr).toMatch(/lost rtsp:\/\/\*\*\*@.*401/);
    expect(result.stderr).toMatch(/error: .*401.*\n {2}what to do: .*(user|password)/i);
    noSecrets(result);
  });

  it('says that a stream does not exist there', async () => {
    const server = await serve({});
    server.refusal = '404 Not Found';
    const result = await stream(server.url(), ['retries=0']);
    expect(result.code).toBe(7);
    expect(result.stderr).toMatch(/error: .*404 Not Found/);
  });

  it('says that nobody answers', async () => {
    const server = await RtspServer.start({});
    const url = server.url();
    await server.close();
    const result = await stream(url, ['retries=0']);
    expect(result.code).toBe(7);
    expect(result.stderr).toMatch(/refused/i);
  });

  it('goes on after the camera was away, and says both', async () => {
    const first = await serve({});
    const url = first.url();
    const port = Number(new URL(url).port);
    let stage: 'first' | 'away' | 'back' = 'first';
    let countAway = 0;
    const result = await stream(url, [], (count, kill) => {
      if (stage === 'first' && count >= 10) {
        stage = 'away';
        countAway = count;
        void servers
          .pop()
          ?.close()
          .then(async () => {
            await new Promise((resolve) => setTimeout(resolve, 500));
            await serve({ port });
            stage = 'back';
          });
      }
      if (stage === 'back' && count >= countAway + 20) kill();
    });
    expect(result.code).toBe(130);
    expect(result.stderr).toMatch(/lost rtsp:.*next try in/);
    expect(result.stderr).toMatch(/resumed rtsp:/);
    const frames = jsonLines<{ frame: number }>(result.stdout).map(({ frame }) => frame);
    expect(frames.every((frame, index) => index === 0 || frame > (frames[index - 1] ?? 0))).toBe(true);
  });

  it('counts the frames that a slow machine cannot take', async () => {
    const server = await serve({});
    const slow = join(folder.path, 'slow.onnx');
    writeFileSync(slow, serialize(standInDetector({ width: 1920, height: 1920 })));
    const result = await runCli([
      'stream',
      `model=${slow}`,
      `source=${server.url()}`,
      'max_frames=12',
      'threads=1',
    ]);
    expect(result.code).toBe(0);
    const frames = jsonLines<{ frame: number }>(result.stdout).map(({ frame }) => frame);
    expect(frames).toHaveLength(12);
    const dropped = Number(/(\d+) frames? dropped/.exec(result.stderr)?.[1] ?? 0);
    const missing = (frames.at(-1) ?? 0) - (frames[0] ?? 0) + 1 - frames.length;
    expect(missing).toBeGreaterThan(0);
    expect(dropped).toBeGreaterThanOrEqual(missing);
  });
});
