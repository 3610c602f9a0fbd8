// Light that is followed: by hand-made frames, and through a model over the clips of one street.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createLetterbox, DEFAULT_FIT, LIGHT_LADDER, type LightLadder, type LightPolicy } from '#core';
import {
  type DetectionResult,
  detections,
  type Frame,
  openDetector,
  openSource,
  type SourceEvent,
} from '#runtime';
import { followLight } from '../../runtime/light.ts';
import { streamForm } from '../../runtime/sinks/result-form.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';

const SIZE = { width: 32, height: 32 };
const POLICY: LightPolicy = {
  kind: 'light',
  states: new Map([
    ['night', { kind: 'fixed', base: 0.15 }],
    ['day', { kind: 'fixed', base: 0.6 }],
  ]),
  otherwise: { kind: 'fixed', base: 0.4 },
};
const LADDER: LightLadder = {
  states: ['night', 'dusk', 'day'],
  boundaries: [0, 1],
  margin: 0.1,
  holdSeconds: 4,
};

/** A frame that carries its light in its first byte, in tenths above -10. */
function frameAt(ptsSeconds: number | undefined, light: number, source = 'street'): Frame {
  const content = new Uint8Array(3 * 32 * 32);
  content[0] = Math.round(10 * light) + 100;
  return {
    source,
    index: 0,
    ...(ptsSeconds === undefined ? {} : { ptsSeconds }),
    letterbox: createLetterbox(SIZE, SIZE, DEFAULT_FIT),
    content,
    release: () => undefined,
  };
}

function follow(ladder = LADDER) {
  const events: SourceEvent[] = [];
  let measured = 0;
  const measure = ({ content }: Frame) => {
    measured++;
    return (content[0]! - 100) / 10;
  };
  const follower = followLight({ ladder, policy: POLICY, measure, everySeconds: 2 }, (event) =>
    events.push(event),
  );
  return { follower, events, measured: () => measured };
}

describe('followLight', () => {
  it('measures every two seconds, holds a state, and tells each change once', () => {
    const { follower, events, measured } = follow();
    const states = Array.from(
      { length: 21 },
      (_, second) => follower.observe(frameAt(second, second < 5 ? 2 : -1)).state,
    );
    // Night is asked for from second 6 on (measured at even seconds) and taken after 4 s.
    expect(states.indexOf('night')).toBe(10);
    expect(new Set(states.slice(0, 10))).toEqual(new Set(['day']));
    expect(new Set(states.slice(10))).toEqual(new Set(['night']));
    expect(measured()).toBe(11);
    expect(events).toEqual([
      { kind: 'light', source: 'street', state: 'day', value: 2 },
      { kind: 'light', source: 'street', state: 'night', before: 'day', value: -1 },
    ]);
  });

  it('gives the thresholds of the state, and the general ones for a state without its own', () => {
    const { follower } = follow({ ...LADDER, holdSeconds: 0 });
    const bases = [2, 0.5, -1].map((light, place) => follower.observe(frameAt(2 * place, light)).threshold);
    expect(bases).toEqual([0.6, 0.4, 0.15].map((base) => ({ kind: 'fixed', base })));
  });

  it('says nothing of a stream before a frame of it said something', () => {
    const measures = [Number.NaN, Number.NaN, 2, Number.NaN];
    const events: SourceEvent[] = [];
    const measure = ({ index }: Frame) => measures[index]!;
    const options = { ladder: LADDER, policy: POLICY, measure, everySeconds: 2 };
    const follower = followLight(options, (event) => events.push(event));
    // Every frame is measured until one says something: 0.1 s later it is day.
    const found = [0, 0.1, 0.2, 3].map((seconds, index) =>
      follower.observe({ ...frameAt(seconds, 0), index }),
    );
    expect(found.map(({ state }) => state)).toEqual([undefined, undefined, 'day', 'day']);
    expect(found[0]?.threshold).toEqual({ kind: 'fixed', base: 0.4 });
    expect(events).toMatchObject([{ state: 'day', value: 2 }]);
  });

  it('takes still pictures one by one, without a word', () => {
    const { follower, events } = follow();
    const states = [2, -1, 0.5, 2].map((light) => follower.observe(frameAt(undefined, light)).state);
    expect(states).toEqual(['day', 'night', 'dusk', 'day']);
    expect(events).toEqual([]);
  });

  it('begins anew with another stream, and measures again where the clock went back', () => {
    const { follower, events } = follow({ ...LADDER, holdSeconds: 0 });
    expect(follower.observe(frameAt(100, 2)).state).toBe('day');
    expect(follower.observe(frameAt(0, -1)).state).toBe('night');
    expect(follower.observe(frameAt(0.1, 2, 'yard')).state).toBe('day');
    expect(events.map((event) => 'before' in event)).toEqual([false, true, false]);
  });
});

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

