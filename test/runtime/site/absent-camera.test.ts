// A camera that is away for days: what is wrong is said once, not at every try.
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenDetector, openDetector } from '#runtime';
import { ffmpegAvailable, ffmpegNote } from '../../support/ffmpeg-available.ts';
import { type RunningSite, sample, startSite } from '../../support/running-site.ts';
import { eventually } from './sinks/site-objects.ts';

let detector: OpenDetector;
let site: RunningSite;
let tries = 0;
const absent = createServer((socket) => {
  tries++;
  socket.destroy();
});

beforeAll(async () => {
  if (!ffmpegAvailable) return;
  await new Promise<void>((resolve) => absent.listen(0, '127.0.0.1', resolve));
  const { port } = absent.address() as { readonly port: number };
  detector = await openDetector(sample('model/edge-n-street.onnx'));
  site = await startSite(detector, [{ name: 'gate', source: `rtsp://127.0.0.1:${port}/live` }]);
});
afterAll(async () => {
  await site?.stop();
  await detector?.close();
  absent.close();
});

describe.skipIf(!ffmpegAvailable)(`a camera that is not there${ffmpegNote}`, () => {
  it('is tried again and again, and said to be away once', { timeout: 40_000 }, async () => {
    await eventually(() => tries >= 4, 30);
    const said = site.events.flatMap((event) =>
      event.kind === 'camera' ? [[event.state, event.reason]] : [],
    );
    const faults = said.filter(([state]) => state !== 'connecting');
    expect(faults.length).toBeGreaterThan(0);
    expect(new Set(faults.map(String)).size).toBe(faults.length);
    expect(site.control.cameras[0]?.reason).toBeDefined();
  });
});
