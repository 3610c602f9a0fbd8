// A client that takes nothing must not make the site grow, nor keep the others waiting.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { LiveView } from '../../../runtime/server/live-view.ts';
import { createSiteMetrics } from '../../../runtime/server/metrics.ts';
import { openSiteServer } from '../../../runtime/server/site-server.ts';
import type { SiteControl } from '../../../runtime/site/run-site.ts';
import { CLIP_CAMERA } from '../../support/running-site.ts';

/** 32 MB in a second: what the kernel keeps between two sockets is a few. */
const PICTURE = new Uint8Array(320_000);
const PICTURES = 100;

class Pictures implements LiveView {
  readonly frames = new Map();
  readonly #lookers = new Set<(jpeg: Uint8Array) => void>();
  observe(): void {}
  lookers(): number {
    return this.#lookers.size;
  }
  look(_camera: string, onPicture: (jpeg: Uint8Array) => void): () => void {
    this.#lookers.add(onPicture);
    return () => this.#lookers.delete(onPicture);
  }
  show(): void {
    for (const look of this.#lookers) look(PICTURE);
  }
}

const control: SiteControl = {
  cameras: [],
  waiting: 0,
  setEnabled: () => true,
  useCamera: () => true,
  camera: () => CLIP_CAMERA,
  apply: async () => undefined,
};

describe('a client that takes nothing', () => {
  it('misses pictures, within bounds, and the others get theirs', { timeout: 30_000 }, async () => {
    const view = new Pictures();
    const metrics = createSiteMetrics('0.0.0');
    const server = await openSiteServer({ host: '127.0.0.1', port: 0, control, metrics, view });
    const { port, host } = new URL(server.url);
    const look = () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`GET /cameras/gate.mjpeg HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return socket;
    };
    const [slow, quick] = [look(), look()];
    const received = { slow: 0, quick: 0 };
    quick.on('data', (chunk) => {
      received.quick += chunk.length;
    });
    while (view.lookers() < 2) await sleep(5);
    for (let picture = 0; picture < PICTURES; picture++) {
      view.show();
      await sleep(10);
    }
    const offered = PICTURES * PICTURE.length;
    while (received.quick < 0.9 * offered) await sleep(20);
    // What waited for the slow one comes now, and that is all there is.
    slow.on('data', (chunk) => {
      received.slow += chunk.length;
    });
    let before = -1;
    while (received.slow > before) {
      before = received.slow;
      await sleep(300);
    }
    expect(received.slow).toBeGreaterThan(PICTURE.length);
    expect(received.slow).toBeLessThan(offered / 2);
    const gone = once(slow, 'close');
    slow.destroy();
    await gone;
    quick.destroy();
    await server.close();
  });
});
