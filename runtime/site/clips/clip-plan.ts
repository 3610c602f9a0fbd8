// Which stretch of time is a clip: from before an object comes until after it has gone; objects that overlap share one.
import type { SiteEvent } from '../events.ts';

export interface ClipTimes {
  readonly preMs: number;
  readonly postMs: number;
  /** No clip is longer, however long an object stays. */
  readonly longestMs: number;
}

/** Times in ms of the events. */
export interface PlannedClip {
  /** Id of the object that began it. */
  readonly id: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly objects: readonly string[];
}

export class ClipPlan {
  readonly #times: ClipTimes;
  #id = '';
  #fromMs = 0;
  /** Of the last object that has gone. */
  #endMs = 0;
  readonly #objects = new Set<string>();
  readonly #there = new Set<string>();

  constructor(times: ClipTimes) {
    this.#times = times;
  }

  /** The clip that is being made. */
  get open(): PlannedClip | undefined {
    if (this.#objects.size === 0) return undefined;
    const { postMs, longestMs } = this.#times;
    const limit = this.#fromMs + longestMs;
    const untilMs = this.#there.size > 0 ? limit : Math.min(limit, this.#endMs + postMs);
    return { id: this.#id, fromMs: this.#fromMs, untilMs, objects: [...this.#objects] };
  }

  /** @returns whether a clip has begun */
  take(event: SiteEvent): boolean {
    if (event.kind !== 'object') return false;
    const { id, startMs, lastMs, endMs } = event.after;
    if (event.type === 'end' && this.#there.delete(id)) this.#endMs = Math.max(this.#endMs, endMs ?? lastMs);
    if (event.type !== 'new') return false;
    const isFirst = this.#objects.size === 0;
    if (isFirst) {
      this.#id = id;
      this.#fromMs = startMs - this.#times.preMs;
      this.#endMs = startMs;
    }
    this.#objects.add(id);
    this.#there.add(id);
    return isFirst;
  }

  /** Objects that are still there have their clip behind them. */
  close(): void {
    this.#objects.clear();
    this.#there.clear();
  }
}
