// Clips of a whole site: from a real RTSP server and from files, through breaks and full disks.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type OpenDetector, openDetector } from '#runtime';
import { ClipFolder, type ClipFolderOptions } from '../../../../runtime/site/clips/clip-folder.ts';
import type { SiteEvent } from '../../../../runtime/site/events.ts';
import { runSite, type SiteControl } from '../../../../runtime/site/run-site.ts';
import type { SiteCamera } from '../../../../runtime/site/site.ts';
import { readSquare, squareInput, whiteFinder } from '../../../support/bright-square.ts';
import { ClipFolder as DrawnClips, FAST_H264 } from '../../../support/clips.ts';
import { ffmpegAvailable, ffmpegNote } from '../../../support/ffmpeg-available.ts';
import { childrenOf, livingChildren } from '../../../support/processes.ts';
import { RtspServer } from '../../../support/rtsp-server.ts';
import { CLIP_CAMERA, sample } from '../../../support/running-site.ts';

type ClipEvent = Extract<SiteEvent, { kind: 'clip' }>;
type ObjectEvent = Extract<SiteEvent, { kind: 'object' }>;

const SECRET = 'geheim77';

let detector: OpenDetector;
beforeAll(async () => {
  detector = whiteFinder(await openDetector(sample('model/edge-n-street.onnx')));
});
afterAll(() => detector.close());

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'site-clips-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly events: readonly SiteEvent[];
  readonly clips: readonly ClipEvent[];
  readonly notices: readonly string[];
}

const clipsOf = (events: readonly SiteEvent[]) =>
  events.filter((event): event is ClipEvent => event.kind === 'clip');
const objectsOf = (events: readonly SiteEvent[], type: ObjectEvent['type']) =>
  events.filter((event): event is ObjectEvent => event.kind === 'object' && event.type === type);

async function run(
  camera: Partial<SiteCamera>,
  until: (events: readonly SiteEvent[], control: SiteControl) => boolean,
  options: Partial<ClipFolderOptions> = {},
): Promise<Ran> {
  const events: SiteEvent[] = [];
  const notices: string[] = [];
  const stop = new AbortController();
  const rest = { pre: 2, post: 1, longest: 20, days: 1, maxBytes: 1e9, ...options };
  const clips = new ClipFolder({ folder, ...rest, onNotice: (message) => notices.push(message) });
  let control: SiteControl | undefined;
  const look = () => {
    if (control !== undefined && until(events, control)) stop.abort();
  };
  const timer = setInterval(look, 50);
  const cameras = [{ ...CLIP_CAMERA, zones: [], ...camera }];
  await runSite(
    { model: '', device: 'cpu', cameras },
    {
      detector,
      clips,
      signal: stop.signal,
      onStart(given) {
        control = given;
      },
      sinks: [{ accept: (event) => events.push(event), close: async () => undefined }],
    },
  );
  clearInterval(timer);
  return { events, clips: clipsOf(events), notices };
}

/** No clip is half there, and nothing else is. */
function expectWhole(clips: readonly ClipEvent[]): void {
  const there = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name !== 'gate');
  expect(there.sort()).toEqual(clips.map(({ file }) => file).sort());
}

