// From results of cameras to drift events: what is learned is kept over restarts, and only what can be compared is.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRandom, type Random } from '#core';
import { createDriftMonitor, type DriftMonitor } from '../../../../runtime/site/drift/drift-monitor.ts';
import type { SiteEvent } from '../../../../runtime/site/events.ts';
import type { SiteCamera } from '../../../../runtime/site/site.ts';
import { SeenCamera } from '../sinks/seen-frames.ts';
import { parsed, refusal, siteText } from '../site-text.ts';

const SHA = 'a'.repeat(64);
const CAMERA = parsed(siteText()).site.cameras[0] as SiteCamera;

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drift-'));
  path = join(folder, 'drift.json');
});
afterEach(() => rm(folder, { recursive: true }));

interface Watching {
  readonly monitor: DriftMonitor;
  readonly events: SiteEvent[];
  readonly notices: string[];
  /** What the monitor takes the camera's rules for. */
  use(camera: SiteCamera): void;
}

function start(more: Partial<Parameters<typeof createDriftMonitor>[0]> = {}): Watching {
  const [events, notices]: [SiteEvent[], string[]] = [[], []];
  const monitor = createDriftMonitor({
    path,
    learnHours: 0.01,
    learnTracks: 60,
    windowHours: 0.005,
    windowTracks: 30,
    modelSha256: SHA,
    onEvent: (event) => events.push(event),
    onNotice: (message) => notices.push(message),
    ...more,
  });
  let camera = CAMERA;
  monitor.watch({ camera: (name) => (name === 'gate' ? camera : undefined) });
  return {
    monitor,
    events,
    notices,
    use(other) {
      camera = other;
    },
  };
}

let nextTrack = 0;

/** So many tracks, one after the other, three frames of half a second each and a pause that ends it. */
function pass(
  monitor: DriftMonitor,
  seen: SeenCamera,
  { count, random, scale = 1, light }: { count: number; random: Random; scale?: number; light?: string },
): void {
  for (let track = 0; track < count; track++) {
    const level = 0.5 + 0.3 * random.next();
    const trackId = nextTrack++;
    const look = (boxes: Parameters<SeenCamera['see']>[0], stepMs: number) =>
      monitor.observe(
        'gate',
        { ...seen.see(boxes, stepMs), ...(light !== undefined && { light }) },
        seen.objects,
      );
    for (let frame = 0; frame < 3; frame++)
      look([{ trackId, score: scale * (level + 0.1 * random.next()), std: 0.05 }], 500);
    look([], 1100);
  }
}

const drifts = (events: readonly SiteEvent[]) => events.filter(({ kind }) => kind === 'drift');
const notices = (events: readonly SiteEvent[]) =>
  events.flatMap((event) => (event.kind === 'notice' ? event.message : []));

describe('a drift monitor', () => {
  it('learns, freezes, says a drift once and its end once, and takes up after a restart', async () => {
    const random = createRandom(1);
    const seen = new SeenCamera('gate');
    const first = start();
    pass(first.monitor, seen, { count: 70, random });
    expect(notices(first.events)).toEqual([expect.stringMatching(/^scores are learned from \d\d tracks/)]);
    await first.monitor.close();
    const stored = await readFile(path, 'utf8');

    const second = start();
    pass(second.monitor, seen, { count: 70, random });
    expect(second.events).toEqual([]);
    pass(second.monitor, seen, { count: 140, random, scale: 0.8 });
    expect(drifts(second.events)).toMatchObject([
      { kind: 'drift', camera: 'gate', measure: 'score', state: 'begins' },
    ]);
    pass(second.monitor, seen, { count: 140, random });
    expect(drifts(second.events)).toMatchObject([{ state: 'begins' }, { state: 'ends' }]);
    await second.monitor.close();
    expect(await readFile(path, 'utf8')).toBe(stored);
    expect(await readdir(folder)).toEqual(['drift.json']);
  });

  it('keeps what is half learned, so that restarts do not begin it anew', async () => {
    const random = createRandom(2);
    const seen = new SeenCamera('gate');
    for (const expected of [0, 0, 1]) {
      const { monitor, events } = start({ learnTracks: 100 });
      pass(monitor, seen, { count: 40, random });
      expect(notices(events)).toHaveLength(expected);
      await monitor.close();
    }
  });

  it('learns each light for itself', async () => {
    const random = createRandom(3);
    const seen = new SeenCamera('gate');
    const { monitor, events } = start();
    pass(monitor, seen, { count: 70, random, light: 'day' });
    pass(monitor, seen, { count: 140, random, light: 'night', scale: 0.5 });
    pass(monitor, seen, { count: 100, random, light: 'day' });
    expect(drifts(events)).toEqual([]);
    pass(monitor, seen, { count: 100, random, light: 'night' });
    expect(drifts(events)).toMatchObject([{ light: 'night', state: 'begins' }]);
    await monitor.close();
  });

  it('takes at most a box a second of a track', async () => {
    const random = createRandom(4);
    const { monitor } = start();
    pass(monitor, new SeenCamera('gate'), { count: 10, random });
    await monitor.close();
    const { references } = JSON.parse(await readFile(path, 'utf8'));
    expect(references).toMatchObject([{ camera: 'gate', isLearned: false }]);
    // Frames at 0, 0.5 and 1 s.
    for (const { score, std } of references[0].tracks) {
      expect(score).toHaveLength(2);
      expect(std).toEqual([0.05, 0.05]);
    }
    expect(references[0].tracks).toHaveLength(10);
  });

  it('learns anew when other boxes get through, and says so', async () => {
    const random = createRandom(5);
    const seen = new SeenCamera('gate');
    const { monitor, events, use } = start();
    pass(monitor, seen, { count: 70, random });
    pass(monitor, seen, { count: 140, random, scale: 0.8 });
    expect(drifts(events)).toHaveLength(1);
    use({ ...CAMERA, stallSeconds: 9 });
    pass(monitor, seen, { count: 1, random });
    expect(notices(events)).toHaveLength(1);
    use({ ...CAMERA, thresholds: { ...CAMERA.thresholds, base: 0.6 } });
    pass(monitor, seen, { count: 1, random });
    expect(notices(events)[1]).toBe('thresholds, classes or filters have changed: scores are learned anew');
    expect(drifts(events)).toMatchObject([{ state: 'begins' }, { state: 'ends' }]);
    await monitor.close();
  });

  it('refuses the reference of another model, and a file that is none', async () => {
    const random = createRandom(6);
    const { monitor } = start();
    pass(monitor, new SeenCamera('gate'), { count: 3, random });
    await monitor.close();
    const other = refusal(() => start({ modelSha256: 'b'.repeat(64) }));
    expect(other.message).toContain(`was learned with another model (SHA-256 ${SHA}`);
    expect(other.hint).toContain('learns anew');
    await writeFile(path, '{"version": 1');
    expect(refusal(() => start()).message).toContain('drift.json is not JSON');
    await writeFile(path, `{"version": 2, "modelSha256": "${SHA}", "references": []}`);
    expect(refusal(() => start()).message).toContain("'version': 1, the only version of this format");
  });

  it('says once that nothing can be written, and goes on', async () => {
    const { monitor, notices: said } = start({ path: join(folder, 'missing', 'drift.json') });
    pass(monitor, new SeenCamera('gate'), { count: 70, random: createRandom(7) });
    await monitor.close();
    expect(said).toEqual([expect.stringContaining('the folder does not exist')]);
  });
});
