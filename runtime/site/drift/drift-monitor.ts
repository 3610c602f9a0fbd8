// Says when the scores of a camera, or how sure they are, leave what was learned in that light: dirt, fog, a moved
// camera, a model that meets what it was not made for.
import { createHash } from 'node:crypto';
import type { DetectionResult } from '../../detections.ts';
import { writeWholeFile } from '../../sinks/whole-file.ts';
import type { SiteEvent } from '../events.ts';
import type { ObjectEvents } from '../object-events.ts';
import { type ResultObserver, seenObjects } from '../sinks/object-pictures.ts';
import type { SiteCamera, SiteDrift } from '../site.ts';
import { OpenTracks } from './open-tracks.ts';
import { formatReferences, readReferences, type StoredLaw } from './reference-file.ts';
import { type DriftChange, DriftSeries } from './series.ts';

export interface DriftMonitorOptions extends SiteDrift {
  readonly modelSha256: string;
  readonly onEvent: (event: SiteEvent) => void;
  /** Told of what an operator should know: a disk that takes no reference. Once per fault. */
  readonly onNotice: (message: string) => void;
}

export interface DriftMonitor extends ResultObserver {
  /** Asked for the rules of cameras, which may change. */
  watch(control: { camera(name: string): SiteCamera | undefined }): void;
}

/** A longer pause (a broken camera, a clip that begins anew) counts as no more time in the light than this. */
const LONGEST_STEP_SECONDS = 600;
const SAVE_HOURS = 1;

/**
 * For every camera and state of the light: learns from the first hours and tracks, freezes that in the file of `path`,
 * and compares every further window with it. Two windows in a row outside begin an alarm, two inside end it.
 * A restart keeps what was learned, also half of it, and begins the window and its count anew.
 *
 * Only objects that pass the thresholds are seen: those that a drift takes away altogether lack in the counts, and the
 * scores of the rest may stay as they were.
 * @throws ConfigError where the file is faulty or was learned with another model
 */
export function createDriftMonitor(options: DriftMonitorOptions): DriftMonitor {
  return new Monitor(options, readReferences(options.path, options.modelSha256));
}

interface Watched {
  readonly camera: string;
  readonly light: string | undefined;
  readonly rules: string;
  readonly series: DriftSeries;
  readonly open: OpenTracks;
}

interface Seen {
  /** Wall clock where a clip's own time is 0. */
  zeroMs: number;
  lastMs: number | undefined;
  light: string | undefined;
  /** The rules as they were last looked at, and their digest by light. */
  camera: SiteCamera | undefined;
  readonly rules: Map<string, string>;
}

class Monitor implements DriftMonitor {
  readonly #options: DriftMonitorOptions;
  /** Stored for cameras and lights that have not been seen yet. */
  readonly #stored = new Map<string, StoredLaw>();
  readonly #watched = new Map<string, Watched>();
  readonly #seen = new Map<string, Seen>();
  #control: Parameters<DriftMonitor['watch']>[0] | undefined;
  #unsavedHours = 0;
  #saving: Promise<void> = Promise.resolve();
  #isFaulty = false;
  #isClosed = false;

  constructor(options: DriftMonitorOptions, stored: readonly StoredLaw[]) {
    this.#options = options;
    for (const law of stored) this.#stored.set(keyOf(law.camera, law.light), law);
  }

  watch(control: Parameters<DriftMonitor['watch']>[0]): void {
    this.#control = control;
  }