describe.skipIf(!ffmpegAvailable)(`clips of a live camera${ffmpegNote}`, () => {
  it('begin before the object and end after it, and say no password', { timeout: 90_000 }, async () => {
    const server = await RtspServer.start({
      input: squareInput(9, 11, 13),
      user: 'viewer',
      password: SECRET,
    });
    try {
      const source = server.url('live', `viewer:${SECRET}`);
      const { events, clips, notices } = await run({ source }, (all) => clipsOf(all).length === 2);
      expect(clips).toHaveLength(2);
      expect(notices).toEqual([]);
      for (const { file, startMs, endMs, objects, camera } of clips) {
        expect(camera).toBe('gate');
        expect(objects).toHaveLength(1);
        expect(file).toBe(`gate/${objects[0]}.mp4`);
        const ended = objectsOf(events, 'end').find(({ after }) => after.id === objects[0]);
        const { startMs: came = 0, endMs: went = 0 } = ended?.after ?? {};
        expect(startMs).toBeLessThanOrEqual(came - 2000 + 300);
        expect(endMs).toBeGreaterThanOrEqual(went + 1000);
        // What it shows is what it says: the square comes after two seconds or more, and goes one before the end.
        const shown = readSquare(join(folder, file));
        expect(shown.seconds).toBeGreaterThanOrEqual((went - came) / 1000 + 3 - 0.3);
        expect(Math.abs(shown.seconds - (endMs - startMs) / 1000)).toBeLessThan(0.6);
        expect(shown.first).toBeGreaterThan(1.6);
        expect(Math.abs((shown.first ?? 0) - (came - startMs) / 1000)).toBeLessThan(0.5);
        expect(Math.abs((shown.last ?? 0) - (shown.first ?? 0) - (went - came) / 1000)).toBeLessThan(0.35);
        expect(shown.seconds - (shown.last ?? 0)).toBeGreaterThan(0.8);
      }
      expectWhole(clips);
      expect(JSON.stringify(events)).not.toContain(SECRET);
      expect(server.requests.filter((method) => method === 'PLAY')).toHaveLength(1);
    } finally {
      await server.close();
    }
    expect(livingChildren()).toEqual([]);
  });

  it('are bounded in length', { timeout: 60_000 }, async () => {
    const server = await RtspServer.start({ input: squareInput(8, 100, 100) });
    try {
      const { clips } = await run({ source: server.url() }, (all) => clipsOf(all).length === 1, {
        longest: 5,
      });
      const [{ startMs, endMs, file } = { startMs: 0, endMs: 0, file: '' }] = clips;
      // By whole fragments of a second, and from a key frame.
      expect((endMs - startMs) / 1000).toBeGreaterThan(4);
      expect((endMs - startMs) / 1000).toBeLessThan(7.5);
      expect(readSquare(join(folder, file)).seconds).toBeLessThan(7.5);
    } finally {
      await server.close();
    }
  });

  it.each(['camera', 'decoder'] as const)(
    'are whole where the %s is killed in the middle',
    {
      timeout: 60_000,
    },
    async (what) => {
      let server = await RtspServer.start({ input: squareInput(6, 60, 60) });
      const { port } = server;
      const encoders = childrenOf(process.pid);
      let again: Promise<RtspServer> | undefined;
      let killed = false;
      let begunMs = 0;
      try {
        const { clips, events } = await run({ source: server.url() }, (all) => {
          const [begun] = objectsOf(all, 'new');
          if (begun !== undefined && begunMs === 0) begunMs = Date.now();
          if (begunMs > 0 && !killed && Date.now() - begunMs > 2000) {
            killed = true;
            if (what === 'camera') {
              again = server.close().then(() => RtspServer.start({ input: squareInput(6, 60, 60), port }));
            } else {
              for (const pid of childrenOf(process.pid))
                if (!encoders.includes(pid)) process.kill(pid, 'SIGKILL');
            }
          }
          return clipsOf(all).length > 0 && objectsOf(all, 'new').length > 1;
        });
        expect(clips.length).toBeGreaterThanOrEqual(1);
        for (const { file } of clips) expect(readSquare(join(folder, file)).seconds).toBeGreaterThan(0);
        const [first] = clips;
        expect(readSquare(join(folder, first?.file ?? '')).first).toBeGreaterThan(1.6);
        expectWhole(clips);
        expect(events.filter((event) => event.kind === 'camera').map(({ state }) => state)).toContain(
          'back-off',
        );
      } finally {
        if (again !== undefined) server = await again;
        await server.close();
      }
      expect(livingChildren()).toEqual([]);
    },
  );

  it('that cannot be written are said once, and the camera goes on', { timeout: 60_000 }, async () => {
    const server = await RtspServer.start({ input: squareInput(2, 3, 4) });
    let mended = 0;
    try {
      writeFileSync(join(folder, 'gate'), 'in the way');
      const { clips, notices, events } = await run({ source: server.url() }, (all) => {
        if (objectsOf(all, 'end').length === 2 && mended === 0) {
          mended = Date.now();
          rmSync(join(folder, 'gate'));
        }
        return clipsOf(all).length > 0;
      });
      expect(notices).toHaveLength(2);
      expect(notices[0]).toMatch(/^clips cannot be written: cannot write .*gate/);
      expect(notices[1]).toBe('clips are written again');
      expectWhole(clips);
      expect(events.flatMap((event) => (event.kind === 'camera' ? [event.state] : []))).toEqual([
        'connecting',
        'live',
        'off',
      ]);
    } finally {
      await server.close();
    }
  });

  it('are left out, and that is said, where MP4 cannot hold the stream', { timeout: 60_000 }, async () => {
    const senders = new Set<ReturnType<typeof spawn>>();
    const server = createServer((socket) => {
      const form = ['-c:v', 'ffv1', '-f', 'nut', '-flush_packets', '1', 'pipe:1'];
      const sender = spawn('ffmpeg', ['-v', 'error', '-nostdin', ...squareInput(2, 3, 4), ...form], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      senders.add(sender);
      socket.on('error', () => undefined);
      socket.on('close', () => sender.kill('SIGKILL'));
      sender.stdout.pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    try {
      const { events } = await run(
        { source: `tcp://127.0.0.1:${port}` },
        (all) => objectsOf(all, 'end').length === 2,
      );
      const said = events.flatMap((event) => (event.kind === 'notice' ? [event.message] : []));
      expect(said).toEqual(['no clips of this camera: MP4 cannot hold its stream']);
    } finally {
      for (const sender of senders) sender.kill('SIGKILL');
      server.close();
    }
  });
});

describe.skipIf(!ffmpegAvailable)(`clips of a file${ffmpegNote}`, () => {
  const drawn = new DrawnClips();
  afterAll(() => drawn.remove());

  it.each(['mp4', 'ts'])('are cut from it (%s)', { timeout: 60_000 }, async (extension) => {
    // A transport stream does not begin at 0.
    const source = drawn.draw(`square.${extension}`, ...squareInput(8, 11, 16, 40), ...FAST_H264, '-g', '10');
    const { events, clips } = await run({ source }, () => false);
    expect(clips).toHaveLength(2);
    for (const [index, { file, startMs, endMs }] of clips.entries()) {
      const { startMs: came = 0, endMs: went = 0 } = objectsOf(events, 'end')[index]?.after ?? {};
      expect(came - startMs).toBe(2000);
      expect(endMs - went).toBe(1000);
      const shown = readSquare(join(folder, file));
      expect(shown.seconds).toBeGreaterThan(5.5);
      expect(shown.seconds).toBeLessThan(6.5);
      expect(shown.first).toBeGreaterThan(1.8);
      expect(shown.first).toBeLessThan(3.1); // from the key frame before, of which there is one every second
      expect(shown.seconds - (shown.last ?? 0)).toBeGreaterThan(0.7);
    }
    expectWhole(clips);
  });

  it('are one where objects overlap, and several where they do not', { timeout: 60_000 }, async () => {
    const source = drawn.draw('often.mp4', ...squareInput(2, 4, 6, 30), ...FAST_H264, '-g', '10');
    const joined = await run({ source }, () => false, { post: 5, longest: 100 });
    expect(joined.clips).toHaveLength(1);
    expect(joined.clips[0]?.objects).toHaveLength(5);
    const apart = await run({ source }, () => false, { pre: 1, post: 1 });
    expect(apart.clips.map(({ objects }) => objects.length)).toEqual([1, 1, 1, 1, 1]);
  });
});

describe('the folder of clips', () => {
  it('is cleaned of what a killed process left, and bounded in bytes and days', {
    timeout: 30_000,
  }, async () => {
    mkdirSync(join(folder, 'gate'));
    const put = (name: string) => writeFileSync(join(folder, 'gate', name), Buffer.alloc(1000));
    for (const name of ['.partial-1', 'a.mp4', 'b.mp4', 'c.mp4', 'notes.txt']) put(name);
    const clips = new ClipFolder({
      ...{ folder, pre: 1, post: 1, longest: 10, days: 1, maxBytes: 2500 },
      onNotice: (message) => {
        throw new Error(message);
      },
    });
    await clips.close();
    const left = readdirSync(join(folder, 'gate')).sort();
    expect(left).toHaveLength(3);
    expect(left).toContain('notes.txt');
  });

  it('that cannot be made ends the start', () => {
    writeFileSync(join(folder, 'file'), '');
    const options = { pre: 1, post: 1, longest: 10, days: 1, maxBytes: 1, onNotice: () => undefined };
    expect(() => new ClipFolder({ ...options, folder: join(folder, 'file') })).toThrow(/cannot write/);
  });
});
