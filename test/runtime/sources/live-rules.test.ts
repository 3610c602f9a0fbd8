import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '#core';
import type { Ffmpeg } from '../../../runtime/ffmpeg/index.ts';
import { answerLimitMs, retryDelayMs } from '../../../runtime/sources/back-off.ts';
import { DamageWatch } from '../../../runtime/sources/damage-watch.ts';
import { decoderArguments } from '../../../runtime/sources/decoder.ts';
import { hwaccelArguments } from '../../../runtime/sources/hwaccel.ts';
import { cameraDevice, isPlaylist, liveInput } from '../../../runtime/sources/live-input.ts';
import { isVideoAddress, isVideoPath } from '../../../runtime/sources/open-video.ts';
import { parseRawFormat } from '../../../runtime/sources/raw-pipe.ts';
import { explainTrouble } from '../../../runtime/sources/stream-words.ts';
import { Watchdog } from '../../../runtime/sources/watchdog.ts';

const ffmpeg: Ffmpeg = {
  path: 'ffmpeg',
  probePath: 'ffprobe',
  versionText: '',
  libavformat: { major: 58, minor: 76 },
  dialect: { rtspTimeout: '-stimeout', passthrough: ['-vsync', 'passthrough'] },
  encoders: () => Promise.resolve(new Set()),
  hwaccels: async () => [],
};

describe('retryDelayMs', () => {
  it('grows, spreads, and stays short enough to be back within 3 s', () => {
    expect([1, 2, 3, 100].map((failures) => retryDelayMs(failures, undefined, 0.5))).toEqual([
      500, 1000, 1000, 1000,
    ]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const delay = retryDelayMs(failures, undefined, random);
          expect(delay).toBeGreaterThanOrEqual(375);
          expect(delay).toBeLessThanOrEqual(1250);
        },
      ),
    );
  });

  it('becomes patient after ten minutes, and soon where a password is refused', () => {
    expect(retryDelayMs(601, undefined, 0.5)).toBe(15_000);
    expect([4, 5].map((failures) => retryDelayMs(failures, 'refused', 0.5))).toEqual([1000, 15_000]);
  });

  it('stays quick for a minute where a camera refuses what it took before', () => {
    expect([5, 60, 61].map((failures) => retryDelayMs(failures, 'once-taken', 0.5))).toEqual([
      1000, 1000, 15_000,
    ]);
  });

  it('does not wait twice: what a try in vain took counts', () => {
    expect([0, 400, 5000].map((triedMs) => retryDelayMs(2, undefined, 0.5, triedMs))).toEqual([
      1000, 600, 250,
    ]);
  });
});

describe('answerLimitMs', () => {
  it('gives a camera three times what it took before, and all the time at every tenth try', () => {
    expect([0, 8, 9, 10, 19].map((failures) => answerLimitMs(700, failures, 10_000))).toEqual([
      2100, 2100, 10_000, 2100, 10_000,
    ]);
    expect([20, 5000].map((usual) => answerLimitMs(usual, 0, 10_000))).toEqual([1000, 10_000]);
    expect(answerLimitMs(undefined, 0, 10_000)).toBeUndefined();
  });
});

describe('DamageWatch', () => {
  it('says that errors go on, once, and when they are over; a lost packet is nothing', () => {
    const watch = new DamageWatch();
    const said: string[] = [];
    let errors = 0;
    let spans = 0;
    const pass = (count: number, perSpan: number) => {
      for (let turn = 0; turn < count; turn++) {
        errors += perSpan;
        spans += 1;
        const words = watch.look(errors);
        if (words !== undefined) said.push(`${spans} ${words.slice(0, 20)}`);
      }
    };
    pass(6, 1);
    pass(3, 20);
    pass(1, 0);
    pass(12, 20);
    pass(19, 0);
    pass(1, 5);
    pass(40, 0);
    expect(said).toEqual(['14 the stream is damage', '62 the stream is whole ']);
  });
});

