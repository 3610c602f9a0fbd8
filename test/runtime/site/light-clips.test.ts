// The light of a site's camera: the sample street by day, at dusk and at night, as a file, over RTSP, and blended slowly.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fitLightLadder, type LightLadder, measureLight } from '#core';
import { type OpenDetector, openDetector } from '#runtime';
import { runSite } from '../../../runtime/site/run-site.ts';
import type { SiteCamera } from '../../../runtime/site/site.ts';
import { ClipFolder, FAST_H264, runFfmpeg } from '../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { longNote, longRuns } from '../../support/long-runs.ts';
import { RtspServer } from '../../support/rtsp-server.ts';
import { CLIP_CAMERA, sample } from '../../support/running-site.ts';

const NAMES = ['day', 'dusk', 'night'] as const;
/** Of each light, in s: each clip three times. */
const PART_SECONDS = 24;
/** No change may take longer. */
const MOST_SECONDS = 10;
const FRAMES_PER_SECOND = 12;
const SIZE = { width: 320, height: 192 };
const BITRATE = ['-b:v', '600k', '-maxrate', '600k', '-bufsize', '600k'];

/** A state, and the first frame of the stream that it held for, in s. */
interface Held {
  readonly state: string;
  readonly fromSeconds: number;
}

/** `value` of a clip as it lies in the repository, twice a second. */
function lightsOf(name: string): readonly number[] {
  const scaled = ['-vf', `fps=2,scale=${SIZE.width}:${SIZE.height}`];
  const input = ['-i', sample(`clips/${name}.mp4`)];
  const bytes = runFfmpeg(...input, ...scaled, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-');
  const frameBytes = 3 * SIZE.width * SIZE.height;
  return Array.from({ length: Math.floor(bytes.length / frameBytes) }, (_, index) => {
    const frame = bytes.subarray(index * frameBytes, (index + 1) * frameBytes);
    return measureLight(frame, SIZE.width, SIZE.height).value;
  });
}

describe.skipIf(!ffmpegAvailable)(`the light of a street from day to night${ffmpegNote}`, () => {
  const clips = new ClipFolder();
  let detector: OpenDetector;
  /** Hard cuts: 24 s of each. */
  let cut = '';
  /** 10 s of day, 20 s into dusk, 10 s of it, 20 s into night, 14 s of it. */
  let blended = '';
  /**
   * The rendered dusk is brighter than that of the cameras that the general ladder was fitted to, so this camera has
   * boundaries of its own, fitted to its clips as `compare` fits them to labelled pictures.
   */
  let ownLadder: LightLadder;

  beforeAll(async () => {
    detector = await openDetector(sample('model/edge-n-street.onnx'));
    const looped = (count: number, name: string) => [
      '-stream_loop',
      `${count - 1}`,
      ...['-i', sample(`clips/${name}.mp4`)],
    ];
    const all = (count: number) => NAMES.flatMap((name) => looped(count, name));
    const encode = ['-map', '[v]', ...FAST_H264, ...BITRATE];
    cut = clips.draw('cut.mp4', ...all(3), '-filter_complex', '[0:v][1:v][2:v]concat=n=3[v]', ...encode);
    const fade = (offset: number) => `xfade=transition=fade:duration=20:offset=${offset}`;
    const graph = `[0:v]trim=0:30[a];[1:v]trim=0:50[b];[2:v]trim=0:34[c];[a][b]${fade(10)}[ab];[ab][c]${fade(40)}[v]`;
    blended = clips.draw('blended.mp4', ...all(7), '-filter_complex', graph, ...encode);
    const fitted = fitLightLadder(NAMES.map((name) => ({ name, values: lightsOf(name) })));
    if (fitted === undefined) throw new Error('the light does not tell the clips apart');
    ownLadder = fitted.ladder;
  }, 120_000);
  afterAll(async () => {
    clips.remove();
    await detector.close();
  });

  /** Runs one camera until `untilSeconds` of its stream, or its end. */
  async function follow(
    source: string,
    { ladder, untilSeconds = Infinity }: { readonly ladder?: LightLadder; readonly untilSeconds?: number },
  ) {
    const stop = new AbortController();
    const held: Held[] = [];
    const said: string[] = [];
    const thresholds = { ...CLIP_CAMERA.thresholds, ...(ladder && { ladder }) };
    const camera: SiteCamera = { ...CLIP_CAMERA, source, thresholds, framesPerSecond: 2, zones: [] };
    await runSite(
      { model: '', device: 'cpu', cameras: [camera] },
      {
        detector,
        signal: stop.signal,
        onResult(_, { frame, light }) {
          const fromSeconds = frame.ptsSeconds ?? Number.NaN;
          if (light !== undefined && light !== held.at(-1)?.state) held.push({ state: light, fromSeconds });
          if (fromSeconds >= untilSeconds) stop.abort();
        },
        sinks: [
          {
            accept: (event) => event.kind === 'light' && said.push(event.state),
            close: async () => undefined,
          },
        ],
      },
    );
    // What is said is what holds.
    expect(said).toEqual(held.map(({ state }) => state));
    return held;
  }

  const states = (held: readonly Held[]) => held.map(({ state }) => state);

  it('is followed within 10 s of each cut, with two switches', { timeout: 120_000 }, async () => {
    const held = await follow(cut, { ladder: ownLadder });
    expect(states(held)).toEqual(['day', 'dusk', 'night']);
    const delays = held.map(({ fromSeconds }, part) => fromSeconds - part * PART_SECONDS);
    console.info(`seconds until the light was right: ${delays.map((s) => s.toFixed(1)).join(', ')}`);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThanOrEqual(MOST_SECONDS);
  });

  it.skipIf(!longRuns)(
    `is followed over RTSP as well, in real time${longNote}`,
    { timeout: 180_000 },
    async () => {
      const codec = [...FAST_H264, ...BITRATE, '-tune', 'zerolatency', '-g', `${2 * FRAMES_PER_SECOND}`];
      const server = await RtspServer.start({ input: ['-re', '-i', cut], codec });
      try {
        const held = await follow(server.url(), { ladder: ownLadder, untilSeconds: 62 });
        expect(states(held)).toEqual(['day', 'dusk', 'night']);
        // The stream is joined a little after it began, so its cuts come at most that much earlier on its own clock.
        const between = held[2]!.fromSeconds - held[1]!.fromSeconds;
        expect(Math.abs(between - PART_SECONDS)).toBeLessThanOrEqual(MOST_SECONDS);
        expect(held[0]!.fromSeconds).toBeLessThanOrEqual(MOST_SECONDS);
        expect(held[1]!.fromSeconds).toBeLessThanOrEqual(PART_SECONDS + MOST_SECONDS);
        expect(held[2]!.fromSeconds).toBeLessThanOrEqual(2 * PART_SECONDS + MOST_SECONDS);
        console.info(
          `over RTSP: ${held.map(({ state, fromSeconds }) => `${state} ${fromSeconds.toFixed(1)} s`).join(', ')}`,
        );
      } finally {
        await server.close();
      }
    },
  );

  it('is followed in order where one light goes over into the next for 20 s', {
    timeout: 120_000,
  }, async () => {
    expect(states(await follow(blended, { ladder: ownLadder }))).toEqual(['day', 'dusk', 'night']);
  });

  it('goes from day to night without a way back by the general ladder, which takes this dusk for day', {
    timeout: 180_000,
  }, async () => {
    const held = await follow(cut, {});
    expect(states(held)).toEqual(['day', 'night']);
    expect(held[1]!.fromSeconds - 2 * PART_SECONDS).toBeLessThanOrEqual(MOST_SECONDS);
  });

  const sink: { next: () => void } = { next: () => undefined };

  it('is told by the sun from the next connection on, where the file says so', {
    timeout: 60_000,
  }, async () => {
    const stop = new AbortController();
    const said: (readonly [string, number])[] = [];
    const camera: SiteCamera = { ...CLIP_CAMERA, framesPerSecond: 2 };
    // 18:30 in Singapore: the sun stands 10.6 degrees high; two hours later it is far below.
    const sun = { kind: 'sun', latitude: 1.35, longitude: 103.82 } as const;
    const at = (time: string) => ({ ...camera, light: { ...sun, startMs: Date.parse(time) } });
    const steps = [at('2021-03-20T18:30:00+08:00'), at('2021-03-20T20:30:00+08:00'), camera];
    await runSite(
      { model: '', device: 'cpu', cameras: [camera] },
      {
        detector,
        signal: stop.signal,
        onStart(control) {
          sink.next = () => {
            const step = steps.shift();
            if (step === undefined) stop.abort();
            else control.useCamera(step);
          };
        },
        sinks: [
          {
            accept(event) {
              if (event.kind !== 'light') return;
              said.push([event.state, event.value]);
              sink.next();
            },
            close: async () => undefined,
          },
        ],
      },
    );
    expect(said.map(([state]) => state)).toEqual(['day', 'day', 'night', 'day']);
    expect(said[1]![1]).toBeCloseTo(10.6, 0);
    expect(said[2]![1]).toBeLessThan(-15);
    expect(said[3]![1]).toBe(said[0]![1]);
  });

  it('says what a clip lacks that is followed by the sun without a time', { timeout: 60_000 }, async () => {
    const stop = new AbortController();
    const reasons: string[] = [];
    const light = { kind: 'sun', latitude: 1.35, longitude: 103.82 } as const;
    await runSite(
      { model: '', device: 'cpu', cameras: [{ ...CLIP_CAMERA, light }] },
      {
        detector,
        signal: stop.signal,
        sinks: [
          {
            accept(event) {
              if (event.kind !== 'camera' || event.state !== 'failed') return;
              reasons.push(event.reason ?? '');
              stop.abort();
            },
            close: async () => undefined,
          },
        ],
      },
    );
    expect(reasons[0]).toMatch(/day\.mp4 is a clip, and light: sun needs to know when it was taken/);
  });
});
