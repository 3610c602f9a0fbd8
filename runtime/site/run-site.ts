// All cameras of a site in one process: one model, one loop a camera, and everything that is said goes to every sink.
import type { OpenDetector } from '../open-detector.ts';
import { type CameraContext, CameraRun, type CameraStatus } from './camera.ts';
import type { SiteChange } from './diff-site.ts';
import type { SiteEvent } from './events.ts';
import { type SharedDetector, shareDetector } from './shared-detector.ts';
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
  /** Takes over a changed site file; what needs a new process is left as it is. */
  apply(changes: readonly SiteChange[]): Promise<void>;
}

export interface RunSiteOptions extends Pick<CameraContext, 'source' | 'clips'> {
  readonly detector: OpenDetector;
  readonly sinks: readonly SiteSink[];
  readonly signal: AbortSignal;
  /** Every result of every camera; its frame's bytes are valid until it resolves. */
  readonly onResult?: (
    camera: string,
    ...result: Parameters<NonNullable<CameraContext['onResult']>>
  ) => Promise<void> | void;
  /** Called once, before the first frame; the cameras start when it is done. */
  readonly onStart?: (control: SiteControl) => Promise<void> | void;
}

/**
 * Runs until the signal aborts, or every camera is a file that has ended. Sinks are closed in any case; the detector
 * stays open.
 */
export async function runSite(site: Site, options: RunSiteOptions): Promise<void> {
  const running = new RunningSite(options);
  try {
    await options.onStart?.(running);
    for (const camera of site.cameras) running.add(camera);
    await running.ended();
  } catch (error) {
    await running.stop().catch(() => undefined);
    await options.clips?.close();
    await closeAll(options.sinks).catch(() => undefined); // the first error is the one to report
    throw error;
  }
  await running.stop();
  // The last clips are told, too.
  await options.clips?.close();
  await closeAll(options.sinks);
}

async function closeAll(sinks: readonly SiteSink[]): Promise<void> {
  const closings = await Promise.allSettled(sinks.map((sink) => sink.close()));
  for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
}

interface Running {
  readonly run: CameraRun;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

class RunningSite implements SiteControl {
  readonly #options: RunSiteOptions;
  readonly #shared: SharedDetector;
  readonly #running = new Map<string, Running>();
  #added = 0;

  constructor(options: RunSiteOptions) {
    this.#options = options;
    this.#shared = shareDetector(options.detector, options.detector.threshold);
  }

  get cameras(): readonly CameraStatus[] {
    return [...this.#running.values()].map(({ run }) => run.status);
  }

  get waiting(): number {
    return this.#shared.waiting;
  }

  camera(name: string): SiteCamera | undefined {
    return this.#running.get(name)?.run.camera;
  }

  setEnabled(name: string, enabled: boolean): boolean {
    this.#running.get(name)?.run.setEnabled(enabled);
    return this.#running.has(name);
  }

  useCamera(camera: SiteCamera): boolean {
    this.#running.get(camera.name)?.run.use(camera);
    return this.#running.has(camera.name);
  }

  async apply(changes: readonly SiteChange[]): Promise<void> {
    for (const change of changes) {
      if (change.kind === 'camera-removed') await this.#remove(change.name);
      else if (change.kind === 'camera-added') this.add(change.camera);
      else if (change.kind === 'camera-restart') {
        await this.#remove(change.camera.name);
        this.add(change.camera);
      } else if (change.kind === 'camera-live') {
        this.useCamera(change.camera);
        this.setEnabled(change.camera.name, change.camera.enabled);
      }
    }
  }

  add(camera: SiteCamera): void {
    const { signal, sinks, onResult, source, clips } = this.#options;
    const stopping = new AbortController();
    const run = new CameraRun(camera, {
      detector: this.#shared.view(),
      onEvent: (event) => {
        for (const sink of sinks) sink.accept(event);
      },
      ...(source && { source }),
      ...(clips && { clips }),
      ...(onResult && { onResult: (...result) => onResult(camera.name, ...result) }),
    });
    const ended = run.run(AbortSignal.any([signal, stopping.signal]));
    this.#running.set(camera.name, { run, stopping, ended });
    this.#added++;
  }

  async #remove(name: string): Promise<void> {
    const found = this.#running.get(name);
    found?.stopping.abort(new Error('the camera was taken out of the site'));
    await found?.ended;
    this.#running.delete(name);
  }

  /** Cameras may come and go meanwhile. */
  async ended(): Promise<void> {
    for (let waited = -1; waited !== this.#added; ) {
      waited = this.#added;
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    }
  }

  async stop(): Promise<void> {
    for (const { stopping } of this.#running.values()) stopping.abort(new Error('the site ends'));
    await this.ended();
  }
}
