import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLetterbox, SourceError, toFrame } from '#core';
import { type Ffmpeg, fileUrl, locateFfmpeg } from '../../../runtime/ffmpeg/index.ts';
import { type OpenVideoOptions, openVideoSource as openAny } from '../../../runtime/sources/open-video.ts';
import { probeVideo } from '../../../runtime/sources/probe.ts';
import { VideoSource } from '../../../runtime/sources/video-file.ts';
import { ClipFolder, probedTimes, runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { livingChildren, openFileCount } from '../../support/processes.ts';
import { frameRequest, INPUT, type ReadFrame, readAll } from '../../support/read-frames.ts';
import { testData } from '../../support/test-data.ts';

const times = (frames: readonly ReadFrame[]) => frames.map(({ ptsSeconds }) => ptsSeconds);

/** µs: NUT carries whole microseconds, ffprobe prints six digits. */
function expectSameTimes(found: readonly number[], path: string): void {
  const expected = probedTimes(path);
  expect(found.length).toBe(expected.length);
  expected.forEach((time, index) => {
    if (Number.isNaN(time)) return; // ffprobe has no time for the last frames of some AVI files
    expect(Math.abs(found[index]! - time), `frame ${index}`).toBeLessThan(1.5e-6);
  });
}

describe.skipIf(!ffmpegAvailable)(`video files${ffmpegNote}`, () => {
  let clips: ClipFolder;
  let ffmpeg: Ffmpeg;
  const openVideoSource = (path: string, options: OpenVideoOptions = {}) =>
    openAny(path, { ffmpeg, ...options });
  beforeAll(async () => {
    clips = new ClipFolder();
    ffmpeg = await locateFfmpeg();
  });
  afterAll(() => {
    clips.remove();
    expect(livingChildren()).toEqual([]);
  });

  describe('every frame once, with its exact time', () => {
    it.each<[string, () => string]>([
      ['constant rate', () => clips.h264('cfr.mp4', '320x180', 30, 61)],
      [
        '29.97 with B-frames',
        () => clips.h264('ntsc.mp4', '320x180', 29.97, 45, '-preset', 'medium', '-r', '30000/1001'),
      ],
      [
        'variable rate',
        () =>
          clips.h264(
            'vfr.mp4',
            '320x180',
            30,
            89,
            '-vf',
            "select='not(mod(n,3))+not(mod(n,7))'",
            '-vsync',
            'vfr',
          ),
      ],
      [
        'jittered 90 kHz',
        () =>
          clips.h264(
            'jitter.ts',
            '320x180',
            25,
            50,
            '-vf',
            'settb=1/90000,setpts=PTS+random(1)*1500',
            '-vsync',
            'passthrough',
            '-enc_time_base',
            '1:90000',
          ),
      ],
      ['offset', () => clips.h264('offset.mkv', '320x180', 25, 20, '-output_ts_offset', '12.345')],
      [
        'edit list',
        () =>
          clips.draw(
            'edit.mp4',
            '-ss',
            '0.5',
            '-i',
            clips.h264('whole.mp4', '320x180', 25, 50, '-g', '10'),
            '-c',
            'copy',
          ),
      ],
      [
        '10 bit',
        () =>
          clips.draw(
            'ten.mkv',
            '-f',
            'lavfi',
            '-i',
            'testsrc2=size=320x180:rate=25',
            '-frames:v',
            '10',
            '-c:v',
            'libx264',
            '-preset',
            'ultrafast',
            '-pix_fmt',
            'yuv420p10le',
          ),
      ],
      [
        'odd size',
        () =>
          clips.draw(
            'odd.mkv',
            '-f',
            'lavfi',
            '-i',
            'testsrc=size=641x359:rate=25',
            '-frames:v',
            '10',
            '-c:v',
            'libx264',
            '-preset',
            'ultrafast',
            '-pix_fmt',
            'yuv444p',
          ),
      ],
      ['odd names', () => clips.h264("-ö b'c:%d[1].mp4", '64x48', 25, 5)],
    ])('%s', async (_title, draw) => {
      const path = draw();
      const source = await openVideoSource(path);
      const { frames, events } = await readAll(source);
      expectSameTimes(times(frames), path);
      expect(frames.map(({ index }) => index)).toEqual(frames.map((_, place) => place));
      expect(events.map(({ kind }) => kind)).toEqual(['open']);
      expect(source.stats()).toEqual({ frames: frames.length, dropped: 0, reconnects: 0, damaged: 0 });
    });

    it('begins below zero where the stream does', async () => {
      const url = fileUrl(clips.h264('zero.mp4', '64x48', 25, 10));
      const info = { ...(await probeVideo(ffmpeg, { url, name: 'zero' })), startSeconds: -0.2 };
      const input = { url, options: ['-itsoffset', '-0.2'] };
      const { frames } = await readAll(new VideoSource({ ffmpeg, name: 'zero', input, info }));
      times(frames).forEach((time, index) => {
        expect(time).toBeCloseTo(index * 0.04 - 0.2, 6);
      });
      expect(frames.length).toBe(10);
    });

    for (const name of [
      'ozlu_street.mp4',
      'caltrans/5bd8fa3e.mp4',
      'bgslibrary_video02.avi',
      'udacity_test_video.mp4',
    ]) {
      const path = testData(`video/${name}`);
      it.skipIf(path === undefined)(
        `${name}${path === undefined ? ' (skipped: no test data)' : ''}`,
        async () => {
          const { frames, events } = await readAll(await openVideoSource(path!));
          expectSameTimes(times(frames), path!);
          expect(events.map(({ kind }) => kind)).toEqual(['open']);
        },
      );
    }

    it('takes every n-th frame and keeps its place and time', async () => {
      const path = clips.h264('stride.mp4', '64x48', 25, 20);
      const source = await openVideoSource(path, { stride: 3 });
      expect(source).toMatchObject({ frameCount: 7, framesPerSecond: 25 / 3 });
      const { frames, events } = await readAll(source);
      expect(frames.map(({ index }) => index)).toEqual([0, 3, 6, 9, 12, 15, 18]);
      expect(times(frames)).toEqual([0, 0.12, 0.24, 0.36, 0.48, 0.6, 0.72]);
      expect(events.map(({ kind }) => kind)).toEqual(['open']);
    });

    it('reads three frames, again and again', async () => {
      const path = clips.h264('three.mp4', '64x48', 25, 3);
      const before = openFileCount();
      for (let round = 0; round < 12; round += 1) {
        const { frames } = await readAll(await openVideoSource(path));
        expect(times(frames)).toEqual([0, 0.04, 0.08]);
      }
      expect(openFileCount()).toBeLessThanOrEqual(before + 1);
    });
  });

  describe('geometry', () => {
    it('turns a picture as it is displayed', async () => {
      const flat = clips.h264('flat.mp4', '320x180', 25, 3);
      const path = clips.draw('turned.mp4', '-i', flat, '-c', 'copy', '-metadata:s:v:0', 'rotate=90');
      const { frames, events } = await readAll(await openVideoSource(path), { full: true });
      expect(events).toMatchObject([{ kind: 'open', size: { width: 180, height: 320 } }]);
      expect(frames[0]!.letterbox).toEqual(createLetterbox({ width: 180, height: 320 }, INPUT));
      expect(frames[0]!.content.length).toBe(90 * 160 * 3);
      expect(frames[0]!.full).toMatchObject({ width: 180, height: 320 });
    });

    it.each([
      ['641x359', 160, 90],
      ['500x333', 160, 107],
      ['333x500', 107, 160],
      ['64x3', 160, 8],
    ])('fits %s exactly', async (size, width, height) => {
      const path = clips.draw(
        `fit-${size}.mkv`,
        '-f',
        'lavfi',
        '-i',
        `testsrc=size=${size}:rate=25`,
        '-frames:v',
        '2',
        '-c:v',
        'ffv1',
      );
      const { frames } = await readAll(await openVideoSource(path), { full: true });
      expect(frames[0]!.letterbox.content).toEqual({ width, height });
      expect(frames[0]!.content.length).toBe(width * height * 3);
      const { full } = frames[0]!;
      expect(full!.data.length).toBe((full!.width * full!.height * 3) / 2);
      expect([full!.width % 2, full!.height % 2]).toEqual([0, 0]);
    });

    it('makes pixels square only when asked', async () => {
      const path = clips.h264('anamorphic.mp4', '352x288', 25, 2, '-vf', 'setsar=16/11');
      const plain = await readAll(await openVideoSource(path));
      const square = await readAll(await openVideoSource(path, { squarePixels: true }));
      expect(plain.frames[0]!.letterbox.frame).toEqual({ width: 352, height: 288 });
      expect(square.frames[0]!.letterbox.frame).toEqual({ width: 512, height: 288 });
    });

    it('maps boxes by the new size where the picture changes in the middle', async () => {
      const parts = [
        clips.h264('wide.ts', '320x180', 25, 10),
        clips.h264('square.ts', '240x240', 25, 10, '-output_ts_offset', '0.4'),
      ];
      const path = `${clips.path}/joined.ts`;
      for (const part of parts) appendFileSync(path, readFileSync(part));
      const { frames, events } = await readAll(await openVideoSource(path), { full: true });
      expect(frames.length).toBe(20);
      expect(frames[12]!.letterbox.frame).toEqual({ width: 240, height: 240 });
      // ffmpeg fills the old 160x90 with the new picture: its corners are the new corners.
      const { letterbox } = frames[12]!;
      const whole = toFrame(letterbox, { x1: 0, y1: 35, x2: 160, y2: 125 } as never);
      expect(whole).toEqual({ x1: 0, y1: 0, x2: 240, y2: 240 });
      expect(events).toMatchObject([
        { kind: 'open' },
        { kind: 'notice', message: expect.stringContaining('320x180 to 240x240') },
      ]);
      for (const frame of frames) expect(frame.full).toMatchObject({ width: 320, height: 180 });
    });
  });

  it.each<[string, readonly string[]]>([
    ['limited range', []],
    ['full range', ['-vf', 'scale=out_range=pc', '-color_range', 'pc']],
    [
      'BT.709',
      [
        '-vf',
        'scale=out_color_matrix=bt709',
        '-colorspace',
        'bt709',
        '-color_primaries',
        'bt709',
        '-color_trc',
        'bt709',
      ],
    ],
  ])('keeps the colours of %s within 3 grey levels', async (title, options) => {
    const name = `colour-${title.replaceAll(/\W/g, '')}.mp4`;
    const path = clips.draw(
      name,
      '-f',
      'lavfi',
      '-i',
      'smptehdbars=size=640x360',
      '-frames:v',
      '2',
      '-c:v',
      'libx264',
      '-qp',
      '4',
      '-pix_fmt',
      'yuv420p',
      ...options,
    );
    const exact = 'scale=160:90:flags=bilinear+accurate_rnd+full_chroma_int+full_chroma_inp,format=rgb24';
    const expected = runFfmpeg(
      '-i',
      path,
      '-frames:v',
      '1',
      '-vf',
      exact,
      '-f',
      'rawvideo',
      '-pix_fmt',
      'rgb24',
      'pipe:1',
    );
    const { frames } = await readAll(await openVideoSource(path));
    const found = frames[0]!.content;
    expect(found.length).toBe(expected.length);
    expect(
      found.reduce((sum, value, index) => sum + Math.abs(value - expected[index]!), 0) / found.length,
    ).toBeLessThan(3);
  });

  it('pairs the whole picture with the scaled one', async () => {
    // The grey level is the frame's number, so a pair of different frames shows.
    const path = clips.draw(
      'numbered.mkv',
      '-f',
      'lavfi',
      '-i',
      'color=black:size=320x180:rate=25',
      '-vf',
      'geq=lum=20+2*N:cb=128:cr=128',
      '-frames:v',
      '80',
      '-c:v',
      'ffv1',
    );
    const source = await openVideoSource(path);
    let count = 0;
    for await (const frame of source.frames(frameRequest([], { full: true }))) {
      if (count % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 15));
      expect(frame.full!.data[0]).toBe(20 + 2 * count);
      expect(Math.abs(frame.content[0]! - (frame.full!.data[0]! - 16) * (255 / 219))).toBeLessThan(3);
      count += 1;
      frame.release();
    }
    expect(count).toBe(80);
  });

  it('is read at the pace of the consumer and stays small', async () => {
    const source = await openVideoSource(clips.h264('pace.mp4', '640x360', 25, 60));
    const buffers = new Set<ArrayBufferLike>();
    for await (const frame of source.frames(frameRequest([]))) {
      buffers.add(frame.content.buffer);
      await new Promise((resolve) => setTimeout(resolve, 2));
      frame.release();
    }
    // Two wait, one is worked on, one fills; a few more may have come before the line that tells their size.
    expect(buffers.size).toBeLessThanOrEqual(12);
  });

  it('needs no more memory and no more files for many frames', async () => {
    const path = clips.h264('many.mp4', '64x48', 100, 6000);
    const files = openFileCount();
    let early = 0;
    let count = 0;
    for await (const frame of (await openVideoSource(path)).frames(frameRequest([], { full: true }))) {
      count += 1;
      frame.release();
      if (count === 1500) early = process.memoryUsage().rss;
    }
    expect(count).toBe(6000);
    expect(process.memoryUsage().rss - early).toBeLessThan(24 << 20);
    expect(openFileCount()).toBeLessThanOrEqual(files + 1);
  });

  describe('ends at once', () => {
    const slow = () => clips.h264('long.mp4', '640x360', 25, 300);

    it('when the consumer leaves', async () => {
      let left = 0;
      for await (const frame of (await openVideoSource(slow())).frames(frameRequest([]))) {
        frame.release();
        left = performance.now();
        break;
      }
      expect(performance.now() - left).toBeLessThan(500);
      expect(livingChildren()).toEqual([]);
    });

    it('when the signal aborts', async () => {
      const abort = new AbortController();
      const source = await openVideoSource(slow());
      const read = (async () => {
        for await (const frame of source.frames(frameRequest([], { signal: abort.signal }))) {
          frame.release();
          if (frame.index === 5) abort.abort(new Error('enough'));
        }
      })();
      await expect(read).rejects.toThrow('enough');
      expect(source.stats().frames).toBe(6);
      expect(livingChildren()).toEqual([]);
    });
  });

  describe('damage', () => {
    it('is reported where the file was cut', async () => {
      const path = clips.h264('cut.mp4', '320x180', 25, 60, '-movflags', '+faststart');
      truncateSync(path, Math.round(readFileSync(path).length * 0.6));
      const source = await openVideoSource(path);
      const { frames, events } = await readAll(source);
      expect(frames.length).toBeGreaterThan(20);
      expect(frames.length).toBeLessThan(50);
      expect(events).toMatchObject([
        { kind: 'open' },
        { kind: 'damaged', reason: expect.stringContaining(`${frames.length} of 60`) },
      ]);
      expect(source.stats().damaged).toBeGreaterThan(0);
    });

    it('is counted where bytes are wrong, also where ffmpeg has much to say', async () => {
      const path = clips.h264('noisy.mp4', '320x180', 25, 300, '-movflags', '+faststart');
      const bytes = readFileSync(path);
      for (let place = 20_000; place < bytes.length; place += 997) bytes[place] = (bytes[place] ?? 0) ^ 0x5a;
      writeFileSync(path, bytes);
      const source = await openVideoSource(path);
      const { events } = await readAll(source);
      expect(events.at(-1)).toMatchObject({ kind: 'damaged' });
      expect(source.stats().damaged).toBeGreaterThan(20);
    });

    it('is told apart from a hardware decoder that is not there', async () => {
      const path = clips.h264('hardware.mp4', '320x180', 25, 5);
      const auto = await openVideoSource(path, { hwaccel: 'auto' });
      const { events } = await readAll(auto);
      expect(events.map(({ kind }) => kind)).not.toContain('damaged');
      expect(auto.stats()).toMatchObject({ frames: 5, damaged: 0 });
      const absent = readAll(await openVideoSource(path, { hwaccel: 'jetson-nvmpi' }));
      await expect(absent).rejects.toThrow(/this build of ffmpeg cannot decode it/);
    });

    it.each<[string, () => string, RegExp]>([
      ['missing', () => `${clips.path}/none.mp4`, /none\.mp4: there is no such file/],
      ['a folder', () => clips.path, /this is a folder/],
      ['empty', () => written('empty.mp4', ''), /the file is empty/],
      ['a text', () => written('text.mp4', 'hello world\n'.repeat(500)), /not a readable video/],
      ['cut before its index', () => cutEarly(), /cut before its index was written/],
      [
        'sound only',
        () => clips.draw('sound.m4a', '-f', 'lavfi', '-i', 'sine', '-t', '0.5', '-c:a', 'aac'),
        /no video stream/,
      ],
      ['sound with a cover', () => cover(), /sound recording; its only picture is the cover/],
    ])('is told in words: %s', async (_title, make, words) => {
      const attempt = openVideoSource(make());
      await expect(attempt).rejects.toThrow(SourceError);
      await expect(attempt).rejects.toThrow(words);
    });

    function written(name: string, text: string): string {
      writeFileSync(`${clips.path}/${name}`, text);
      return `${clips.path}/${name}`;
    }

    function cutEarly(): string {
      const path = clips.h264('early.mp4', '320x180', 25, 30);
      truncateSync(path, 4000);
      return path;
    }

    function cover(): string {
      const sound = clips.draw('plain.mp3', '-f', 'lavfi', '-i', 'sine', '-t', '0.5');
      const picture = clips.draw('cover.png', '-f', 'lavfi', '-i', 'color=red:size=64x64', '-frames:v', '1');
      return clips.draw(
        'cover.mp3',
        '-i',
        sound,
        '-i',
        picture,
        '-map',
        '0:a',
        '-map',
        '1:v',
        '-c',
        'copy',
        '-disposition:v',
        'attached_pic',
      );
    }
  });
});
