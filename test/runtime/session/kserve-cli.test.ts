// `device=kserve://…` from the command line to the boxes, on the sample model and the sample clip.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliResult, jsonLines, runCli } from '../../support/cli.ts';
import { ffmpegAvailable } from '../../support/ffmpeg-available.ts';
import { farthestSide, type PictureLine, RunFolder } from '../../support/run-folder.ts';
import { InferenceServer, serverInstalled } from './kserve-server.ts';

const here = (path: string) => new URL(`../../../${path}`, import.meta.url).pathname;
const MODEL = `model=${here('samples/model/edge-n-street.onnx')}`;
const CLIP = `source=${here('samples/clips/dusk.mp4')}`;
const note = serverInstalled
  ? ffmpegAvailable
    ? ''
    : ' (skipped: no ffmpeg)'
  : ' (skipped: scripts/install-inference-server.mjs was not run)';

describe.skipIf(!serverInstalled || !ffmpegAvailable)(`device=kserve://…${note}`, { timeout: 90_000 }, () => {
  const folder = new RunFolder();
  let server: InferenceServer;

  beforeAll(async () => {
    server = await InferenceServer.create();
    await server.add('street', await readFile(here('samples/model/edge-n-street.onnx')));
    await server.start();
  }, 60_000);
  afterAll(async () => {
    await server?.end();
    folder.remove();
  });

  const run = (...words: string[]): Promise<CliResult> => runCli(words, { cwd: folder.join('.') });

  it.each(['grpc', 'http'] as const)(
    'streams what the CPU finds, and says where it runs (%s)',
    async (protocol) => {
      const words = ['stream', MODEL, CLIP, 'max_frames=20'];
      const served = await run(...words, `device=${server[protocol]('street')}`, 'sessions=2');
      const local = await run(...words, 'device=cpu');
      expect(served.code, served.stderr).toBe(0);
      expect(served.stderr).toMatch(
        /on kserve(\+http)?:\/\/\S+\/street \(triton 2\.51\.0, model version 1, shared memory\)/,
      );
      const [ours = [], theirs = []] = [served, local].map(({ stdout }) => jsonLines<PictureLine>(stdout));
      expect(ours).toHaveLength(20);
      expect(ours.flatMap(({ detections }) => detections).length).toBeGreaterThan(20);
      for (const [frame, { detections }] of ours.entries()) {
        const others = theirs[frame]?.detections ?? [];
        expect(detections.map(({ name }) => name)).toEqual(others.map(({ name }) => name));
        for (const [place, other] of others.entries()) {
          const { confidence, box } = detections[place] ?? other;
          expect(confidence).toBeCloseTo(other.confidence, 4);
          expect(farthestSide(box, other.box)).toBeLessThan(1e-2);
        }
      }
    },
  );

  it('predicts into a folder, and tells nobody the secrets in the address', async () => {
    const device = server.http('street').replace('://', '://eva:s3cret@');
    const result = await run('predict', MODEL, CLIP, `device=${device}`, 'name=served', 'save_txt=True');
    expect(result.code, result.stderr).toBe(0);
    expect(result.stderr + result.stdout).not.toContain('s3cret');
    const files = await readdir(folder.path, { recursive: true, withFileTypes: true });
    const written = files.filter((file) => file.isFile() && !file.name.endsWith('.mp4'));
    expect(written.length).toBeGreaterThan(50);
    for (const { parentPath, name } of written) {
      expect(await readFile(join(parentPath, name), 'utf8')).not.toContain('s3cret');
    }
  });

  it('ends with exit 6 and one line where there is no server, no such model or another one', async () => {
    const wrong = [
      ['kserve://127.0.0.1:1/street', /no inference server answers at 127\.0\.0\.1:1/],
      [server.grpc('nobody'), /does not serve this model/],
      [server.grpc('street', '?version=9'), /version 9 is not ready \(it has version 1\)/],
    ] as const;
    for (const [device, words] of wrong) {
      const { code, stderr } = await run('stream', MODEL, CLIP, `device=${device}`);
      expect(code, stderr).toBe(6);
      expect(stderr).toMatch(words);
      expect(stderr.trim().split('\n')).toHaveLength(2); // what is wrong, and what to do
    }
  });

  it('ends with exit 6 when the server goes in mid-stream and stays away, and loses no line', async () => {
    const device = server.grpc('street', '?deadline_ms=800');
    let lines = 0;
    let killed: Promise<void> | undefined;
    const { code, stderr, stdout } = await runCli(['stream', MODEL, CLIP, `device=${device}`], {
      onStart: (child) => {
        child.stdout?.on('data', (text: string) => {
          lines += text.split('\n').length - 1;
          if (lines > 5) killed ??= server.kill();
        });
      },
    });
    await killed;
    await server.start();
    expect(code, stderr).toBe(6);
    expect(stderr).toMatch(/no answer within 800 ms/);
    expect(jsonLines(stdout).length).toBeGreaterThan(5);
  });

  it('goes on when the server goes in mid-stream and comes back', async () => {
    const device = server.grpc('street', '?deadline_ms=30000');
    let lines = 0;
    let back: Promise<void> | undefined;
    const { code, stderr, stdout } = await runCli(['stream', MODEL, CLIP, `device=${device}`], {
      onStart: (child) => {
        child.stdout?.on('data', (text: string) => {
          lines += text.split('\n').length - 1;
          if (lines > 5) back ??= server.kill().then(() => server.start());
        });
      },
    });
    await back;
    expect(code, stderr).toBe(0);
    expect(jsonLines(stdout)).toHaveLength(96);
  });
});
