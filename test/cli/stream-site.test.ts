// `stream config=` as an operator runs it: what it says, what it writes, how it takes a changed file, and how it ends.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { livingChildren } from '../support/processes.ts';
import { RtspServer } from '../support/rtsp-server.ts';
import { faultsOfRefusal, RunFolder } from '../support/run-folder.ts';

const sample = (name: string) => fileURLToPath(new URL(`../../samples/${name}`, import.meta.url));
const MODEL = sample('model/edge-n-street.onnx');
const folder = new RunFolder();
afterAll(() => folder.remove());

const run = (...words: string[]) => folder.run(['stream', ...words]);

describe('stream config=', () => {
  it('names every mistake with its place, and what does not go together', { timeout: 30_000 }, async () => {
    await folder.write(
      'bad.yaml',
      `model: ${MODEL}\nfsp: 5\ncameras:\n  gate: { source: ${sample('clips/day.mp4')}, fps: -1 }\n`,
    );
    const bad = await run('config=bad.yaml');
    expect(faultsOfRefusal(bad, 3)).toEqual([]);
    expect(bad.stderr).toMatch(/bad\.yaml:2:1: fsp: .*fps/);
    expect(bad.stderr).toMatch(/bad\.yaml:4:\d+: cameras\.gate\.fps: found -1/);
    await folder.write(
      'class.yaml',
      `model: ${MODEL}\nclasses: [cra]\ncameras:\n  gate: { source: ${sample('clips/day.mp4')} }\n`,
    );
    const stray = await run('config=class.yaml');
    expect(faultsOfRefusal(stray, 3)).toEqual([]);
    expect(stray.stderr).toMatch(/class\.yaml:2:\d+: .*cra.*car/s);
    const both = await run('config=bad.yaml', 'conf=0.5');
    expect(faultsOfRefusal(both, 3)).toEqual([]);
    expect(both.stderr).toMatch(/conf= does not go together with config=/);
  });

  it.skipIf(!ffmpegAvailable)(
    `runs clips to their end and writes their events${ffmpegNote}`,
    {
      timeout: 60_000,
    },
    async () => {
      const cameras = ['day', 'night'].map(
        (light) => `  ${light}: { source: ${sample(`clips/${light}.mp4`)}, fps: 4 }`,
      );
      await folder.write(
        'clips.yaml',
        `model: ${MODEL}\nlight: auto\nevents: { path: events/log.jsonl }\ncameras:\n${cameras.join('\n')}\n`,
      );
      const { code, stdout, stderr } = await run('config=clips.yaml');
      expect([code, stdout]).toEqual([0, '']);
      for (const words of ['day: live', 'night: light night', 'day: light day', 'night: ended'])
        expect(stderr).toContain(words);
      const events = readFileSync(folder.join('events/log.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const of = (kind: string) => events.filter((event) => event.kind === kind);
      expect(of('object').length).toBeGreaterThan(5);
      expect(new Set(of('object').map(({ after }) => after.light))).toEqual(new Set(['day', 'night']));
      expect(of('camera').map(({ camera, state }) => `${camera} ${state}`)).toContain('night ended');
    },
  );

  it.skipIf(!ffmpegAvailable)(
    `takes a changed file over, and ends on Ctrl-C with nothing left${ffmpegNote}`,
    {
      timeout: 60_000,
    },
    async () => {
      const server = await RtspServer.start({
        input: ['-re', '-stream_loop', '-1', '-i', sample('clips/day.mp4')],
      });
      const port = await freePort();
      const text = (more: string) =>
        `model: ${MODEL}\nserver: { port: ${port} }\ncameras:\n  gate: { source: 'rtsp://127.0.0.1:${server.port}/live'${more} }\n`;
      await folder.write('live.yaml', text(''));
      let said = '';
      const steps: readonly (readonly [RegExp, () => void])[] = [
        [/gate: live/, () => void folder.write('live.yaml', text(', fps: -3'))],
        [/goes on as before/, () => void folder.write('live.yaml', text(', conf: 0.4'))],
        [
          /camera gate: thresholds changed/,
          () => void folder.write('live.yaml', text(', conf: 0.4, enabled: false')),
        ],
        [/gate: off/, () => undefined],
      ];
      let step = 0;
      try {
        const { code, stderr } = await runCli(['stream', 'config=live.yaml'], {
          cwd: folder.path,
          onStart(child) {
            child.stderr?.on('data', (chunk: Buffer) => {
              said += chunk.toString();
              while (steps[step]?.[0].test(said)) {
                steps[step]?.[1]();
                step++;
                if (step === steps.length) child.kill('SIGINT');
              }
            });
          },
        });
        expect([code, step]).toEqual([130, steps.length]);
        expect(stderr).toMatch(/live\.yaml:4:.*fps: found -3/);
        expect(stderr).toMatch(/page: http:\/\/127\.0\.0\.1:\d+\//);
      } finally {
        await server.close();
      }
      expect(livingChildren()).toEqual([]);
    },
  );
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
