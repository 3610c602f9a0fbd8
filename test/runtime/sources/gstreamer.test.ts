import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, DeviceError, SourceError, UsageError } from '#core';
import { type Ffmpeg, locateFfmpeg } from '../../../runtime/ffmpeg/index.ts';
import { parseCsi } from '../../../runtime/sources/gstreamer.ts';
import {
  expectElements,
  type Gstreamer,
  locateGstreamer,
} from '../../../runtime/sources/gstreamer-locate.ts';
import { pipelineArguments, pipelineElements } from '../../../runtime/sources/gstreamer-pipeline.ts';
import { explainGstreamer } from '../../../runtime/sources/gstreamer-words.ts';
import {
  isVideoAddress,
  type OpenVideoOptions,
  openVideoSource,
} from '../../../runtime/sources/open-video.ts';
import { ClipFolder } from '../../support/clips.ts';
import { ffmpegAvailable } from '../../support/ffmpeg-available.ts';
import { gstreamerAvailable, gstreamerNote } from '../../support/gstreamer-available.ts';
import { LiveReader } from '../../support/live-reader.ts';
import { isAlive, livingChildren } from '../../support/processes.ts';
import { frameRequest, type ReadFrame, readAll } from '../../support/read-frames.ts';
import { RtspServer, testPicture } from '../../support/rtsp-server.ts';

const STAND_IN = fileURLToPath(new URL('../../support/jetson-stand-in/gst-launch-1.0', import.meta.url));

