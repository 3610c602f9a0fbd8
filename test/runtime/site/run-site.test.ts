// A whole site on our own clips and a camera that breaks: what one does never touches the others.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDetector, openDetector } from '#runtime';
import type { SiteEvent } from '../../../runtime/site/events.ts';
import { runSite, type SiteControl } from '../../../runtime/site/run-site.ts';
import type { Site, SiteCamera } from '../../../runtime/site/site.ts';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { livingChildren } from '../../support/processes.ts';
import { RtspServer, testPicture } from '../../support/rtsp-server.ts';
import { CLIP_CAMERA, sample } from '../../support/running-site.ts';

const MODEL = sample('model/edge-n-street.onnx');

let detector: OpenDetector;
beforeAll(async () => {
  detector = await openDetector(MODEL);
});
afterAll(() => detector.close());

interface Ran {
  readonly events: readonly SiteEvent[];
  readonly control: SiteControl;
}

/** Runs until `until` says so. */
async function run(
  cameras: readonly Partial<SiteCamera>[],
  until: (events: readonly SiteEvent[], control: SiteControl) => boolean,
  onStart: (control: SiteControl) => void = () => undefined,
): Promise<Ran> {
  const events: SiteEvent[] = [];
  const stop = new AbortController();
  let control: SiteControl | undefined;
  const site: Site = {
    model: MODEL,
    device: 'cpu',
    cameras: cameras.map((camera) => ({ ...CLIP_CAMERA, ...camera })),
  };
  await runSite(site, {
    detector,
    signal: stop.signal,
    onStart(given) {
      control = given;
      onStart(given);
    },
    sinks: [
      {
        accept(event) {
          events.push(event);
          if (control !== undefined && until(events, control)) stop.abort();
        },
        close: async () => undefined,
      },
    ],
  });
  if (control === undefined) throw new Error('the site never started');
  return { events, control };
}

const states = (events: readonly SiteEvent[], name: string) =>
  events.flatMap((event) => (event.kind === 'camera' && event.camera === name ? [event.state] : []));

describe.skipIf(!ffmpegAvailable)(`a site${ffmpegNote}`, () => {
  it('follows the objects of every camera to the end, beside one that cannot be opened', {
    timeout: 60_000,
  }, async () => {
    const { events } = await run(
      [
        { name: 'day' },
        { name: 'night', source: sample('clips/night.mp4') },
        { name: 'gone', source: sample('clips/nowhere.mp4') },
      ],
      (all) => ['day', 'night'].every((name) => states(all, name).includes('ended')),
    );
    expect(states(events, 'day')).toEqual(['connecting', 'live', 'ended']);
    expect(states(events, 'night')).toEqual(['connecting', 'live', 'ended']);
    expect(states(events, 'gone').slice(0, 3)).toEqual(['connecting', 'failed', 'connecting']);
    const lights = events.filter(({ kind }) => kind === 'light');
    expect(lights.map(({ camera }) => camera).sort()).toEqual(['day', 'night']);
    for (const name of ['day', 'night']) {
      const objects = events.filter((event) => event.kind === 'object' && event.camera === name);
      const begun = objects.filter((event) => event.kind === 'object' && event.type === 'new');
      const ended = objects.filter((event) => event.kind === 'object' && event.type === 'end');
      expect(begun.length).toBeGreaterThan(3);
      // What has begun has ended, and every count came back to nothing.
      expect(ended).toHaveLength(begun.length);
      const counts = new Map<string, number>();
      for (const event of events)
        if (event.kind === 'count' && event.camera === name)
          counts.set(`${event.place} ${event.className}`, event.count);
      expect(counts.size).toBeGreaterThan(0);
      expect([...counts.values()].every((count) => count === 0)).toBe(true);
    }
  });

  it('says that a camera broke and is back, and ends its objects between', { timeout: 60_000 }, async () => {
    const server = await RtspServer.start({ input: testPicture('320x192', 10) });
    const { port } = server;
    let again: Promise<RtspServer> | undefined;
    try {
      const { events } = await run(
        [{ name: 'rtsp', source: `rtsp://127.0.0.1:${port}/live` }, { name: 'file' }],
        (all) => {
          const seen = states(all, 'rtsp');
          if (seen.at(-1) === 'live' && again === undefined) {
            again = server.close().then(() => RtspServer.start({ input: testPicture('320x192', 10), port }));
          }
          return (
            seen.filter((state) => state === 'live').length === 2 && states(all, 'file').includes('ended')
          );
        },
      );
      expect(states(events, 'rtsp').slice(0, 2)).toEqual(['connecting', 'live']);
      expect(states(events, 'rtsp')).toContain('back-off');
      expect(states(events, 'file').slice(0, 3)).toEqual(['connecting', 'live', 'ended']);
    } finally {
      await (again === undefined ? server : await again).close();
    }
    expect(livingChildren()).toEqual([]);
  });

  it('switches a camera off and on, and takes new rules while it runs', { timeout: 60_000 }, async () => {
    let switched = false;
    const { events, control } = await run([{ name: 'gate', framesPerSecond: 5 }], (all, site) => {
      if (!switched && all.some((event) => event.kind === 'object')) {
        switched = true;
        site.useCamera({ ...CLIP_CAMERA, zones: [], classes: new Set(['nothing']) });
        site.setEnabled('gate', false);
        setTimeout(() => site.setEnabled('gate', true), 200);
      }
      return states(all, 'gate').includes('ended');
    });
    expect(states(events, 'gate')).toEqual(['connecting', 'live', 'off', 'connecting', 'live', 'ended']);
    const off = events.findIndex((event) => event.kind === 'camera' && event.state === 'off');
    const later = events.slice(off).filter((event) => event.kind === 'object' && event.type === 'new');
    expect(later).toEqual([]);
    expect(control.setEnabled('nobody', true)).toBe(false);
    const [status] = control.cameras;
    expect(status).toMatchObject({ name: 'gate', state: 'ended', enabled: true, objects: [] });
    // The clip has 12 s at 8 frames a second or so; five a second were looked at, in two runs of which one was cut short.
    expect(status?.frames).toBeGreaterThan(20);
  });

  it('begins anew where a threshold is lowered below all that it was opened with', {
    timeout: 60_000,
  }, async () => {
    const lowered = { ...CLIP_CAMERA, thresholds: { ...CLIP_CAMERA.thresholds, base: 0.1 } };
    const { events } = await run([{ name: 'gate', framesPerSecond: 5 }], (all, site) => {
      const seen = states(all, 'gate');
      if (seen.length === 2 && all.some(({ kind }) => kind === 'object')) {
        site.useCamera({ ...CLIP_CAMERA, thresholds: { ...CLIP_CAMERA.thresholds, base: 0.28 } });
        site.useCamera(lowered);
      }
      return seen.includes('ended');
    });
    expect(states(events, 'gate')).toEqual(['connecting', 'live', 'connecting', 'live', 'ended']);
  });
});
