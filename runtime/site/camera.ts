// One camera of a site: connects, detects, follows objects, and begins again after every fault, whatever the others do.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, LIGHT_LADDER } from '#core';
import type { DetectionResult } from '../detections.ts';
import { detections } from '../detections.ts';
import type { Detector } from '../detector.ts';
import { fileUrl, redactCredentials } from '../ffmpeg/index.ts';
import type { LightOptions } from '../light.ts';
import { type OpenSourceOptions, openSource } from '../sources/open.ts';
import { isVideoAddress } from '../sources/open-video.ts';
import type { FrameSource, SourceEvent, SourceStats } from '../sources/source.ts';
import { followSun } from '../sun-light.ts';
import { TRACKER_DEFAULTS } from '../tracker/index.ts';
import { CameraClips } from './clips/camera-clips.ts';
import type { ClipFolder } from './clips/clip-folder.ts';
import type { CameraState, SiteEvent, SiteObject } from './events.ts';
import { gateByMotion } from './motion/motion-gate.ts';
import { createObjectEvents, type ObjectEvents } from './object-events.ts';
import { paceSource } from './paced-source.ts';
import type { SiteCamera } from './site.ts';
import type { ThinnedSource } from './thinned-source.ts';
import { leastScore, lowestScore } from './thresholds.ts';

/** How a camera stands. Plain data. */
export interface CameraStatus {
  readonly name: string;
  readonly state: CameraState;
  /** Of the last fault, without credentials; absent while all is well. */
  readonly reason?: string;
  readonly enabled: boolean;
  /** ms since 1970 of the last result. */
  readonly lastFrameMs?: number;
  /** From arrival to result, of the last frame; absent for files. */
  readonly frameAgeMs?: number;
  readonly light?: string;
  /** Since the start, over all connections. */
  readonly frames: number;
  readonly dropped: number;
  /** Frames that the model did not see for want of motion. */
  readonly skipped: number;
  readonly reconnects: number;
  readonly objects: readonly SiteObject[];
}

export interface CameraContext {
  readonly detector: Detector;
  readonly onEvent: (event: SiteEvent) => void;
  /** Every result with what was said of its objects; the frame's bytes are valid until it resolves. */
  readonly onResult?: (result: DetectionResult, objects: ObjectEvents) => Promise<void> | void;
  readonly source?: Pick<OpenSourceOptions, 'ffmpeg'>;
  /** Where clips of its objects go. */
  readonly clips?: ClipFolder;
}

/**
 * Until a camera that cannot be opened is tried again, from the first try to all after the second. Looking for a device
 * or a file costs next to nothing, and one that is back is to be seen within 3 s.
 */
const RETRY_SECONDS = [1, 2] as const;
const UPDATE_SECONDS = 10;

export class CameraRun {
  readonly name: string;
  #camera: SiteCamera;
  readonly #context: CameraContext;
  readonly #objects: ObjectEvents;
  readonly #clips: CameraClips | undefined;
  #state: CameraState = 'connecting';
  #said: CameraState | undefined;
  #saidReason: string | undefined;
  #reason: string | undefined;
  #enabled: boolean;
  #changed = new AbortController();
  /** `sureScore` of the tracker at work; 0 without one. */
  #openedScore = 0;
  #past: SourceStats = { frames: 0, dropped: 0, reconnects: 0, damaged: 0 };
  #source: ThinnedSource | undefined;
  #pastSkipped = 0;
  #last: { readonly atMs: number; readonly ageMs?: number; readonly light?: string } | undefined;