describe.skipIf(!gstreamerAvailable || !ffmpegAvailable)(`videos through GStreamer${gstreamerNote}`, () => {
  let ffmpeg: Ffmpeg;
  let software: Gstreamer;
  let jetson: Gstreamer;
  const clips = new ClipFolder();
  beforeAll(async () => {
    ffmpeg = await locateFfmpeg();
    software = await locateGstreamer();
    jetson = await locateGstreamer(STAND_IN);
  });
  afterEach(() => expect(livingChildren()).toEqual([]));
  afterAll(() => clips.remove());

  async function both(path: string, gstreamer: Gstreamer, options: OpenVideoOptions = {}) {
    const byFfmpeg = await openVideoSource(path, { ffmpeg, ...options });
    const byGstreamer = await openVideoSource(path, { ffmpeg, gstreamer, decoder: 'gstreamer', ...options });
    const expected = await readAll(byFfmpeg, { full: true });
    return { expected, found: await readAll(byGstreamer, { full: true }), source: byGstreamer };
  }

  /** Mean over all samples: two scalers and two roundings never agree in every pixel, least of all at the hard edges here. */
  function difference(a: Uint8Array, b: Uint8Array): number {
    let sum = 0;
    for (let index = 0; index < a.length; index += 1) sum += Math.abs(a[index]! - b[index]!);
    return sum / a.length;
  }

  function expectSame(found: readonly ReadFrame[], expected: readonly ReadFrame[]): void {
    expect(found.map(({ index }) => index)).toEqual(expected.map(({ index }) => index));
    for (const [place, frame] of found.entries()) {
      const other = expected[place]!;
      expect(Math.abs(frame.ptsSeconds - other.ptsSeconds)).toBeLessThan(1.5e-6);
      expect(frame.letterbox).toEqual(other.letterbox);
      expect(frame.content).toHaveLength(other.content.length);
      expect(difference(frame.content, other.content)).toBeLessThan(4);
      expect([frame.full?.width, frame.full?.height]).toEqual([other.full?.width, other.full?.height]);
      expect(difference(frame.full!.data, other.full!.data)).toBe(0);
    }
  }

  it.each([
    ['in software', () => software],
    ['with the elements of a Jetson (a stand-in)', () => jetson],
  ])('gives the times and pictures that ffmpeg gives, %s', async (_, gstreamer) => {
    const bFrames = clips.h264('b.mp4', '320x180', 25, 40, '-bf', '3', '-preset', 'medium');
    const { found, expected } = await both(bFrames, gstreamer());
    expect(found.frames).toHaveLength(40);
    expectSame(found.frames, expected.frames);
    expect(found.events.map(({ kind }) => kind)).toEqual(['open']);
  });

  it('keeps the times of a variable rate, and the rows of a width that is no multiple of four', async () => {
    const variable = clips.draw(
      'vfr.mp4',
      ...[
        '-f',
        'lavfi',
        '-i',
        'testsrc2=size=322x182:rate=30',
        '-t',
        '3',
        '-vf',
        'select=not(mod(n\\,3))+lt(n\\,20)',
      ],
      ...['-fps_mode', 'passthrough', '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'],
    );
    const { found, expected } = await both(variable, software);
    const steps = found.frames
      .slice(1)
      .map((frame, place) => frame.ptsSeconds - found.frames[place]!.ptsSeconds);
    expect(Math.max(...steps)).toBeGreaterThan(1.9 * Math.min(...steps));
    expectSame(found.frames, expected.frames);
  });

  it.each([
    ['in software', () => software],
    ['with the elements of a Jetson (a stand-in)', () => jetson],
  ])('turns a clip that says so, %s', async (_, gstreamer) => {
    const upright = clips.h264('upright.mp4', '320x180', 25, 10);
    const turned = clips.draw('turned.mp4', '-i', upright, '-c', 'copy', '-metadata:s:v', 'rotate=90');
    const { found, expected } = await both(turned, gstreamer());
    expect(found.frames[0]!.letterbox.frame).toEqual({ width: 180, height: 320 });
    expectSame(found.frames, expected.frames);
  });

  it('takes every n-th frame, from a file whose name has quotes, spaces and exclamation marks', async () => {
    const plain = clips.h264('plain.mp4', '160x120', 25, 10);
    const odd = join(clips.path, 'a "b" \\ ! c=d.mp4');
    copyFileSync(plain, odd);
    const { found, expected } = await both(odd, software, { stride: 3 });
    expect(found.frames.map(({ index }) => index)).toEqual([0, 3, 6, 9]);
    expectSame(found.frames, expected.frames);
  });

  it('says that a file is cut, and refuses what is none', async () => {
    const whole = clips.h264('whole.mp4', '320x180', 25, 100, '-movflags', '+faststart');
    const cut = join(clips.path, 'cut.mp4');
    writeFileSync(cut, readFileSync(whole).subarray(0, 60_000));
    const source = await openVideoSource(cut, { ffmpeg, gstreamer: software, decoder: 'gstreamer' });
    const { frames, events } = await readAll(source);
    expect(frames.length).toBeGreaterThan(1);
    expect(frames.length).toBeLessThan(100);
    expect(events.at(-1)).toMatchObject({
      kind: 'damaged',
      reason: expect.stringMatching(/cut or damaged: \d+ of 100/),
    });
    const text = join(clips.path, 'text.mp4');
    writeFileSync(text, 'no video');
    await expect(openVideoSource(text, { gstreamer: software, decoder: 'gstreamer' })).rejects.toThrow(
      SourceError,
    );
  });

  it('ends its child when the reader leaves in the middle', async () => {
    const long = clips.h264('long.mp4', '320x180', 25, 500);
    const source = await openVideoSource(long, { ffmpeg, gstreamer: software, decoder: 'gstreamer' });
    const abort = new AbortController();
    let count = 0;
    await expect(async () => {
      for await (const frame of source.frames(frameRequest([], { signal: abort.signal }))) {
        frame.release();
        count += 1;
        if (count === 5) abort.abort(new Error('enough'));
      }
    }).rejects.toThrow('enough');
    expect(livingChildren()).toEqual([]);
  });
});

