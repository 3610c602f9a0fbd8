// The server of a running site as a program asks it: states, metrics, health, and what it refuses.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDetector, openDetector } from '#runtime';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { RtspServer, testPicture } from '../../support/rtsp-server.ts';
import { RunFolder } from '../../support/run-folder.ts';
import { type RunningSite, sample, startSite } from '../../support/running-site.ts';

const TOKEN = 'a token / of §igns';
const folder = new RunFolder();
let detector: OpenDetector;
let rtsp: RtspServer;
let site: RunningSite;

beforeAll(async () => {
  if (!ffmpegAvailable) return;
  detector = await openDetector(sample('model/edge-n-street.onnx'));
  rtsp = await RtspServer.start({ input: testPicture('320x192', 10) });
  mkdirSync(folder.join('snapshots/gate'), { recursive: true });
  writeFileSync(folder.join('snapshots/gate/one.jpg'), 'a picture');
  writeFileSync(folder.join('secret.jpg'), 'a secret');
  mkdirSync(folder.join('clips/gate'), { recursive: true });
  writeFileSync(folder.join('clips/gate/one.mp4'), '0123456789');
  writeFileSync(folder.join('clips/gate/.partial-one.mp4'), 'half');
  writeFileSync(folder.join('clips/gate/picture.jpg'), 'astray');
  writeFileSync(folder.join('snapshots/gate/one.mp4'), 'astray');
  symlinkSync(folder.join('secret.jpg'), folder.join('snapshots/gate/link.jpg'));
  site = await startSite(
    detector,
    [
      { name: 'live', source: `rtsp://user:hunter2@127.0.0.1:${rtsp.port}/live` },
      { name: 'gate', framesPerSecond: 10 },
    ],
    { token: TOKEN, snapshots: folder.join('snapshots'), clips: folder.join('clips') },
  );
  while (
    !site.events.some((event) => event.kind === 'camera' && event.camera === 'live' && event.state === 'live')
  )
    await new Promise((resolve) => setTimeout(resolve, 50));
});
afterAll(async () => {
  await site?.stop();
  await rtsp?.close();
  await detector?.close();
  folder.remove();
});

