// Frames without motion are let go, and no object is lost by it: on a clip drawn here, and on one of a real room.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLetterbox } from '#core';
import { openDetector } from '#runtime';
import type { CameraStatus } from '../../../../runtime/site/camera.ts';
import type { SiteEvent } from '../../../../runtime/site/events.ts';
import { gateByMotion } from '../../../../runtime/site/motion/motion-gate.ts';
import { runSite, type SiteControl } from '../../../../runtime/site/run-site.ts';
import type { SiteCamera, SiteMotion } from '../../../../runtime/site/site.ts';
import { openSource } from '../../../../runtime/sources/open.ts';
import { ClipFolder, FAST_H264 } from '../../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../../support/ffmpeg-available.ts';
import { CLIP_CAMERA } from '../../../support/running-site.ts';
import { testData } from '../../../support/test-data.ts';

const RULE: SiteMotion = { threshold: 10, minArea: 0.0005, masks: [], detectEverySeconds: 5 };
const INPUT = { width: 320, height: 320 };

interface Passed {
  readonly seconds: readonly number[];
  readonly skipped: number;
  readonly frames: number;
}

/** Times of the frames that go to the model. */
async function pass(
  path: string,
  rule: SiteMotion | undefined,
  isFollowing: (seconds: number) => boolean = () => false,
): Promise<Passed> {
  let now = 0;
  const gate = gateByMotion(await openSource(path), {
    rule: () => rule,
    isFollowing: () => isFollowing(now),
  });
  const seconds: number[] = [];
  const fit = (frame: typeof INPUT) => createLetterbox(frame, INPUT);
  for await (const frame of gate.frames({ fit, full: false, signal: new AbortController().signal })) {
    now = frame.ptsSeconds ?? 0;
    seconds.push(now);
    frame.release();
  }
  return { seconds, skipped: gate.skipped, frames: gate.stats().frames };
}

describe.skipIf(!ffmpegAvailable)(`the motion gate${ffmpegNote}`, () => {
  const folder = new ClipFolder();
  let clip = '';
  beforeAll(() => {
    // 20 s of 10 pictures; a square crosses from second 8 to 11.
    const square = "overlay=x='if(between(t,8,11),(t-8)*90,-100)':y=60";
    clip = folder.draw(
      'square.mp4',
      ...['-f', 'lavfi', '-i', 'smptebars=size=320x180:rate=10:duration=20'],
      ...['-f', 'lavfi', '-i', 'color=white:size=24x24:rate=10:duration=20'],
      ...['-filter_complex', `[0]noise=alls=6:allf=t[a];[a][1]${square}`],
      ...FAST_H264,
    );
  });
  afterAll(() => folder.remove());

  it('lets frames with motion through, and one every few seconds', async () => {
    const { seconds, skipped, frames } = await pass(clip, RULE);
    const moving = seconds.filter((at) => at >= 8 && at <= 11);
    expect(moving.length).toBeGreaterThan(28);
    // Two seconds more after the square, then one look in five seconds.
    expect(seconds.filter((at) => at < 7.9)).toEqual([0, 5]);
    expect(seconds.filter((at) => at > 13.5).length).toBeLessThanOrEqual(2);
    expect(seconds.length + skipped).toBe(200);
    expect(frames).toBe(seconds.length);
  });

  it('lets all through without a rule, and while an object is followed', async () => {
    expect((await pass(clip, undefined)).skipped).toBe(0);
    const followed = await pass(clip, RULE, (now) => now >= 5 && now < 7);
    expect(followed.seconds.filter((at) => at >= 5 && at < 6.9)).toHaveLength(19);
  });

  it('lets none of a masked square through', async () => {
    const masks = [Float64Array.of(0, 0.3, 1, 0.3, 1, 0.5, 0, 0.5)];
    const { seconds } = await pass(clip, { ...RULE, masks, detectEverySeconds: 3 });
    expect(seconds).toEqual([0, 3, 6, 9, 12, 15, 18]);
  });
});

const MODEL = testData('models/nanodet_m_320.onnx');
const ROOM = testData('video/intel_one_by_one_person.mp4');
const STREET = testData('video/ozlu_street.mp4');

interface Ran {
  /** Class, and seconds of coming and going since the first frame. */
  readonly objects: readonly { readonly name: string; readonly came: number; readonly went: number }[];
  readonly status: CameraStatus;
}

async function runClip(source: string, camera: Partial<SiteCamera>): Promise<Ran> {
  const detector = await openDetector(MODEL ?? '', { threads: 1 });
  const events: SiteEvent[] = [];
  let control: SiteControl | undefined;
  let firstMs: number | undefined;
  await runSite(
    { model: '', device: 'cpu', cameras: [{ ...CLIP_CAMERA, source, zones: [], ...camera }] },
    {
      detector,
      signal: new AbortController().signal,
      onStart(given) {
        control = given;
      },
      onResult() {
        firstMs ??= control?.cameras[0]?.lastFrameMs;
      },
      sinks: [{ accept: (event) => events.push(event), close: async () => undefined }],
    },
  );
  await detector.close();
  const since = (ms = 0) => (ms - (firstMs ?? 0)) / 1000;
  const objects = events.flatMap((event) =>
    event.kind === 'object' && event.type === 'end'
      ? [
          {
            name: event.after.className,
            came: since(event.after.startMs),
            went: since(event.after.endMs),
          },
        ]
      : [],
  );
  const status = control?.cameras[0];
  if (status === undefined) throw new Error('the site never started');
  return { objects, status };
}

describe.skipIf(!ffmpegAvailable || MODEL === undefined || ROOM === undefined || STREET === undefined)(
  'the motion gate on real clips (shared data)',
  () => {
    const folder = new ClipFolder();
    afterAll(() => folder.remove());

    it('finds all people that are found without it, and leaves the empty room alone', {
      timeout: 300_000,
    }, async () => {
      // The room is empty for 6 s: three times more, then the people of the first 45 s.
      const clip = folder.draw(
        'room.mp4',
        ...['-i', ROOM ?? '', '-vf', 'loop=loop=3:size=60:start=0', '-t', '63', ...FAST_H264],
      );
      const people = { classes: new Set(['person']), framesPerSecond: 5 };
      const all = await runClip(clip, people);
      const gated = await runClip(clip, { ...people, motion: RULE });
      expect(all.status.skipped).toBe(0);
      expect(all.objects.length).toBeGreaterThanOrEqual(2);
      for (const { name, came, went } of all.objects) {
        const near = gated.objects.filter(
          (found) =>
            found.name === name && Math.abs(found.came - came) <= 1 && Math.abs(found.went - went) <= 1,
        );
        expect(near, `${name} from ${came} to ${went} s`).toHaveLength(1);
      }
      expect(gated.objects).toHaveLength(all.objects.length);
      const { frames, skipped } = gated.status;
      expect(frames + skipped).toBe(all.status.frames);
      // 24 of 63 s are empty.
      expect(skipped / all.status.frames).toBeGreaterThan(0.25);
    });

    it('leaves next to nothing out of a street that is never still', { timeout: 60_000 }, async () => {
      const { skipped, frames } = await pass(STREET ?? '', RULE);
      expect(frames).toBeGreaterThan(850);
      expect(skipped / (frames + skipped)).toBeLessThan(0.05);
    });
  },
);
