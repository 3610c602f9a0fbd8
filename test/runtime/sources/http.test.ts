import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SourceError } from '#core';
import { type Ffmpeg, locateFfmpeg } from '../../../runtime/ffmpeg/index.ts';
import { httpKind } from '../../../runtime/sources/http-kind.ts';
import { type OpenVideoOptions, openVideoSource } from '../../../runtime/sources/open-video.ts';
import { ClipFolder, FAST_H264, probedTimes, runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { LiveReader } from '../../support/live-reader.ts';
import { WebServer } from '../../support/mjpeg-server.ts';
import { livingChildren } from '../../support/processes.ts';
import { readAll } from '../../support/read-frames.ts';

describe.skipIf(!ffmpegAvailable)(`sources over HTTP${ffmpegNote}`, () => {
  let ffmpeg: Ffmpeg;
  let clips: ClipFolder;
  let picture: Buffer;
  let server: WebServer;
  const toClose: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    ffmpeg = await locateFfmpeg();
    clips = new ClipFolder();
    picture = runFfmpeg(
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=320x240',
      '-frames:v',
      '1',
      '-f',
      'mjpeg',
      'pipe:1',
    );
    server = await WebServer.start({ picture, folder: clips.path });
  });
  afterEach(async () => {
    for (const close of toClose.splice(0).reverse()) await close();
    server.frozen = false;
    expect(livingChildren()).toEqual([]);
  });
  afterAll(async () => {
    await server.close();
    clips.remove();
  });

  const open = (url: string, options: OpenVideoOptions = {}) => openVideoSource(url, { ffmpeg, ...options });
  async function read(url: string, options: OpenVideoOptions = {}): Promise<LiveReader> {
    const reader = new LiveReader(await open(url, options));
    toClose.push(() => reader.stop());
    return reader;
  }

  it('knows a camera by its answer, and reads it', async () => {
    expect(await httpKind(server.url('camera'))).toBe('stream');
    const reader = await read(server.url('camera?password=hunter2'));
    expect(reader.source).toMatchObject({ kind: 'live', name: server.url('camera?password=***') });
    const { event } = await reader.event('open');
    expect(event.size).toEqual({ width: 320, height: 240 });
    await reader.until(() => reader.frameCount > 10, 'frames');
    expect(JSON.stringify(reader.events)).not.toContain('hunter2');
  });

  it('hands a picture over before the next one is there', async () => {
    const slow = await WebServer.start({ picture });
    toClose.push(() => slow.close());
    slow.frozen = true;
    const reader = await read(slow.url('camera'), {
      expectedSize: { width: 320, height: 240 },
      stallSeconds: 60,
    });
    let sent = 0;
    let asked = 0;
    const send = async (until: () => boolean) => {
      // The first connection only looks at what kind of address it is.
      if (slow.requests.length > asked) sent = 0;
      asked = slow.requests.length;
      sent += slow.send();
      const end = performance.now() + 500;
      while (performance.now() < end && !until()) await sleep(10);
    };
    for (let tries = 0; reader.frameCount === 0 && tries < 40; tries++)
      await send(() => reader.frameCount > 0);
    const late: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const before = reader.frameCount;
      await send(() => reader.frameCount > before);
      late.push(sent - reader.frameCount);
    }
    // ffmpeg's reader of such a stream sees the end of a picture when the next one begins; nothing else waits.
    expect(Math.max(...late)).toBeLessThanOrEqual(1);
  });

  it('comes back after the camera cut the connection, and after it froze', async () => {
    const reader = await read(server.url('camera'), {
      expectedSize: { width: 320, height: 240 },
      stallSeconds: 1.5,
    });
    await reader.event('open');
    const cut = performance.now();
    server.drop();
    await reader.event('lost');
    expect((await reader.event('resumed')).atMs - cut).toBeLessThan(3000);
    server.frozen = true;
    const froze = performance.now();
    const lost = await reader.event('lost', 5000, 2);
    expect(lost.event.reason).toBe('no picture for 1.5 s');
    expect(lost.atMs - froze).toBeLessThan(2500);
    server.frozen = false;
    const thawed = performance.now();
    expect((await reader.event('resumed', 5000, 2)).atMs - thawed).toBeLessThan(3000);
    expect(reader.source.stats().reconnects).toBe(2);
  });

  it('asks for user and password as the address says', async () => {
    const guarded = await WebServer.start({ picture, userInfo: 'operator:right' });
    toClose.push(() => guarded.close());
    const good = await read(guarded.url('camera', 'operator:right'));
    await good.event('open');
    const bad = await read(guarded.url('camera', 'operator:hunter2'));
    const { event } = await bad.event('lost');
    expect(event.reason).toMatch(/^401 Unauthorized/);
    expect(JSON.stringify([good.events, bad.events])).not.toMatch(/hunter2|right|operator/);
  });

  it('reads a file to its end, every frame once', async () => {
    const path = clips.h264('web.mp4', '320x180', 25, 40, '-movflags', '+faststart');
    const source = await open(server.url('files/web.mp4'));
    expect(source).toMatchObject({ kind: 'video', frameCount: 40 });
    const { frames } = await readAll(source);
    expect(frames.map(({ ptsSeconds }) => ptsSeconds)).toEqual(probedTimes(path));
  });

  it('says that a file is not there', async () => {
    const attempt = open(server.url('files/none.mp4', 'operator:hunter2'));
    await expect(attempt).rejects.toThrow(SourceError);
    await expect(attempt).rejects.toThrow(/none\.mp4: 404 Not Found/);
    await expect(attempt).rejects.not.toThrow(/hunter2/);
  });

  it('reads a finished playlist as a video', async () => {
    clips.h264(
      'vod.m3u8',
      '320x180',
      25,
      60,
      '-g',
      '25',
      '-f',
      'hls',
      '-hls_time',
      '1',
      '-hls_playlist_type',
      'vod',
    );
    expect(await httpKind(server.url('files/vod.m3u8'))).toBe('playlist-vod');
    const source = await open(server.url('files/vod.m3u8'));
    expect(source.kind).toBe('video');
    const { frames } = await readAll(source);
    expect(frames.length).toBe(60);
  });

  it('reads a growing playlist as a live source, at its own pace', async () => {
    const playlist = `${clips.path}/live.m3u8`;
    const encoder = spawn(
      'ffmpeg',
      [
        '-v',
        'error',
        '-nostdin',
        '-re',
        '-f',
        'lavfi',
        '-i',
        'testsrc2=size=320x180:rate=25',
        ...FAST_H264,
        '-g',
        '12',
        '-f',
        'hls',
        '-hls_time',
        '0.5',
        '-hls_list_size',
        '4',
        '-hls_flags',
        'delete_segments',
        playlist,
      ],
      { stdio: 'ignore' },
    );
    toClose.push(async () => {
      encoder.kill('SIGKILL');
      await once(encoder, 'exit');
    });
    while (!existsSync(playlist)) await new Promise((resolve) => setTimeout(resolve, 50));
    const source = await open(server.url('files/live.m3u8'));
    expect(source.kind).toBe('live');
    const reader = new LiveReader(source);
    toClose.push(() => reader.stop());
    await reader.event('open');
    const from = performance.now();
    await reader.until(() => reader.frameCount >= 50, '50 frames');
    expect(performance.now() - from).toBeGreaterThan(1000); // a burst would give them at once, and lose most
    expect(source.stats().dropped).toBeLessThan(25);
  });
});
