// Pictures of what cameras see, made beside the work: a camera waits for a copy of its frame, and for nothing more.
import type { Detection } from '#core';
import { encodePicture } from '#data/images';
import type { DetectionResult } from '../../detections.ts';
import type { SiteObject } from '../events.ts';
import type { ObjectEvents } from '../object-events.ts';

/** Looks at every result of every camera. Never throws, never waits. */
export interface ResultObserver {
  /** @param result its frame's bytes are read before the call returns */
  observe(camera: string, result: DetectionResult, objects: ObjectEvents): void;
  /** Waits for what is under way. Safe to call twice. */
  close(): Promise<void>;
}

/** An object with its box in this frame. */
export interface SeenObject {
  readonly object: SiteObject;
  readonly found: Detection;
}

/** Encoding takes a core for some 10 ms, and each holds a frame: more than this wait for a later frame. */
const MAX_UNDER_WAY = 2;
/** After a fault of the disk: trying with every frame would cost as much as it is in vain. */
const PAUSE_MS = 5000;

export interface PictureWorkOptions {
  /** Told once per fault, and when it is over. */
  readonly onNotice: (message: string) => void;
  /** Names the work where it is over. */
  readonly name: string;
}

export class PictureWork {
  readonly #options: PictureWorkOptions;
  readonly #underWay = new Set<Promise<void>>();
  #isFaulty = false;
  #pausedUntilMs = 0;

  constructor(options: PictureWorkOptions) {
    this.#options = options;
  }

  get hasRoom(): boolean {
    return this.#underWay.size < MAX_UNDER_WAY && Date.now() >= this.#pausedUntilMs;
  }

  /**
   * Encodes the frame as JPEG and hands it on.
   * @param onFault called where `use` threw, which is said
   */
  start({ frame }: DetectionResult, use: (jpeg: Uint8Array) => Promise<void>, onFault: () => void): void {
    const content = Uint8Array.from(frame.content);
    const work = encodePicture(content, frame.letterbox.content, 'jpeg')
      .then(use)
      .then(
        () => this.#sayRecovered(),
        (error: unknown) => {
          onFault();
          this.#sayFault(error);
        },
      )
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async close(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #sayFault(error: unknown): void {
    this.#pausedUntilMs = Date.now() + PAUSE_MS;
    const fault = error instanceof Error ? error.message : String(error);
    // The name of the file is another one each time; the fault is the same.
    if (!this.#isFaulty) this.#options.onNotice(fault);
    this.#isFaulty = true;
  }

  #sayRecovered(): void {
    if (!this.#isFaulty) return;
    this.#isFaulty = false;
    this.#options.onNotice(`${this.#options.name} are written again`);
  }
}

/** Objects that have a box in this frame; the number of their track ends their id. */
export function seenObjects(
  { detections }: DetectionResult,
  { objects }: ObjectEvents,
): readonly SeenObject[] {
  const byTrack = new Map(detections.map((found) => [String(found.trackId), found]));
  return objects.flatMap((object) => {
    const found = byTrack.get(object.id.slice(object.id.lastIndexOf('-') + 1));
    return found === undefined ? [] : [{ object, found }];
  });
}
