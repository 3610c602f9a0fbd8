// What is said of objects: Frigate's field names where it has them, ours beside them.
import { toDecimals } from '../../../decimals.ts';
import type { CameraStatus } from '../../camera.ts';
import type { SiteEvent, SiteObject } from '../../events.ts';
import type { MessageControl } from './commands.ts';

type ObjectEvent = Extract<SiteEvent, { readonly kind: 'object' }>;
type ClipEvent = Extract<SiteEvent, { readonly kind: 'clip' }>;
type DriftEvent = Extract<SiteEvent, { readonly kind: 'drift' }>;

/**
 * Times in seconds since 1970, boxes in whole px of the frame.
 * @param keepsClips of every object there is a clip, or there will be: `<camera>/clip` says when
 */
export function objectForm(object: SiteObject, keepsClips: boolean): Readonly<Record<string, unknown>> {
  const { x1, y1, x2, y2 } = object.box;
  const { boxSigma } = object;
  return {
    id: object.id,
    camera: object.camera,
    frame_time: object.lastMs / 1000,
    label: object.className,
    score: toDecimals(object.score, 4),
    top_score: toDecimals(object.topScore, 4),
    box: [x1, y1, x2, y2].map(Math.round),
    area: Math.round((x2 - x1) * (y2 - y1)),
    current_zones: object.zones,
    entered_zones: object.enteredZones,
    start_time: object.startMs / 1000,
    end_time: object.endMs === undefined ? null : object.endMs / 1000,
    has_snapshot: object.snapshot !== undefined,
    has_clip: keepsClips,
    frames: object.frames,
    score_std: orNull(object.scoreStd),
    median_score: toDecimals(object.medianScore, 4),
    median_std: orNull(object.medianStd),
    box_sigma: boxSigma
      ? [boxSigma.x1, boxSigma.y1, boxSigma.x2, boxSigma.y2].map((value) => toDecimals(value, 4))
      : null,
    light: object.light ?? null,
    review: object.review,
    snapshot: object.snapshot ?? null,
  };
}

/** `before` of a new object is what it is now: listeners of Frigate's events read both without asking. */
export function eventForm(
  { type, before, after }: ObjectEvent,
  keepsClips: boolean,
): Readonly<Record<string, unknown>> {
  return { type, before: objectForm(before ?? after, keepsClips), after: objectForm(after, keepsClips) };
}

export function driftForm(event: DriftEvent): Readonly<Record<string, unknown>> {
  const { camera, atMs, state, measure, light, change, tracks } = event;
  return {
    state,
    camera,
    time: atMs / 1000,
    light: light ?? null,
    measure,
    change,
    psi: event.psi,
    psi_expected: event.psiExpected,
    w1: event.w1,
    w1_expected: event.w1Expected,
    tracks,
  };
}

export function clipForm(event: ClipEvent): Readonly<Record<string, unknown>> {
  const { camera, file, startMs, endMs, objects } = event;
  return { camera, file, start_time: startMs / 1000, end_time: endMs / 1000, objects };
}

export function statsForm(
  control: MessageControl,
  startMs: number,
  lost: number,
): Readonly<Record<string, unknown>> {
  return {
    uptime_s: Math.round((Date.now() - startMs) / 1000),
    frames_waiting: control.waiting,
    events_lost: lost,
    cameras: Object.fromEntries(control.cameras.map((status) => [status.name, cameraForm(status)])),
  };
}

function cameraForm(status: CameraStatus): Readonly<Record<string, unknown>> {
  const { lastFrameMs, frameAgeMs } = status;
  return {
    state: status.state,
    reason: status.reason ?? null,
    enabled: status.enabled,
    frames: status.frames,
    dropped: status.dropped,
    skipped: status.skipped,
    reconnects: status.reconnects,
    /** From arrival to result, of the last frame. */
    frame_age_ms: frameAgeMs === undefined ? null : Math.round(frameAgeMs),
    last_frame_time: lastFrameMs === undefined ? null : lastFrameMs / 1000,
    light: status.light ?? null,
    objects: status.objects.length,
  };
}

function orNull(value: number | undefined): number | null {
  return value === undefined ? null : toDecimals(value, 4);
}
