// A site of clips that runs while a test asks its server: real cameras' code, real detector, real HTTP.
import { fileURLToPath } from 'node:url';
import type { OpenDetector } from '#runtime';
import { createLiveView } from '../../runtime/server/live-view.ts';
import { createSiteMetrics } from '../../runtime/server/metrics.ts';
import { type OpenSiteServer, openSiteServer } from '../../runtime/server/site-server.ts';
import type { SiteEvent } from '../../runtime/site/events.ts';
import { runSite, type SiteControl } from '../../runtime/site/run-site.ts';
import type { SiteCamera, SiteServer } from '../../runtime/site/site.ts';

export const sample = (name: string) => fileURLToPath(new URL(`../../samples/${name}`, import.meta.url));

export const CLIP_CAMERA: SiteCamera = {
  name: 'gate',
  source: sample('clips/day.mp4'),
  enabled: true,
  thresholds: { base: 0.3, classes: new Map(), conditions: new Map() },
  filters: new Map(),
  zones: [{ name: 'street', region: Float64Array.of(0, 0, 1, 0, 1, 1, 0, 1), inertia: 1 }],
  lines: [],
  stallSeconds: 4,
  rtspTransport: 'tcp',
  light: 'auto',
  minFrames: 3,
  minMedianScore: 0,
};

export interface RunningSite {
  readonly url: string;
  readonly control: SiteControl;
  readonly events: readonly SiteEvent[];
  stop(): Promise<void>;
}

export async function startSite(
  detector: OpenDetector,
  cameras: readonly Partial<SiteCamera>[],
  server: Partial<SiteServer> & { readonly snapshots?: string; readonly clips?: string } = {},
): Promise<RunningSite> {
  const stop = new AbortController();
  const events: SiteEvent[] = [];
  const metrics = createSiteMetrics('0.0.0');
  const view = createLiveView();
  let started: ((control: SiteControl) => void) | undefined;
  const starting = new Promise<SiteControl>((resolve) => {
    started = resolve;
  });
  let open: OpenSiteServer | undefined;
  const running = runSite(
    {
      model: '',
      device: 'cpu',
      cameras: cameras.map((camera) => ({ ...CLIP_CAMERA, ...camera })),
    },
    {
      detector,
      signal: stop.signal,
      onStart: (control) => started?.(control),
      onResult(camera, result) {
        metrics.observe(camera, result);
        view.observe(camera, result);
      },
      sinks: [
        metrics,
        {
          accept(event) {
            events.push(event);
            open?.accept(event);
          },
          close: async () => undefined,
        },
      ],
    },
  );
  const control = await starting;
  metrics.watch(control);
  open = await openSiteServer({ host: '127.0.0.1', port: 0, ...server, control, metrics, view });
  return {
    url: open.url,
    control,
    events,
    async stop() {
      stop.abort();
      await running;
      await open?.close();
    },
  };
}
