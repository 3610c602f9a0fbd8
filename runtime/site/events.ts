// What a site says while it runs: one union for every sink. Plain data, so that it can be written as JSON as it is.
import type { DriftFigures, DriftMeasure } from './drift/laws.ts';
import type { Corners } from './object-track.ts';

/** Why a person should look at an object. */
export type ReviewReason = 'std' | 'epistemic' | 'doubtful' | 'bimodal';

/** An object that is followed, as it stands. */
export interface SiteObject {
  /** Unique over cameras and restarts: `gate-1764624000000-17`. */
  readonly id: string;
  readonly camera: string;
  readonly className: string;
  /** Of the latest box. */
  readonly score: number;
  /** Standard deviation of that score; absent where the model cannot say. */
  readonly scoreStd?: number;
  /** Over the track, of its last 64 boxes. */
  readonly medianScore: number;
  readonly medianStd?: number;
  /** Greatest score so far. */
  readonly topScore: number;
  /** Corners in px of the frame. */
  readonly box: Corners;
  /** Standard deviation of each edge in px; absent where the model cannot say. */
  readonly boxSigma?: Corners;
  readonly startMs: number;
  readonly lastMs: number;
  /** Set when the track has ended. */
  readonly endMs?: number;
  readonly frames: number;
  /** Zones that it is in, and all that it has been in. */
  readonly zones: readonly string[];
  readonly enteredZones: readonly string[];
  /** State of the light, where it is followed. */
  readonly light?: string;
  readonly review: readonly ReviewReason[];
  /** File of its best picture, relative to the snapshot folder. */
  readonly snapshot?: string;
}

export type CameraState = 'connecting' | 'live' | 'back-off' | 'failed' | 'ended' | 'off';

interface EventBase {
  /** ms since 1970: of the frame that it belongs to, else of now. */
  readonly atMs: number;
  readonly camera: string;
}

export type SiteEvent =
  | (EventBase & {
      readonly kind: 'object';
      readonly type: 'new' | 'update' | 'end';
      /** As the event before said; absent with `new`. */
      readonly before?: SiteObject;
      readonly after: SiteObject;
    })
  | (EventBase & {
      readonly kind: 'zone';
      readonly type: 'entered' | 'left';
      readonly zone: string;
      readonly object: SiteObject;
    })
  | (EventBase & {
      readonly kind: 'line';
      readonly line: string;
      readonly direction: 'in' | 'out';
      readonly object: SiteObject;
    })
  /** Objects that are there now, by place (`camera` name or zone) and class. Said when a number changes. */
  | (EventBase & {
      readonly kind: 'count';
      readonly place: string;
      readonly className: string;
      readonly count: number;
    })
  | (EventBase & {
      readonly kind: 'camera';
      readonly state: CameraState;
      readonly before?: CameraState;
      readonly reason?: string;
    })
  | (EventBase & {
      readonly kind: 'light';
      readonly state: string;
      readonly before?: string;
      readonly value: number;
    })
  /** Scores, or their standard deviations, have left what was learned of that camera in that light; or come back. */
  | (EventBase &
      DriftFigures & {
        readonly kind: 'drift';
        readonly state: 'begins' | 'ends';
        readonly light?: string;
        readonly measure: DriftMeasure;
      })
  /** A clip of one object or several is there. */
  | (EventBase & {
      readonly kind: 'clip';
      /** Relative to the folder of clips. */
      readonly file: string;
      /** What it shows, ms since 1970. */
      readonly startMs: number;
      readonly endMs: number;
      /** Ids of the objects. */
      readonly objects: readonly string[];
    })
  | (EventBase & { readonly kind: 'notice'; readonly message: string });
