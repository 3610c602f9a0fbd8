import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLetterbox, SourceError } from '#core';
import { type Ffmpeg, locateFfmpeg } from '../../../runtime/ffmpeg/index.ts';
import { type OpenVideoOptions, openVideoSource } from '../../../runtime/sources/open-video.ts';
import { ClipFolder } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { LiveReader } from '../../support/live-reader.ts';
import { livingChildren } from '../../support/processes.ts';
import { INPUT } from '../../support/read-frames.ts';
import { RtspServer, testPicture } from '../../support/rtsp-server.ts';

/** The bars of the project: a break is noticed within 5 s, and a source that is back gives pictures within 3 s. */
const NOTICED_MS = 5000;
const RESUMED_MS = 3000;

describe.skipIf(!ffmpegAvailable)(`live sources over RTSP${ffmpegNote}`, () => {
  let ffmpeg: Ffmpeg;
  const open: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    ffmpeg = await locateFfmpeg();
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    expect(livingChildren()).toEqual([]);
  });

  async function serve(options: Parameters<typeof RtspServer.start>[0] = {}): Promise<RtspServer> {
    const server = await RtspServer.start(options);
    open.push(() => server.close());
    return server;
  }

  async function read(url: string, options: OpenVideoOptions = {}, full = false): Promise<LiveReader> {
    const reader = new LiveReader(await openVideoSource(url, { ffmpeg, ...options }), undefined, full);
    open.push(() => reader.stop());
    return reader;
  }

  async function closeNow(server: RtspServer): Promise<void> {
    open.splice(0, open.length, ...open.slice(1)); // the server opened first
    await server.close();
  }

  it('opens in one session, with times, and stops at once', async () => {
    const server = await serve();
    const started = Date.now();
    const seen: { pts: number; captured: number; width: number }[] = [];
    const source = await openVideoSource(server.url(), { ffmpeg });
    const reader = new LiveReader(
      source,
      (frame) => {
        seen.push({
          pts: frame.ptsSeconds!,
          captured: frame.capturedAtMs!,
          width: frame.letterbox.frame.width,
        });
        expect(frame.content.length).toBe(160 * 90 * 3);
        expect(frame.full).toMatchObject({ width: 320, height: 180 });
      },
      true,
    );
    open.push(() => reader.stop());
    await reader.until(() => reader.frameCount >= 25, '25 frames');
    const before = performance.now();
    await reader.stop();
    expect(performance.now() - before).toBeLessThan(1500);
    expect((reader.failure as Error).message).toBe('stopped by the test');
    expect(server.requests.filter((method) => method === 'PLAY')).toHaveLength(1);
    expect(seen[0]!.pts).toBe(0);
    expect(seen.every(({ pts }, index) => index === 0 || pts > seen[index - 1]!.pts)).toBe(true);
    expect(seen[0]!.captured).toBeGreaterThan(started);
    expect(seen.at(-1)!.captured).toBeLessThanOrEqual(Date.now());
    expect(reader.events.map(({ event }) => event)).toEqual([
      { kind: 'open', source: server.url(), size: { width: 320, height: 180 } },
    ]);
    expect(source.stats()).toMatchObject({ reconnects: 0, damaged: 0 });
  });

  it('keeps the newest picture for a slow consumer and counts the others', async () => {
    const server = await serve();
    const lags: number[] = [];
    const source = await openVideoSource(server.url(), { ffmpeg });
    let lastIndex = -1;
    const reader = new LiveReader(source, async (frame) => {
      lags.push(Date.now() - frame.capturedAtMs!);
      expect(frame.index).toBeGreaterThan(lastIndex);
      lastIndex = frame.index;
      await new Promise((resolve) => setTimeout(resolve, 200));
    });
    open.push(() => reader.stop());
    await reader.until(() => reader.frameCount >= 20, '20 frames');
    expect(Math.max(...lags)).toBeLessThan(500);
    const { frames, dropped } = source.stats();
    expect(dropped).toBeGreaterThan(3 * frames - 12);
    expect(dropped).toBeLessThan(5 * frames);
  });

  it.each(['fin', 'rst'] as const)('comes back after the connection was cut (%s)', async (how) => {
    const server = await serve();
    const reader = await read(server.url());
    await reader.event('open');
    const cut = performance.now();
    server.drop(how);
    const lost = await reader.event('lost');
    expect(lost.atMs - cut).toBeLessThan(1500);
    expect(lost.event.retryInMs).toBeLessThan(700);
    const resumed = await reader.event('resumed');
    expect(resumed.atMs - cut).toBeLessThan(RESUMED_MS);
    expect(reader.source.stats().reconnects).toBe(1);
  });

  it('comes back after the server was gone for a while', async () => {
    const server = await serve();
    const { port } = server;
    const reader = await read(server.url());
    await reader.event('open');
    const gone = performance.now();
    await closeNow(server);
    const lost = await reader.event('lost');
    expect(lost.atMs - gone).toBeLessThan(NOTICED_MS);
    const refused = await reader.event('lost', 8000, 3);
    expect(refused.event.reason).toBe('connection refused: nothing listens on that address and port');
    await serve({ port });
    const back = performance.now();
    const resumed = await reader.event('resumed');
    report('server back to first picture', resumed.atMs - back);
    expect(resumed.atMs - back).toBeLessThan(RESUMED_MS);
  });

  it('notices a frozen camera by itself', async () => {
    const server = await serve();
    const reader = await read(server.url());
    await reader.until(() => reader.frameCount > 5, 'frames');
    server.frozen = true;
    const froze = performance.now();
    const lost = await reader.event('lost');
    report('frozen to noticed', lost.atMs - froze);
    expect(lost.atMs - froze).toBeLessThan(NOTICED_MS);
    expect(lost.event.reason).toBe('no picture for 4 s');
    server.frozen = false;
    const thawed = performance.now();
    const resumed = await reader.event('resumed');
    report('thawed to first picture', resumed.atMs - thawed);
    expect(resumed.atMs - thawed).toBeLessThan(RESUMED_MS);
  });

  it('asks a camera again that took the connection and never answered', { timeout: 40_000 }, async () => {
    const server = await serve();
    const reader = await read(server.url());
    await reader.until(() => reader.frameCount > 5, 'frames');
    server.frozen = true;
    await reader.event('lost');
    // The second loss is that of a try which the frozen camera took: its request is gone for good.
    const mute = await reader.event('lost', 8000, 2);
    expect(mute.event.reason).toBe('no answer after connecting');
    await sleep(700);
    server.frozen = false;
    const thawed = performance.now();
    const resumed = await reader.event('resumed');
    report('thawed in the middle of a try to first picture', resumed.atMs - thawed);
    expect(resumed.atMs - thawed).toBeLessThan(RESUMED_MS);
  });

  it('says that a stream is noise whose pictures go on coming, and when it is over', {
    timeout: 60_000,
  }, async () => {
    const server = await serve();
    const reader = await read(server.url());
    await reader.until(() => reader.frameCount > 5, 'frames');
    server.garbage = 'payload';
    const began = performance.now();
    const trouble = () =>
      reader.events.find(
        ({ event }) => event.kind === 'lost' || (event.kind === 'notice' && /damaged/.test(event.message)),
      );
    await reader.until(() => trouble() !== undefined, 'word of the noise', 8000);
    report('noise to noticed', (trouble()?.atMs ?? 0) - began);
    expect((trouble()?.atMs ?? 0) - began).toBeLessThan(NOTICED_MS);
    server.garbage = undefined;
    const frames = reader.frameCount;
    const over = performance.now();
    await reader.until(() => reader.frameCount > frames + 5, 'frames');
    expect(performance.now() - over).toBeLessThan(RESUMED_MS);
  });

  it('says that the password is wrong, and never what it was', async () => {
    const server = await serve({ user: 'operator', password: 'right' });
    const reader = await read(server.url('live', 'operator:hunter2'));
    const { event } = await reader.event('lost');
    expect(event.reason).toBe('401 Unauthorized: check user and password');
    expect(JSON.stringify(reader.events)).not.toMatch(/hunter2|operator/);
    const good = await read(server.url('live', 'operator:right'));
    await good.event('open');
    expect(JSON.stringify(good.events)).not.toMatch(/operator|right/);
    const once = await openVideoSource(server.url('live', 'operator:hunter2'), { ffmpeg, retries: 0 });
    const failing = new LiveReader(once);
    await failing.ended();
    expect(failing.failure).toBeInstanceOf(SourceError);
    expect((failing.failure as SourceError).message).toBe(
      `rtsp://***@127.0.0.1:${server.port}/live: 401 Unauthorized: check user and password`,
    );
  });

  it('waits for a stream that is not there yet (404)', async () => {
    const server = await serve();
    server.refusal = '404 Not Found';
    const reader = await read(server.url('later'));
    const { event } = await reader.event('lost', 12_000, 2);
    expect(event.reason).toBe('404 Not Found: check the path of the stream');
    server.refusal = undefined;
    const back = performance.now();
    const { atMs } = await reader.event('open');
    expect(atMs - back).toBeLessThan(RESUMED_MS);
  });

  it('gives up after the tries that it was allowed', async () => {
    const server = await serve();
    const url = server.url();
    await closeNow(server);
    const reader = await read(url, { retries: 1 });
    await reader.ended();
    expect((reader.failure as Error).message).toMatch(/connection refused.*after 2 tries/);
    expect(reader.failure).toMatchObject({
      message: expect.stringMatching(/connection refused.*after 2 tries/),
      exitCode: 7,
    });
    expect(reader.events.map(({ event }) => event.kind)).toEqual(['lost']);
  });

  it('takes the new size of the picture after a break, and another shape', async () => {
    const server = await serve();
    const { port } = server;
    const boxes: unknown[] = [];
    const source = await openVideoSource(server.url(), { ffmpeg });
    const reader = new LiveReader(source, (frame) => {
      boxes.push(frame.letterbox);
      expect(frame.content.length).toBe(frame.letterbox.content.width * frame.letterbox.content.height * 3);
    });
    open.push(() => reader.stop());
    await reader.event('open');
    await closeNow(server);
    await reader.event('lost');
    await serve({ port, input: testPicture('240x240', 25) });
    const back = performance.now();
    const resumed = await reader.event('resumed');
    report('back with another shape to first picture', resumed.atMs - back);
    expect(resumed.atMs - back).toBeLessThan(RESUMED_MS);
    expect(resumed.event.size).toEqual({ width: 240, height: 240 });
    await reader.until(() => reader.frameCount > 3, 'frames');
    expect(boxes[0]).toEqual(createLetterbox({ width: 320, height: 180 }, INPUT));
    expect(boxes.at(-1)).toEqual(createLetterbox({ width: 240, height: 240 }, INPUT));
    expect(reader.events.map(({ event }) => event)).toContainEqual({
      kind: 'notice',
      source: server === undefined ? '' : `rtsp://127.0.0.1:${port}/live`,
      message: 'the picture changed from 320x180 to 240x240',
    });
  });

  it('follows a camera that changes its picture in the middle of a session', async () => {
    const clips = new ClipFolder();
    open.push(() => Promise.resolve(clips.remove()));
    const shapes: readonly [shape: string, frames: number, startSeconds: number][] = [
      ['320x180', 100, 0],
      ['480x270', 50, 4],
      ['240x240', 400, 6],
    ];
    const joined = `${clips.path}/joined.ts`;
    for (const [shape, frames, startSeconds] of shapes) {
      const options = [
        '-g',
        '10',
        '-bf',
        '0',
        '-tune',
        'zerolatency',
        '-output_ts_offset',
        String(startSeconds),
      ];
      const part = clips.h264(`${shape}.ts`, shape, 25, frames, ...options);
      appendFileSync(joined, readFileSync(part));
    }
    const server = await serve({ input: ['-re', '-stream_loop', '-1', '-i', joined], codec: ['-c', 'copy'] });
    const source = await openVideoSource(server.url(), { ffmpeg });
    const reader = new LiveReader(source, ({ letterbox, content }) => {
      expect(letterbox).toEqual(createLetterbox(letterbox.frame, INPUT));
      expect(content.length).toBe(letterbox.content.width * letterbox.content.height * 3);
    });
    open.push(() => reader.stop());
    const notices = () =>
      reader.events.flatMap(({ event }) => (event.kind === 'notice' ? [event.message] : []));
    await reader.until(() => notices().join().includes('to 240x240'), 'change of shape');
    expect(reader.failure).toBeUndefined();
    expect(notices().join('; ')).toContain('from 320x180 to 480x270');
    // The same shape is followed within the session; another one needs another scale, so a new session.
    const { event } = await reader.event('resumed');
    expect(event.size).toEqual({ width: 240, height: 240 });
  });

  it('reads every picture when asked to', async () => {
    const server = await serve();
    const source = await openVideoSource(server.url(), { ffmpeg, buffer: 'all' });
    const indices: number[] = [];
    const reader = new LiveReader(source, async (frame) => {
      indices.push(frame.index);
      await new Promise((resolve) => setTimeout(resolve, 60));
    });
    open.push(() => reader.stop());
    await reader.until(() => reader.frameCount >= 40, '40 frames');
    expect(indices).toEqual(indices.map((_, place) => place));
    expect(source.stats().dropped).toBe(0);
  });

  afterAll(() => {
    expect(livingChildren()).toEqual([]);
  });
});

