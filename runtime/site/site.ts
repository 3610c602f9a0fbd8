// A site as its file describes it, after every default has been filled in: what `readSite` gives and `runSite` takes.
import type { LightLadder, MotionRule, Region, SuppressionSetting } from '#core';

/** Thresholds of one camera: least scores by class, per light state where they are given. */
export interface SiteThresholds {
  /** Least score in [0, 1] of classes that `classes` does not name. */
  readonly base: number;
  readonly classes: ReadonlyMap<string, number>;
  /**
   * Light state → class (`*` for the others, always there) → least score: a whole table, which stands in the place of
   * `base` and `classes`. Empty: the light changes nothing.
   */
  readonly conditions: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The states of `conditions` and where they end, where a thresholds file brings them; else `LIGHT_LADDER`. */
  readonly ladder?: LightLadder;
}

/** What an object must be to be reported. Areas are shares of the picture in [0, 1], ratios width : height. */
export interface ClassFilter {
  readonly minArea: number;
  readonly maxArea: number;
  readonly minRatio: number;
  readonly maxRatio: number;
  /** Objects whose foot point (middle of the lower edge) lies in one of these are left out. */
  readonly masks: readonly Region[];
}

export interface Zone {
  readonly name: string;
  readonly region: Region;
  /** Classes that count here; undefined: all. */
  readonly classes?: ReadonlySet<string>;
  /** Frames in a row that a foot point must lie inside before the zone counts as entered, or outside as left. */
  readonly inertia: number;
}

/** A line from `from` to `to`, in shares of the picture. Crossing it left to right, seen along it, is `in`. */
export interface CountLine {
  readonly name: string;
  readonly from: readonly [x: number, y: number];
  readonly to: readonly [x: number, y: number];
  readonly classes?: ReadonlySet<string>;
}

/** When a person should look: any bound that is exceeded marks the object. */
export interface ReviewRule {
  /** Standard deviation of the score. */
  readonly maxStd?: number;
  /** Standard deviation of the epistemic part alone. */
  readonly maxEpistemicStd?: number;
  /** Scores between these two are doubtful. */
  readonly doubtful?: readonly [low: number, high: number];
  /** The model hesitates between two scores. */
  readonly bimodal?: true;
  /** Folder of the YOLO set that marked pictures and labels go to; undefined: marked in events only. */
  readonly folder?: string;
  /** Most pictures a camera adds in an hour. */
  readonly perHour: number;
}

/** When frames go to the model: where something moves, and now and then in any case. */
export interface SiteMotion extends MotionRule {
  /** Seconds after which a frame is looked at without motion. */
  readonly detectEverySeconds: number;
}

/** The light by the height of the sun over a place, in degrees. */
export interface SiteSun {
  readonly kind: 'sun';
  readonly latitude: number;
  readonly longitude: number;
  /** ms since 1970 at time 0 of a clip; undefined: its frames are of now. */
  readonly startMs?: number;
}

export interface SiteCamera {
  /** Letters, digits, `_` and `-`: it is part of topics, paths and labels. */
  readonly name: string;
  readonly source: string;
  readonly enabled: boolean;
  /** Pictures per second that are looked at; undefined: as many as come. */
  readonly framesPerSecond?: number;
  /** Undefined: every frame goes to the model. */
  readonly motion?: SiteMotion;
  /** Classes that are reported; undefined: all. */
  readonly classes?: ReadonlySet<string>;
  readonly thresholds: SiteThresholds;
  /** By class; `*` for the others. */
  readonly filters: ReadonlyMap<string, ClassFilter>;
  readonly zones: readonly Zone[];
  readonly lines: readonly CountLine[];
  readonly review?: ReviewRule;
  /** Seconds without a picture that count as a break. */
  readonly stallSeconds: number;
  readonly rtspTransport: 'tcp' | 'udp';
  /** How the light is told; undefined: it is not. */
  readonly light?: 'auto' | SiteSun;
  /** Frames that a track needs before it is an event. */
  readonly minFrames: number;
  /** Median score over the track that makes it an event; least scores only let boxes in. */
  readonly minMedianScore: number;
}

export interface SiteMqtt {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly topicPrefix: string;
  readonly clientId: string;
  readonly homeAssistant?: { readonly prefix: string };
}

export interface SiteServer {
  readonly host: string;
  readonly port: number;
  /** Asked for by everything but health off the loopback, and by every change. */
  readonly token?: string;
}

export interface SiteEventsFile {
  readonly path: string;
  readonly maxBytes: number;
  /** Older files that are kept. */
  readonly keep: number;
}

export interface SiteSnapshots {
  readonly folder: string;
  readonly days: number;
}

/** Clips of objects. Seconds are of the stream. */
export interface SiteClips {
  readonly folder: string;
  /** Before an object comes, and after it has gone. */
  readonly pre: number;
  readonly post: number;
  /** No clip is longer. */
  readonly longest: number;
  readonly days: number;
  /** Of all clips; the oldest go first. */
  readonly maxBytes: number;
}

/** Watches whether scores leave what was learned. Hours are those in a light, tracks those of a camera in it. */
export interface SiteDrift {
  /** JSON file of what was learned. */
  readonly path: string;
  /** Both must be reached before a reference is frozen. */
  readonly learnHours: number;
  readonly learnTracks: number;
  /** Both must be reached before a window is compared with it. */
  readonly windowHours: number;
  readonly windowTracks: number;
}

export interface Site {
  /** Path of the ONNX file. */
  readonly model: string;
  readonly device: string;
  readonly sessions?: number;
  readonly threads?: number;
  readonly iou?: number;
  /** What the thresholds of a thresholds file were chosen with; then `iou` is absent. */
  readonly suppression?: SuppressionSetting;
  readonly cameras: readonly SiteCamera[];
  readonly mqtt?: SiteMqtt;
  readonly server?: SiteServer;
  readonly events?: SiteEventsFile;
  readonly snapshots?: SiteSnapshots;
  readonly clips?: SiteClips;
  readonly drift?: SiteDrift;
  readonly webhook?: { readonly url: string; readonly timeoutSeconds: number };
}
