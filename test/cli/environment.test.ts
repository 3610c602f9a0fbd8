// What the machine lacks is named, and nothing stands in for it in silence: CUDA, ffmpeg.
import { chmodSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';
import { constantDetector } from '../support/tiny-models.ts';

const folder = new RunFolder();
const predict = (...words: string[]) => ['predict', 'model=model.onnx', 'save=False', ...words];

beforeAll(async () => {
  await folder.writeModel('model.onnx', constantDetector({ kind: 'yolov8' }));
  await folder.write('a.png', await solidPng({ width: 96, height: 96 }, [24, 24, 24]));
  await folder.write('clip.mp4', 'never read');
  await mkdir(folder.join('empty'));
});

afterAll(() => folder.remove());

interface DevicesJson {
  readonly providers: readonly { readonly name: string; readonly status: string; readonly reason?: string }[];
  readonly programs: readonly { readonly name: string; readonly status: string; readonly hint?: string }[];
}

async function readDevices(env: NodeJS.ProcessEnv = {}): Promise<DevicesJson> {
  const { code, stdout, stderr } = await folder.run(['devices', 'json=True'], { env });
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as DevicesJson;
}

describe('a device', () => {
  it('that was asked for is used or refused, and auto says which it took and why', async () => {
    const cuda = (await readDevices()).providers.find(({ name }) => name === 'cuda:0');
    const usable = cuda?.status === 'available';
    const [zero, seven, auto] = await Promise.all([
      folder.run(predict('source=a.png', 'device=0')),
      folder.run(predict('source=a.png', 'device=7')),
      folder.run(predict('source=a.png', 'device=auto')),
    ]);
    expect(faultsOfRefusal(seven, 6)).toEqual([]);
    expect(seven.stderr).toMatch(/cuda:7 is not usable here: /);
    expect(auto.code).toBe(0);
    expect(auto.stderr.match(/^device=auto: .*$/gm)).toEqual([
      usable
        ? 'device=auto: cuda:0'
        : expect.stringMatching(/^device=auto: cpu \(cuda:0 is not usable here: .+\)$/),
    ]);
    expect(auto.stderr).toContain(usable ? 'on cuda:0' : 'on cpu');
    expect(auto.stderr).not.toMatch(/\[[EW]:onnxruntime/);
    if (usable) expect(zero.stderr).toContain('on cuda:0');
    else {
      expect(faultsOfRefusal(zero, 6)).toEqual([]);
      expect(zero.stderr).toContain(`cuda:0 is not usable here: ${cuda?.reason}`);
      if (process.platform === 'linux' && process.arch === 'x64')
        expect(zero.stderr).toMatch(/lib\w+\.so[\s\S]*what to do: install CUDA 12/);
    }
  });
});

describe('ffmpeg', () => {
  /** PATH without ffmpeg; the command itself is run by its own path. */
  const bare = () => ({ PATH: folder.join('empty'), FFMPEG_PATH: '', FFPROBE_PATH: '' });

  it('where it is missing: named with its package, and what does not need it works', async () => {
    const [clip, picture] = await Promise.all([
      folder.run(['stream', 'model=model.onnx', 'source=clip.mp4'], { env: bare() }),
      folder.run(predict('source=a.png', 'json=True'), { env: bare() }),
    ]);
    expect(faultsOfRefusal(clip, 6)).toEqual([]);
    expect(clip.stderr).toMatch(/ffmpeg was not found\n.*apt-get install ffmpeg/);
    expect(picture.code).toBe(0);
    expect(JSON.parse(picture.stdout)).toMatchObject({ source: 'a.png', detections: [{}, {}] });
    const [camera, inspected, devices] = await Promise.all([
      folder.run(['stream', 'model=model.onnx', 'source=rtsp://user:secret@127.0.0.1:9/x'], { env: bare() }),
      folder.run(['inspect', 'model=model.onnx'], { env: bare() }),
      readDevices(bare()),
    ]);
    expect(faultsOfRefusal(camera, 6)).toEqual([]);
    expect(camera.stderr).not.toContain('secret');
    expect(inspected.code).toBe(0);
    expect(inspected.stdout).toMatch(/head +yolov8, 2 classes/);
    expect(devices.programs).toMatchObject([
      { name: 'ffmpeg', status: 'missing', hint: expect.stringContaining('apt-get install ffmpeg') },
      { name: 'gstreamer', status: 'missing', hint: expect.stringContaining('gstreamer1.0-tools') },
    ]);
  });

  it('where something else is called so, or the path is wrong', async () => {
    const stub = await folder.write('stub/ffmpeg', '#!/bin/sh\necho something else\n');
    chmodSync(stub, 0o755);
    const failing = await folder.write(
      'failing/ffmpeg',
      '#!/bin/sh\necho "libx.so.9: not found" >&2\nexit 127\n',
    );
    chmodSync(failing, 0o755);
    const run = (...words: string[]) =>
      folder.run(['stream', 'model=model.onnx', 'source=clip.mp4', ...words]);
    const [other, absent] = await Promise.all([
      folder.run(['stream', 'model=model.onnx', 'source=clip.mp4'], { env: { FFMPEG_PATH: stub } }),
      run('ffmpeg=nowhere/ffmpeg'),
    ]);
    expect(faultsOfRefusal(other, 6)).toEqual([]);
    expect(other.stderr).toMatch(/stub\/ffmpeg does not answer like ffmpeg/);
    expect(faultsOfRefusal(absent, 6)).toEqual([]);
    expect(absent.stderr).toMatch(/nowhere\/ffmpeg was not found/);
    const [broken, noProgram] = await Promise.all([run(`ffmpeg=${failing}`), run('ffmpeg=a.png')]);
    expect(faultsOfRefusal(broken, 6)).toEqual([]);
    expect(broken.stderr).toMatch(/failing\/ffmpeg does not run .*libx\.so\.9: not found/s);
    expect(faultsOfRefusal(noProgram, 6)).toEqual([]);
    expect(noProgram.stderr).toMatch(/a\.png (is not executable|was not found)/);
  });
});

describe('the temporary folder', () => {
  it('stays empty: the telemetry of the runtime is off', async () => {
    await mkdir(folder.join('temporary'), { recursive: true });
    const { code } = await folder.run(predict('source=a.png'), { env: { TMPDIR: folder.join('temporary') } });
    expect(code).toBe(0);
    expect(await readdir(folder.join('temporary'))).toEqual([]);
  });
});