describe.skipIf(!ffmpegAvailable)(`the sample street by day, then by night${ffmpegNote}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'light-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('changes its state and its thresholds with the light', { timeout: 90_000 }, async () => {
    const clip = join(folder, 'day-night.mkv');
    const cut = ['-t', '5', '-i'];
    const inputs = ['day', 'night'].flatMap((name) => [...cut, file(`samples/clips/${name}.mp4`)]);
    const join2 = [
      '-filter_complex',
      '[0:v][1:v]concat=n=2',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-crf',
      '18',
      clip,
    ];
    execFileSync('ffmpeg', ['-v', 'error', ...inputs, ...join2]);
    const detector = await openDetector(file('samples/model/edge-n-street.onnx'), { sessions: 2 });
    const events: SourceEvent[] = [];
    const found: { readonly light: string | undefined; readonly index: number; readonly scores: number[] }[] =
      [];
    let last: DetectionResult | undefined;
    try {
      for await (const result of detections({
        source: await openSource(clip),
        detector,
        light: { ladder: { ...LIGHT_LADDER, holdSeconds: 0.5 }, policy: POLICY, everySeconds: 0.25 },
        onEvent: (event) => events.push(event),
      })) {
        last = result;
        const { light, frame, detections: boxes } = result;
        found.push({ light, index: frame.index, scores: boxes.map(({ score }) => score) });
      }
    } finally {
      await detector.close();
    }
    expect(found).toHaveLength(120);
    const first = found.findIndex(({ light }) => light === 'night');
    // The median of 6 s turns after 3 s of night, and the hold of half a second comes on top.
    expect(first).toBeGreaterThanOrEqual(60 + 36);
    expect(first).toBeLessThanOrEqual(60 + 48);
    expect(new Set(found.slice(0, first).map(({ light }) => light))).toEqual(new Set(['day']));
    expect(new Set(found.slice(first).map(({ light }) => light))).toEqual(new Set(['night']));
    const scores = (light: string) => found.filter((one) => one.light === light).flatMap((one) => one.scores);
    expect(Math.min(...scores('day'))).toBeGreaterThanOrEqual(0.6);
    expect(Math.min(...scores('night'))).toBeGreaterThanOrEqual(0.15);
    expect(scores('night').filter((score) => score < 0.4).length).toBeGreaterThan(10);
    expect(events.filter(({ kind }) => kind === 'light')).toMatchObject([
      { state: 'day' },
      { state: 'night', before: 'day' },
    ]);
    expect(streamForm(last!)).toMatchObject({ frame: 119, light: 'night' });
  });

  it.each([
    ['day', 'day'],
    // The renderer's dusk is a bright one: below its day, but above the dusk of the cameras that the model was fitted to.
    ['dusk', 'day'],
    ['night', 'night'],
  ])('calls %s.mp4 %s', async (name, state) => {
    const detector = await openDetector(file('samples/model/edge-n-street.onnx'));
    try {
      for await (const { light } of detections({
        source: await openSource(file(`samples/clips/${name}.mp4`)),
        detector,
        light: { ladder: LIGHT_LADDER },
      })) {
        expect(light).toBe(state);
        break;
      }
    } finally {
      await detector.close();
    }
  });
});
