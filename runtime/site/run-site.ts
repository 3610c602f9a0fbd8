// All cameras of a site in one process: one model, one loop a camera, and everything that is said goes to every sink.
import type { OpenDetector } from '../open-detector.ts';
import { type CameraContext, CameraRun, type CameraStatus } from './camera.ts';
import type { SiteEvent } from './events.ts';
import { shareDetector } from './shared-detector.ts';
import type { Site, SiteCamera } from './site.ts';

/** Where events go. A sink must not keep the cameras waiting: what it cannot take at once it keeps, within bounds. */
export interface SiteSink {
  accept(event: SiteEvent): void;
  /** Hands over what is still kept. Safe to call twice. */
  close(): Promise<void>;
}

/** What may be asked of a running site, by a page or a message. */
export interface SiteControl {
  readonly cameras: readonly CameraStatus[];
  /** Frames that wait for the model. */
  readonly waiting: number;
  /** @returns false where there is no such camera */
  setEnabled(camera: string, enabled: boolean): boolean;
  /** Takes thresholds, filters, zones, lines and classes of a camera of that name. @returns false where there is none */
  useCamera(camera: SiteCamera): boolean;
  camera(name: string): SiteCamera | undefined;
}

export interface RunSiteOptions extends Pick<CameraContext, 'source'> {
  readonly detector: OpenDetector;
  readonly sinks: readonly SiteSink[];
  readonly signal: AbortSignal;
  /** Every result of every camera; its frame's bytes are valid until it resolves. */
  readonly onResult?: (
    camera: string,
    ...result: Parameters<NonNullable<CameraContext['onResult']>>
  ) => Promise<void> | void;
  /** Told once, before the first frame. */
  readonly onStart?: (control: SiteControl) => void;
}

/**
 * Runs until the signal aborts, or every camera is a file that has ended. Sinks are closed in any case; the detector
 * stays open.
 */
export async function runSite(site: Site, options: RunSiteOptions): Promise<void> {
  const { detector, sinks, signal, onResult, source } = options;
  const shared = shareDetector(detector, detector.threshold);
  const onEvent = (event: SiteEvent) => {
    for (const sink of sinks) sink.accept(event);
  };
  const runs = new Map(
    site.cameras.map((camera) => {
      const context: CameraContext = {
        detector: shared.view(),
        onEvent,
        ...(source && { source }),
        ...(onResult && { onResult: (...result) => onResult(camera.name, ...result) }),
      };
      return [camera.name, new CameraRun(camera, context)];
    }),
  );
  options.onStart?.({
    get cameras() {
      return [...runs.values()].map(({ status }) => status);
    },
    get waiting() {
      return shared.waiting;
    },
    setEnabled(name, enabled) {
      runs.get(name)?.setEnabled(enabled);
      return runs.has(name);
    },
    useCamera(camera) {
      runs.get(camera.name)?.use(camera);
      return runs.has(camera.name);
    },
    camera: (name) => runs.get(name)?.camera,
  });
  await Promise.all([...runs.values()].map((run) => run.run(signal)));
  const closings = await Promise.allSettled(sinks.map((sink) => sink.close()));
  for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
}