describe.skipIf(!ffmpegAvailable)(`other live sources${ffmpegNote}`, () => {
  it('reads MPEG-TS over UDP', async () => {
    const port = await freeUdpPort();
    const source = await openVideoSource(`udp://127.0.0.1:${port}`, {
      expectedSize: { width: 320, height: 180 },
    });
    const sender = spawn(
      'ffmpeg',
      [
        '-v',
        'error',
        '-nostdin',
        ...testPicture('320x180', 25),
        '-c:v',
        'mpeg2video',
        '-g',
        '10',
        '-f',
        'mpegts',
        `udp://127.0.0.1:${port}?pkt_size=1316`,
      ],
      { stdio: 'ignore' },
    );
    const reader = new LiveReader(source);
    try {
      await reader.until(() => reader.frameCount >= 10, '10 frames');
    } finally {
      await reader.stop();
      sender.kill('SIGKILL');
      await once(sender, 'exit');
    }
    expect(livingChildren()).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('says that there is no such camera', async () => {
    const reader = new LiveReader(await openVideoSource('97', { retries: 0 }));
    await reader.ended();
    expect(reader.failure).toMatchObject({
      message: '97: there is no such camera',
      hint: expect.stringContaining('/dev/video'),
    });
  });
});

async function freeUdpPort(): Promise<number> {
  const { createSocket } = await import('node:dgram');
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

/** Shown when asked for: the figures behind the bars. */
function report(what: string, ms: number): void {
  if (process.env['SHOW_TIMINGS'] !== undefined) console.log(`${what}: ${Math.round(ms)} ms`);
}