describe.skipIf(!gstreamerAvailable || !ffmpegAvailable)(`live through GStreamer${gstreamerNote}`, () => {
  let software: Gstreamer;
  let jetson: Gstreamer;
  const open: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    software = await locateGstreamer();
    jetson = await locateGstreamer(STAND_IN);
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    expect(livingChildren()).toEqual([]);
  });

  async function read(
    spec: string,
    options: OpenVideoOptions,
    onFrame?: ConstructorParameters<typeof LiveReader>[1],
    full = false,
  ) {
    const source = await openVideoSource(spec, { decoder: 'gstreamer', ...options });
    const reader = new LiveReader(source, onFrame, full);
    open.push(() => reader.stop());
    return reader;
  }

  it('reads RTSP in one session, with rising times and whole pictures', async () => {
    const server = await RtspServer.start();
    open.push(() => server.close());
    const times: number[] = [];
    const started = Date.now();
    const reader = await read(
      server.url(),
      { gstreamer: software },
      (frame) => {
        times.push(frame.ptsSeconds!);
        expect(frame.content).toHaveLength(160 * 90 * 3);
        expect(frame.full).toMatchObject({ width: 320, height: 180 });
        expect(frame.capturedAtMs).toBeGreaterThan(started);
      },
      true,
    );
    await reader.until(() => reader.frameCount >= 25, '25 frames');
    await reader.stop();
    expect(reader.events.map(({ event }) => event)).toEqual([
      { kind: 'open', source: server.url(), size: { width: 320, height: 180 } },
    ]);
    expect(server.requests.filter((method) => method === 'PLAY')).toHaveLength(1);
    expect(times[0]).toBe(0);
    expect(times.every((time, place) => place === 0 || time > times[place - 1]!)).toBe(true);
  });

  it('keeps the newest picture for a slow reader and counts the others', async () => {
    const server = await RtspServer.start();
    open.push(() => server.close());
    const places: number[] = [];
    const reader = await read(server.url(), { gstreamer: software }, async (frame) => {
      places.push(frame.index);
      await new Promise((resolve) => setTimeout(resolve, 200));
    });
    await reader.until(() => reader.frameCount >= 8, '8 frames');
    const { frames, dropped } = reader.source.stats();
    expect(dropped).toBeGreaterThan(15);
    expect(places.at(-1)! + 1).toBeLessThanOrEqual(frames + dropped);
    expect(places.at(-1)! + 1).toBeGreaterThanOrEqual(frames + dropped - 12);
  });

  it('notices a frozen camera within the time given, and comes back', async () => {
    const server = await RtspServer.start();
    open.push(() => server.close());
    const reader = await read(server.url(), { gstreamer: software, stallSeconds: 2 });
    await reader.until(() => reader.frameCount >= 5, '5 frames');
    server.frozen = true;
    const from = performance.now();
    const lost = await reader.event('lost');
    expect(lost.atMs - from).toBeGreaterThan(1800);
    expect(lost.atMs - from).toBeLessThan(3500);
    expect(lost.event.reason).toBe('no picture for 2 s');
    server.frozen = false;
    const resumed = await reader.event('resumed');
    expect(resumed.event.size).toEqual({ width: 320, height: 180 });
    expect(reader.source.stats().reconnects).toBe(1);
  });

  it('notices a camera that went away, and a size that changed while it was', async () => {
    const server = await RtspServer.start();
    const { port } = server;
    const reader = await read(server.url(), { gstreamer: software, stallSeconds: 3 });
    await reader.until(() => reader.frameCount >= 5, '5 frames');
    const from = performance.now();
    await server.close();
    const lost = await reader.event('lost');
    expect(lost.atMs - from).toBeLessThan(4000);
    const other = await RtspServer.start({ port, input: testPicture('240x320', 25) });
    open.push(() => other.close());
    const resumed = await reader.event('resumed');
    expect(resumed.event.size).toEqual({ width: 240, height: 320 });
  });

  it.each([
    [
      '401 Unauthorized',
      { user: 'cam', password: 'secret' },
      undefined,
      /401 Unauthorized: check user and password/,
    ],
    ['404 Not Found', {}, '404 Not Found', /404 Not Found: check the path/],
  ])('says why a camera refuses: %s', async (_, serverOptions, refusal, reason) => {
    const server = await RtspServer.start(serverOptions);
    open.push(() => server.close());
    server.refusal = refusal;
    const reader = await read(server.url('live', 'cam:wrong'), { gstreamer: software, retries: 0 });
    await reader.ended();
    expect((reader.failure as SourceError).message).toMatch(reason);
    expect(JSON.stringify(reader.events) + String(reader.failure)).not.toContain('wrong');
  });

  it('says that nothing listens', async () => {
    const reader = await read('rtsp://127.0.0.1:9/live', { gstreamer: software, retries: 0 });
    await reader.ended();
    expect((reader.failure as SourceError).message).toMatch(/nothing answers at that address and port/);
  });

  it('reads a CSI camera (a stand-in) at the size and rate asked for', async () => {
    const reader = await read(
      'csi://0?size=640x480&fps=15',
      { gstreamer: jetson },
      (frame) => {
        expect(frame.letterbox.frame).toEqual({ width: 640, height: 480 });
        expect(frame.content).toHaveLength(160 * 120 * 3);
        expect(frame.full).toMatchObject({ width: 640, height: 480 });
      },
      true,
    );
    await reader.until(() => reader.frameCount >= 10, '10 frames');
    expect(reader.failure).toBeUndefined();
    expect(reader.events.map(({ event }) => event)).toEqual([
      { kind: 'open', source: 'csi://0?size=640x480&fps=15', size: { width: 640, height: 480 } },
    ]);
  });

  it('leaves no child when this process is killed', async () => {
    // A process of its own that runs what the source runs, killed in the middle: the pipes close, and with them the child.
    const child = spawn(
      process.execPath,
      [
        '-e',
        `const { spawn } = require('node:child_process');
         const words = ${JSON.stringify(pipelineArguments({ input: parseCsi('csi://0'), content: { width: 160, height: 90 }, full: false, hardware: true }))};
         const child = spawn(${JSON.stringify(STAND_IN)}, words, { detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
         child.stdio[3].once('data', () => console.log(child.pid));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'close');
    for (let wait = 0; wait < 60 && isAlive(pid); wait += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isAlive(pid)).toBe(false);
  });
});

describe('what GStreamer is asked for', () => {
  const without = (...missing: string[]): Gstreamer => ({
    launchPath: 'gst-launch-1.0',
    version: '1.22.0',
    elements: new Set(
      pipelineElements({ input: parseCsi('csi://0'), hardware: true }).filter(
        (name) => !missing.includes(name),
      ),
    ),
  });

  it('writes the pipeline for a CSI camera', () => {
    const plan = {
      input: parseCsi('csi://1?size=1280x720&fps=60&flip=2'),
      content: { width: 640, height: 360 },
      hardware: true,
    };
    expect(pipelineArguments({ ...plan, full: false }).join(' ')).toBe(
      '-v nvarguscamerasrc sensor-id=1 ! video/x-raw(memory:NVMM),format=NV12,width=1280,height=720,framerate=60/1 ! ' +
        'identity name=picture ! nvvidconv flip-method=2 ! video/x-raw,format=RGBA,width=640,height=360 ! ' +
        'videoconvert ! video/x-raw,format=RGB ! gdppay ! fdsink fd=3 sync=false',
    );
  });

  it('writes the pipeline for RTSP through the decoder of a Jetson, with the whole picture', () => {
    const input = { kind: 'rtsp', url: 'rtsp://u:p@host/a"b', transport: 'tcp' } as const;
    expect(
      pipelineArguments({ input, content: { width: 640, height: 360 }, full: true, hardware: true }).join(
        ' ',
      ),
    ).toBe(
      '-v rtspsrc location="rtsp://u:p@host/a\\"b" protocols=tcp latency=200 tcp-timeout=5000000 timeout=5000000 ! ' +
        'application/x-rtp,media=video ! parsebin ! nvv4l2decoder ! identity name=picture ! tee name=both ' +
        'both. ! queue max-size-buffers=3 max-size-bytes=0 max-size-time=0 ! nvvidconv ! video/x-raw,format=RGBA,width=640,height=360 ! ' +
        'videoconvert ! video/x-raw,format=RGB ! gdppay ! fdsink fd=3 sync=false ' +
        'both. ! queue max-size-buffers=3 max-size-bytes=0 max-size-time=0 ! nvvidconv ! video/x-raw,format=I420 ! gdppay ! fdsink fd=4 sync=false',
    );
  });

  it.each([
    [['gdppay'], 'GStreamer has no element gdppay here', 'sudo apt-get install gstreamer1.0-plugins-bad'],
    [
      ['nvarguscamerasrc', 'nvvidconv'],
      'GStreamer has no elements nvarguscamerasrc, nvvidconv here',
      "sudo apt-get install nvidia-l4t-gstreamer (JetPack only; in a container, mount the host's plugins: --runtime nvidia)",
    ],
  ])('names what is missing and its package: %s', async (missing, message, hint) => {
    const failure = await openVideoSource('csi://0', { gstreamer: without(...missing) }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(DeviceError);
    expect(failure).toMatchObject({ message, hint });
    expect(() =>
      expectElements(without(), pipelineElements({ input: parseCsi('csi://0'), hardware: true })),
    ).not.toThrow();
  });

  it('says that GStreamer is not installed', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'no-gst-'));
    try {
      await expect(locateGstreamer(join(empty, 'gst-launch-1.0'))).rejects.toThrow(
        /GStreamer is needed for this source, and .*gst-launch-1.0 was not found/,
      );
    } finally {
      rmSync(empty, { recursive: true });
    }
  });

  it.each([
    ['csi://front', /expected csi:\/\/ and the number of the sensor/],
    ['csi://0?width=1280', /there is no key width; there are size, fps and flip/],
    ['csi://0?size=big', /size=big is not of the form 1920x1080/],
    ['csi://0?fps=29.97', /fps=29.97 is not a whole number/],
    ['csi://0?flip=1', /flip is 0, 2/],
  ])('refuses %s', (spec, message) => {
    expect(isVideoAddress(spec)).toBe(true);
    expect(() => parseCsi(spec)).toThrow(UsageError);
    expect(() => parseCsi(spec)).toThrow(message);
  });

  it('refuses options and sources that only ffmpeg has', async () => {
    const gstreamer = without();
    await expect(openVideoSource('csi://0', { gstreamer, deinterlace: true })).rejects.toThrow(
      /deinterlace= is an option of ffmpeg/,
    );
    await expect(openVideoSource('http://host/x.mjpg', { gstreamer, decoder: 'gstreamer' })).rejects.toThrow(
      ConfigError,
    );
    await expect(openVideoSource('0', { gstreamer, decoder: 'gstreamer' })).rejects.toThrow(
      /reads files, rtsp:\/\/ and csi:\/\/ only/,
    );
  });

  it.each([
    ['WARNING: erroneous pipeline: no element "nvv4l2decoder"', /no element nvv4l2decoder here/],
    [
      'ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Resource not found.\nNo such file "x.mp4"',
      /there is no such file/,
    ],
    [
      'ERROR: from element /GstPipeline:pipeline0/GstX:x: Something new.',
      /^GStreamer says: Something new\.$/,
    ],
    ['', /^the stream ended$/],
  ])('explains %j', (said, reason) => {
    expect(explainGstreamer(said).reason).toMatch(reason);
    expect(explainGstreamer(said).hint).not.toBe('');
  });
});
