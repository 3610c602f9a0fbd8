// What a site tells Prometheus: counters that only rise, states as 0 or 1, and laws as histograms.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DetectionResult } from '../detections.ts';
import type { CameraState } from '../site/events.ts';
import type { SiteControl, SiteSink } from '../site/run-site.ts';

export interface SiteMetrics extends SiteSink {
  /** Every result of every camera. */
  observe(camera: string, result: DetectionResult): void;
  /** The text that Prometheus reads, and its content type. */
  text(): Promise<{ readonly body: string; readonly contentType: string }>;
  /** Asked for counts when they are read. */
  watch(control: SiteControl): void;
}

const STATES: readonly CameraState[] = ['connecting', 'live', 'back-off', 'failed', 'ended', 'off'];
const TENTHS = Array.from({ length: 10 }, (_, index) => (index + 1) / 10);
/** Standard deviations of a score are at most .5. */
const TWENTIETHS = Array.from({ length: 10 }, (_, index) => (index + 1) / 20);
const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2];

/** @param version of this program, said as a label of `edge_detect_build_info` */
export function createSiteMetrics(version: string): SiteMetrics {
  return new Metrics(version);
}

class Metrics implements SiteMetrics {
  readonly #registry = new Registry();
  #control: SiteControl | undefined;
  readonly #stage = new Histogram({
    name: 'edge_detect_stage_seconds',
    help: 'Time of one frame in each stage',
    labelNames: ['stage'],
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #age = new Histogram({
    name: 'edge_detect_frame_age_seconds',
    help: 'From the arrival of a live frame to its result',
    labelNames: ['camera'],
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #score = new Histogram({
    name: 'edge_detect_score',
    help: 'Scores of the boxes of tracks',
    labelNames: ['camera', 'class', 'light'],
    buckets: TENTHS,
    registers: [this.#registry],
  });
  readonly #std = new Histogram({
    name: 'edge_detect_score_std',
    help: 'Standard deviations of those scores, where the model says them',
    labelNames: ['camera', 'class', 'light'],
    buckets: TWENTIETHS,
    registers: [this.#registry],
  });
  readonly #events = new Counter({
    name: 'edge_detect_events_total',
    help: 'Events by kind',
    labelNames: ['camera', 'kind'],
    registers: [this.#registry],
  });
  readonly #objects = new Gauge({
    name: 'edge_detect_objects',
    help: 'Objects that are there now, by place (camera or zone) and class',
    labelNames: ['camera', 'place', 'class'],
    registers: [this.#registry],
  });

  readonly #drift = new Gauge({
    name: 'edge_detect_drift',
    help: '1 while scores, or their standard deviations, have left what was learned; 0 since they came back',
    labelNames: ['camera', 'light', 'measure'],
    registers: [this.#registry],
  });

  constructor(version: string) {
    collectDefaultMetrics({ register: this.#registry });
    const info = new Gauge({
      name: 'edge_detect_build_info',
      help: '1, with the version as a label',
      labelNames: ['version'],
      registers: [this.#registry],
    });
    info.set({ version }, 1);
    this.#cameraNumbers();
  }

  watch(control: SiteControl): void {
    this.#control = control;
  }

  observe(camera: string, { timing, detections, frame, light = 'unknown' }: DetectionResult): void {
    this.#stage.observe({ stage: 'pre' }, timing.preMs / 1000);
    this.#stage.observe({ stage: 'infer' }, timing.inferMs / 1000);
    this.#stage.observe({ stage: 'post' }, timing.postMs / 1000);
    if (frame.capturedAtMs !== undefined)
      this.#age.observe({ camera }, Math.max(0, Date.now() - frame.capturedAtMs) / 1000);
    for (const { className, score, scoreVariance } of detections) {
      const labels = { camera, class: className, light };
      this.#score.observe(labels, score);
      if (scoreVariance !== undefined) this.#std.observe(labels, Math.sqrt(scoreVariance));
    }
  }

  accept(event: Parameters<SiteSink['accept']>[0]): void {
    this.#events.inc({ camera: event.camera, kind: event.kind });
    if (event.kind === 'drift') {
      const { camera, light = 'unknown', measure, state } = event;
      this.#drift.set({ camera, light, measure }, state === 'begins' ? 1 : 0);
    }
    if (event.kind !== 'count') return;
    const { camera, place, className } = event;
    this.#objects.set({ camera, place, class: className }, event.count);
  }

  async close(): Promise<void> {
    this.#registry.clear();
  }

  async text(): Promise<{ readonly body: string; readonly contentType: string }> {
    return { body: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  /** Read from the cameras when they are asked for: nothing has to be kept in step. */
  #cameraNumbers(): void {
    const cameras = () => this.#control?.cameras ?? [];
    const registers = [this.#registry];
    for (const [key, help] of [
      ['frames', 'Frames that were looked at'],
      ['dropped', 'Live frames that a newer one replaced'],
      ['skipped', 'Frames that the model did not see for want of motion'],
      ['reconnects', 'Connections made again'],
    ] as const) {
      new Counter({
        name: `edge_detect_${key}_total`,
        help,
        labelNames: ['camera'],
        registers,
        collect() {
          this.reset();
          for (const status of cameras()) this.inc({ camera: status.name }, status[key]);
        },
      });
    }
    new Gauge({
      name: 'edge_detect_camera_state',
      help: '1 for the state that a camera is in',
      labelNames: ['camera', 'state'],
      registers,
      collect() {
        for (const { name, state } of cameras())
          for (const one of STATES) this.set({ camera: name, state: one }, one === state ? 1 : 0);
      },
    });
    const waiting = () => this.#control?.waiting ?? 0;
    new Gauge({
      name: 'edge_detect_waiting_frames',
      help: 'Frames that wait for the model',
      registers,
      collect() {
        this.set(waiting());
      },
    });
  }
}