  constructor(camera: SiteCamera, context: CameraContext) {
    this.name = camera.name;
    this.#camera = camera;
    this.#enabled = camera.enabled;
    this.#context = context;
    this.#objects = createObjectEvents({
      camera: camera.name,
      rules: camera,
      endSeconds: TRACKER_DEFAULTS.bufferSeconds,
      updateSeconds: UPDATE_SECONDS,
    });
    const { clips: folder, onEvent } = context;
    this.#clips = folder && new CameraClips({ camera: camera.name, folder, onEvent });
  }

  get camera(): SiteCamera {
    return this.#camera;
  }

  get status(): CameraStatus {
    const now = this.#source?.stats();
    const sum = (key: keyof SourceStats) => this.#past[key] + (now?.[key] ?? 0);
    const last = this.#last;
    return {
      name: this.name,
      state: this.#state,
      enabled: this.#enabled,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(last && { lastFrameMs: last.atMs }),
      ...(last?.ageMs !== undefined && { frameAgeMs: last.ageMs }),
      ...(last?.light !== undefined && { light: last.light }),
      frames: sum('frames'),
      dropped: sum('dropped'),
      skipped: this.#pastSkipped + (this.#source?.skipped ?? 0),
      reconnects: sum('reconnects'),
      objects: this.#objects.objects,
    };
  }

  /**
   * Takes rules that need no new connection: they act from the next frame on. Only a threshold below all that the
   * tracker was opened with, and another way to tell the light, let it begin anew.
   */
  use(camera: SiteCamera): void {
    const before = this.#camera;
    this.#camera = camera;
    this.#objects.useRules(camera);
    if (sureScore(camera) < this.#openedScore) this.#begin('lower thresholds');
    else if (!isDeepStrictEqual(lightRuleOf(before), lightRuleOf(camera))) this.#begin('another light');
  }

  /** Switches the camera off or on: off, its process ends and its objects go. */
  setEnabled(enabled: boolean): void {
    if (enabled === this.#enabled) return;
    this.#enabled = enabled;
    this.#begin('switched');
  }

  #begin(why: string): void {
    this.#openedScore = 0;
    this.#changed.abort(new Error(why));
    this.#changed = new AbortController();
  }

  /** Runs until the signal aborts, or a file has ended. Never throws: every fault is said, and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const changed = this.#changed.signal;
      const until = AbortSignal.any([signal, changed]);
      if (!this.#enabled) {
        this.#enter('off');
        await aborted(until);
        continue;
      }
      this.#enter('connecting');
      try {
        await this.#connect(until, () => {
          failures = 0;
        });
        this.#enter('ended');
        this.#sayAll(this.#objects.end(Date.now()));
        return;
      } catch (error) {
        this.#sayAll(this.#objects.end(Date.now()));
        if (until.aborted) continue;
        this.#enter('failed', redactCredentials(error instanceof Error ? error.message : String(error)));
        const [first, longest] = RETRY_SECONDS;
        const seconds = Math.min(longest, first * 2 ** failures++);
        await sleep(1000 * seconds, undefined, { signal: until }).catch(() => undefined);
      }
    }
    this.#enter('off');
  }

  async #connect(signal: AbortSignal, onLive: () => void): Promise<void> {
    const { source: spec, framesPerSecond, stallSeconds, rtspTransport } = this.#camera;
    const copy = this.#clips?.copy;
    const options = { ...this.#context.source, ...(copy && { copy }), stallSeconds, rtspTransport };
    const opened = await openSource(spec, options);
    const paced = framesPerSecond === undefined ? opened : paceSource(opened, framesPerSecond);
    const source = gateByMotion(paced, {
      rule: () => this.#camera.motion,
      isFollowing: () => this.#objects.following,
    });
    this.#source = source;
    const startMs = Date.now();
    const input = { url: isVideoAddress(spec) ? spec : fileUrl(spec) };
    this.#clips?.useFile(opened.kind === 'video' ? { input, zeroMs: startMs } : undefined);
    const sure = sureScore(this.#camera);
    this.#openedScore = sure;
    const doubtful = Math.min(TRACKER_DEFAULTS.lowThreshold, sure / 2);
    const { detector } = this.#context;
    const following = await followLightOf(this.#camera, opened);
    detector.useThreshold({ kind: 'fixed', base: doubtful });
    let connection: number | undefined;
    try {
      for await (const result of detections({
        source,
        detector,
        signal,
        track: { highThreshold: sure, newThreshold: sure, lowThreshold: doubtful },
        ...(following && { light: following }),
        onEvent: (event) => this.#hear(event),
      })) {
        const { frame } = result;
        const atMs = Math.round(frame.capturedAtMs ?? startMs + 1000 * (frame.ptsSeconds ?? 0));
        // Track ids go on after a break, and the objects before it are not those after it.
        if (connection !== undefined && frame.connection !== connection)
          this.#sayAll(this.#objects.end(atMs));
        connection = frame.connection;
        if (this.#state !== 'live') this.#enter('live');
        onLive();
        await this.#take(result, atMs);
      }
    } finally {
      this.#clips?.end();
      this.#past = addStats(this.#past, source.stats());
      this.#pastSkipped += source.skipped;
      this.#source = undefined;
    }
  }

  async #take(result: DetectionResult, atMs: number): Promise<void> {
    const { frame, size, detections: found, light } = result;
    const { thresholds } = this.#camera;
    const events = this.#objects.see({
      detections: found,
      size,
      atMs,
      least: (className) => leastScore(thresholds, className, light),
      ...(light !== undefined && { light }),
    });
    const ageMs =
      frame.capturedAtMs === undefined ? undefined : Math.max(0, Math.round(Date.now() - frame.capturedAtMs));
    this.#last = { atMs, ...(ageMs !== undefined && { ageMs }), ...(light !== undefined && { light }) };
    this.#sayAll(events);
    this.#clips?.see(atMs, events);
    await this.#context.onResult?.(result, this.#objects);
  }

  #hear(event: SourceEvent): void {
    const base = { atMs: Date.now(), camera: this.name };
    switch (event.kind) {
      case 'open':
      case 'resumed':
        return; // a frame makes it live
      case 'lost':
        this.#clips?.end();
        this.#enter('back-off', event.reason);
        return;
      case 'light':
        this.#context.onEvent({
          kind: 'light',
          ...base,
          state: event.state,
          value: event.value,
          ...(event.before !== undefined && { before: event.before }),
        });
        return;
      case 'damaged':
        this.#context.onEvent({ kind: 'notice', ...base, message: event.reason });
        return;
      case 'notice':
        this.#context.onEvent({ kind: 'notice', ...base, message: event.message });
        return;
      default:
        event satisfies never;
    }
  }

  #enter(state: CameraState, reason?: string): void {
    const before = this.#said;
    this.#state = state;
    this.#reason = reason;
    // A camera that is away for days would say so at every try.
    if (state === before && (reason === undefined || reason === this.#saidReason)) return;
    this.#said = state;
    this.#saidReason = reason;
    this.#context.onEvent({
      kind: 'camera',
      atMs: Date.now(),
      camera: this.name,
      state,
      ...(before !== undefined && { before }),
      ...(reason !== undefined && { reason }),
    });
  }

  #sayAll(events: readonly SiteEvent[]): void {
    for (const event of events) this.#context.onEvent(event);
  }
}

function lightRuleOf({ light, thresholds: { ladder } }: SiteCamera): object {
  return { light, ladder };
}

/** The ladder of the thresholds where they bring one, else that of what tells the light. */
async function followLightOf(
  { light, thresholds: { ladder } }: SiteCamera,
  { kind, name }: FrameSource,
): Promise<LightOptions | undefined> {
  if (light === undefined) return undefined;
  if (light === 'auto') return { ladder: ladder ?? LIGHT_LADDER };
  if (kind !== 'live' && light.startMs === undefined) {
    throw new ConfigError(`${name} is a clip, and light: sun needs to know when it was taken`, {
      hint: 'write start_time: 2021-03-20T18:30:00+08:00 into its camera, or light: auto',
    });
  }
  if (kind === 'live' && light.startMs !== undefined) {
    throw new ConfigError(`${name} is a camera, whose frames are of now: start_time has no effect`, {
      hint: 'remove start_time from its camera',
    });
  }
  const sun = await followSun(light);
  return { ...sun, ...(ladder !== undefined && { ladder }) };
}

/** Score from which a box begins a track: every threshold of the camera can still be met. */
function sureScore({ thresholds }: SiteCamera): number {
  return Math.min(TRACKER_DEFAULTS.newThreshold, lowestScore(thresholds));
}

function addStats(a: SourceStats, b: SourceStats): SourceStats {
  return {
    frames: a.frames + b.frames,
    dropped: a.dropped + b.dropped,
    reconnects: a.reconnects + b.reconnects,
    damaged: a.damaged + b.damaged,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