describe('Watchdog', () => {
  it('barks after silence, not before, and takes a shorter limit at once', async () => {
    let barks = 0;
    const dog = new Watchdog(() => {
      barks += 1;
    });
    dog.feed(60_000);
    for (let turn = 0; turn < 5; turn += 1) {
      dog.feed(60);
      await sleep(30);
    }
    expect(barks).toBe(0);
    await sleep(300);
    expect(barks).toBe(1);
  });

  it('forgives a pause of this process, and rests when told to', async () => {
    let barks = 0;
    const dog = new Watchdog(() => {
      barks += 1;
    });
    dog.feed(40);
    const end = performance.now() + 120;
    while (performance.now() < end);
    setImmediate(() => dog.feed(10_000)); // the frame that lay in the pipe meanwhile
    await sleep(250);
    dog.rest();
    dog.stop();
    expect(barks).toBe(0);
  });
});

describe('live inputs', () => {
  it('speak the dialect of the ffmpeg found', () => {
    const { input, clock } = liveInput('rtsp://cam/1', ffmpeg, { rtspTransport: 'udp' });
    expect(clock).toBe('arrival');
    expect(input.options?.slice(0, 4)).toEqual(['-rtsp_transport', 'udp', '-stimeout', '5000000']);
    const args = decoderArguments({ ffmpeg, input, content: { width: 640, height: 359 }, full: true });
    expect(args.filter((arg) => arg === '-vsync')).toHaveLength(2);
    expect(args).toContain('rtsp://cam/1');
    expect(args.slice(-3)).toEqual(['-flush_packets', '1', 'pipe:3']);
  });

  it('know a camera, a playlist, an address', () => {
    expect(
      ['0', '12', '/dev/video2', 'v4l2:///dev/video0', 'video0', '1234', 'a.mp4'].map(cameraDevice),
    ).toEqual(['0', '12', '/dev/video2', '/dev/video0', undefined, undefined, undefined]);
    expect(['http://a/b.m3u8?x=1', 'http://a/b.mp4', 'b.m3u8'].map(isPlaylist)).toEqual([true, false, false]);
    expect(
      ['-', '0', 'RTSP://x', 'https://x/y', 'udp://@:1', 'C:\\a.mp4', 'a:b.mp4', 'folder'].map(
        isVideoAddress,
      ),
    ).toEqual([true, true, true, true, true, false, false, false]);
    expect(['a.MP4', 'b.mkv', 'c.jpg', 'mp4', 'd.gif'].map(isVideoPath)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('hwaccelArguments', () => {
  it('takes presets, raw arguments and nothing', () => {
    expect(hwaccelArguments(undefined)).toEqual([]);
    expect(hwaccelArguments('cuda')).toEqual(['-hwaccel', 'cuda']);
    expect(hwaccelArguments('jetson-nvmpi', 'hevc')).toEqual(['-c:v', 'hevc_nvmpi']);
    expect(hwaccelArguments('-hwaccel drm  -c:v h264_v4l2m2m')).toEqual([
      '-hwaccel',
      'drm',
      '-c:v',
      'h264_v4l2m2m',
    ]);
  });

  it.each(['nvidia', 'toString'])('refuses %s, naming the presets', (value) => {
    expect(() => hwaccelArguments(value)).toThrow(ConfigError);
  });
});

describe('parseRawFormat', () => {
  it('reads size and rate', () => {
    const { input, info } = parseRawFormat('rgb24:640x480@30000/1001');
    expect(info).toMatchObject({ size: { width: 640, height: 480 }, framesPerSecond: 30000 / 1001 });
    expect(input.options).toContain('640x480');
  });

  it.each(['rgb24', 'rgb24:640@25', 'rgb24:0x480@25', 'rgb24:640x480@0', ''])('refuses "%s"', (text) => {
    expect(() => parseRawFormat(text)).toThrow(ConfigError);
  });
});

describe('explainTrouble', () => {
  it.each([
    ['rtsp://x: Server returned 401 Unauthorized (authorization failed)', /^401 Unauthorized: check user/],
    ['method SETUP failed: 461 Unsupported transport\nInvalid data found', /transport/],
    ['moov atom not found\nfile:x: Invalid data found when processing input', /cut before its index/],
    ['Connection to tcp://127.0.0.1:40345?timeout=5000000 failed: Connection refused', /^connection refused/],
    ['http://10.4.0.1:404/401: Connection refused', /^connection refused/],
    ['Server returned 5XX Server Error reply', /5xx/],
    ['', /^the stream ended$/],
    ['first\nsomething new', /^ffmpeg says: something new$/],
  ])('%s', (said, words) => {
    const { reason, hint } = explainTrouble(said);
    expect(reason).toMatch(words);
    expect(hint).not.toBe('');
  });
});