const get = (path: string, init: RequestInit = {}) => fetch(new URL(path, site.url), init);
const put = (path: string, body: unknown, token: string | null = TOKEN) =>
  get(path, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe.skipIf(!ffmpegAvailable)(`the server of a site${ffmpegNote}`, () => {
  it('says how the cameras stand, without their addresses', async () => {
    const text = await (await get('/api/state')).text();
    const { cameras } = JSON.parse(text);
    expect(cameras.map(({ name }: { name: string }) => name)).toEqual(['live', 'gate']);
    expect(cameras[0]).toMatchObject({
      state: 'live',
      enabled: true,
      seen: { size: { width: 320, height: 192 } },
    });
    for (const path of ['/api/state', '/api/events', '/metrics', '/'])
      expect(await (await get(path)).text()).not.toMatch(/hunter2|a token/);
  });

  it('is healthy, and ready when every camera is live', async () => {
    expect((await get('/healthz')).status).toBe(200);
    const ready = await get('/readyz');
    const body = (await ready.json()) as { readonly cameras: object };
    // The clip has ended by now, or runs.
    if (ready.status === 503) expect(body.cameras).toEqual({ gate: 'ended' });
    else expect(body).toMatchObject({ status: 'ready', cameras: {} });
  });

  it('tells Prometheus of frames, states and laws', async () => {
    const text = await (await get('/metrics')).text();
    expect(text).toMatch(/edge_detect_frames_total\{camera="live"\} [1-9]/);
    expect(text).toContain('edge_detect_camera_state{camera="live",state="live"} 1');
    expect(text).toContain('edge_detect_camera_state{camera="live",state="failed"} 0');
    expect(text).toMatch(/edge_detect_stage_seconds_count\{stage="infer"\} [1-9]/);
    expect(text).toMatch(/edge_detect_frame_age_seconds_count\{camera="live"\} [1-9]/);
    expect(text).toMatch(
      /edge_detect_score_std_bucket\{le="0\.5",camera="gate",class="car",light="day"\} [1-9]/,
    );
  });

  it('changes thresholds and switches cameras for those with the token alone', async () => {
    const asked = [
      ['/api/cameras/live/thresholds', { car: 0.7 }],
      ['/api/cameras/live/enabled', { enabled: false }],
    ] as const;
    for (const [path, body] of asked) {
      expect((await put(path, body, null)).status).toBe(401);
      expect((await put(path, body, 'guess')).status).toBe(401);
    }
    const headers = {
      'content-type': 'application/json',
      cookie: `edge_detect_token=${encodeURIComponent(TOKEN)}`,
    };
    const change = (path: string, body: unknown) =>
      get(path, { method: 'PUT', headers, body: JSON.stringify(body) });
    const changed = await change('/api/cameras/live/thresholds', { car: 0.7 });
    expect(await changed.json()).toMatchObject({ base: 0.3, classes: { car: 0.7 } });
    expect(site.control.camera('live')?.thresholds.classes.get('car')).toBe(0.7);
    for (const body of [{}, { car: 1.5 }, { car: 'high' }, [0.5]])
      expect((await change('/api/cameras/live/thresholds', body)).status).toBe(400);
    expect((await change('/api/cameras/nobody/thresholds', { car: 0.5 })).status).toBe(404);
    expect((await change('/api/cameras/live/enabled', { enabled: 'no' })).status).toBe(400);
  });

  it('gives a link with the token as a cookie', async () => {
    const answer = await get(`/?token=${encodeURIComponent(TOKEN)}`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/']);
    expect(answer.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/);
    expect((await get('/?token=guess', { redirect: 'manual' })).headers.get('set-cookie')).toBeNull();
  });

  it('serves snapshots, and nothing beside them', async () => {
    expect(await (await get('/snapshots/gate/one.jpg')).text()).toBe('a picture');
    for (const path of [
      '/snapshots/gate/link.jpg',
      '/snapshots/../secret.jpg',
      '/snapshots/gate/..%2f..%2fsecret.jpg',
      '/snapshots/gate/%2e%2e/%2e%2e/secret.jpg',
      '/snapshots//etc/passwd',
      '/snapshots/gate',
    ])
      expect([path, await rawStatus(path)]).toEqual([path, 404]);
  });

  it('serves clips, whole or in part, and none that is half written', async () => {
    const clip = await get('/clips/gate/one.mp4');
    expect(clip.headers.get('content-type')).toBe('video/mp4');
    expect(await clip.text()).toBe('0123456789');
    const part = async (range: string) => {
      const answer = await get('/clips/gate/one.mp4', { headers: { range } });
      return [answer.status, answer.headers.get('content-range'), await answer.text()];
    };
    expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await part('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await part('bytes=0-99')).toEqual([206, 'bytes 0-9/10', '0123456789']);
    expect(await part('bytes=10-')).toEqual([416, 'bytes */10', '']);
    expect(await part('bytes=4-2')).toEqual([416, 'bytes */10', '']);
    expect(await part('bytes=0-1,4-5')).toEqual([200, null, '0123456789']);
    for (const path of [
      '/clips/gate/.partial-one.mp4',
      '/clips/../secret.jpg',
      '/clips/gate/..%2f..%2fsecret.jpg',
      '/clips/gate',
      '/clips/gate/picture.jpg',
      '/snapshots/gate/one.mp4',
    ])
      expect([path, await rawStatus(path)]).toEqual([path, 404]);
  });

  it('refuses bodies that are too large, other names of this machine, and unknown paths', async () => {
    expect((await put('/api/cameras/live/thresholds', 'x'.repeat(20_000), null)).status).toBe(413);
    expect(await rawStatus('/', 'evil.example')).toBe(403);
    expect((await get('/api/nothing')).status).toBe(404);
  });

  it('sends pictures to those who look, and none to more than it can serve', async () => {
    const looking = new AbortController();
    const answers = await Promise.all(
      Array.from({ length: 9 }, () => get('/cameras/live.mjpeg', { signal: looking.signal })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...new Array(8).fill(200), 503]);
    const [first] = answers;
    const reader = first?.body?.getReader();
    let seen = Buffer.alloc(0);
    while (seen.indexOf(Buffer.from([0xff, 0xd8])) < 0) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined) throw new Error('the stream ended');
      seen = Buffer.concat([seen, value]);
    }
    expect(seen.toString('latin1')).toContain('Content-Type: image/jpeg');
    looking.abort();
  });

  it('lives through a thousand connections that ask for nothing', { timeout: 30_000 }, async () => {
    const { port, hostname } = new URL(site.url);
    const sockets = Array.from({ length: 1000 }, () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      return socket;
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await get('/healthz')).status).toBe(200);
  });
});

/** As it stands: `fetch` would tidy the path up. */
function rawStatus(path: string, host = 'localhost'): Promise<number> {
  const { port, hostname } = new URL(site.url);
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path, headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .once('error', reject)
      .end();
  });
}