  observe(camera: string, result: DetectionResult, objects: ObjectEvents): void {
    const rules = this.#control?.camera(camera);
    if (rules === undefined || this.#isClosed) return;
    const seen = this.#seenOf(camera);
    const { atMs, seconds } = advance(seen, result);
    // Tracks that are open when the light changes are halves of two laws: each half counts where it was seen.
    if (seen.light !== result.light) this.#leave(camera, seen.light);
    seen.light = result.light;
    const watched = this.#watchedOf(rules, result.light, seen, atMs);
    const { series, open } = watched;
    const present = new Set(objects.objects.map(({ id }) => id));
    for (const track of open.see(seenObjects(result, objects), present, atMs)) series.add(track);
    series.pass(seconds);
    this.#unsavedHours += series.learned.isLearned ? 0 : seconds / 3600;
    if (series.isFull) this.#turn(watched, atMs);
    if (this.#unsavedHours >= SAVE_HOURS) this.#save();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return this.#saving;
    this.#isClosed = true;
    for (const { series, open } of this.#watched.values())
      for (const track of open.takeAll()) series.add(track);
    this.#save();
    await this.#saving;
  }

  #turn(watched: Watched, atMs: number): void {
    const { camera, light, series, open } = watched;
    const wasLearned = series.learned.isLearned;
    // What stands there for days would never be in any window.
    for (const track of open.takeAll()) series.add(track);
    this.#say(watched, series.turn(), atMs);
    if (wasLearned) return;
    const { tracks } = series.learned;
    const message = `scores${light === undefined ? '' : ` by ${light}`} are learned from ${tracks.length} tracks; drift is watched from now on`;
    this.#options.onEvent({ kind: 'notice', atMs, camera, message });
    this.#save();
  }

  #leave(camera: string, light: string | undefined): void {
    const before = this.#watched.get(keyOf(camera, light));
    if (before !== undefined) for (const track of before.open.takeAll()) before.series.add(track);
  }

  #seenOf(camera: string): Seen {
    const seen = this.#seen.get(camera) ?? {
      zeroMs: Date.now(),
      lastMs: undefined,
      light: undefined,
      camera: undefined,
      rules: new Map<string, string>(),
    };
    this.#seen.set(camera, seen);
    return seen;
  }

  #watchedOf(camera: SiteCamera, light: string | undefined, seen: Seen, atMs: number): Watched {
    const key = keyOf(camera.name, light);
    const rules = rulesOf(camera, light, seen);
    const before = this.#watched.get(key);
    if (before?.rules === rules) return before;
    const stored = this.#stored.get(key);
    this.#stored.delete(key);
    const known = stored?.rules === rules ? stored : undefined;
    if (before !== undefined) this.#say(before, before.series.end(), atMs);
    if (before?.series.learned.isLearned || (stored?.isLearned && known === undefined)) {
      const message = `thresholds, classes or filters have changed: scores${light === undefined ? '' : ` by ${light}`} are learned anew`;
      this.#options.onEvent({ kind: 'notice', atMs, camera: camera.name, message });
    }
    const series = new DriftSeries(this.#options, known);
    const watched = { camera: camera.name, light, rules, series, open: new OpenTracks() };
    this.#watched.set(key, watched);
    return watched;
  }

  #say({ camera, light }: Watched, changes: readonly DriftChange[], atMs: number): void {
    for (const change of changes)
      this.#options.onEvent({
        kind: 'drift',
        atMs,
        camera,
        ...(light !== undefined && { light }),
        ...change,
      });
  }

  /** One after the other, so that the last one written is the last one known. */
  #save(): void {
    this.#unsavedHours = 0;
    const { path, modelSha256 } = this.#options;
    const laws = [...this.#watched.values()].map(
      ({ camera, light, rules, series }): StoredLaw => ({
        camera,
        ...(light !== undefined && { light }),
        rules,
        ...series.learned,
      }),
    );
    const text = formatReferences(modelSha256, [...this.#stored.values(), ...laws]);
    this.#saving = this.#saving
      .then(() => writeWholeFile(path, text))
      .then(
        () => {
          this.#isFaulty = false;
        },
        (error: unknown) => {
          if (!this.#isFaulty) this.#options.onNotice(error instanceof Error ? error.message : String(error));
          this.#isFaulty = true;
        },
      );
  }
}

function keyOf(camera: string, light: string | undefined): string {
  return `${camera}/${light ?? ''}`;
}

/** Time of the frame, and how much has passed in its light since the one before. */
function advance(seen: Seen, { frame, light }: DetectionResult): { atMs: number; seconds: number } {
  const { capturedAtMs, ptsSeconds = 0 } = frame;
  const last = seen.lastMs;
  let atMs = capturedAtMs ?? seen.zeroMs + 1000 * ptsSeconds;
  if (capturedAtMs === undefined && last !== undefined && atMs < last) {
    // A clip that begins anew.
    seen.zeroMs = last - 1000 * ptsSeconds;
    atMs = last;
  }
  seen.lastMs = atMs;
  const seconds = last === undefined || seen.light !== light ? 0 : (atMs - last) / 1000;
  return { atMs, seconds: Math.min(LONGEST_STEP_SECONDS, Math.max(0, seconds)) };
}

/** Boxes that other rules let through have another law. */
function rulesOf(camera: SiteCamera, light: string | undefined, seen: Seen): string {
  if (seen.camera !== camera) seen.rules.clear();
  seen.camera = camera;
  const known = seen.rules.get(light ?? '');
  if (known !== undefined) return known;
  const { thresholds, classes, filters, minFrames, minMedianScore } = camera;
  const { base, classes: scores, conditions } = thresholds;
  const own = light === undefined ? undefined : conditions.get(light);
  const parts = [base, scores, own ?? null, classes ?? null, filters, minFrames, minMedianScore];
  const digest = createHash('sha256').update(JSON.stringify(parts, plain)).digest('hex').slice(0, 16);
  seen.rules.set(light ?? '', digest);
  return digest;
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map || value instanceof Set || value instanceof Float64Array) return [...value];
  return value;
}
