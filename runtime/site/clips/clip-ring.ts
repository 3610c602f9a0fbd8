// The last seconds of a stream, in memory: a ring of files would wear out the card that small machines run from, and a
// killed process leaves none behind.
import type { Fragment } from './fragments.ts';

export interface TimedFragment extends Fragment {
  /** ms since 1970, of this computer. */
  readonly startMs: number;
  readonly endMs: number;
}

/** Of one camera: 10 s at 12 Mbit/s. */
const MOST_BYTES = 16 << 20;

export class ClipRing {
  readonly #keepMs: number;
  readonly #mostBytes: number;
  #fragments: TimedFragment[] = [];
  #byteCount = 0;

  constructor(keepMs: number, mostBytes = MOST_BYTES) {
    this.#keepMs = keepMs;
    this.#mostBytes = mostBytes;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** What lies before the latest key frame that is old enough is let go, and more where it takes too much room. */
  push(fragment: TimedFragment): void {
    // Without its key frame nothing can be shown.
    if (this.#fragments.length === 0 && !fragment.isKey) return;
    this.#fragments.push(fragment);
    this.#byteCount += fragment.bytes.length;
    for (;;) {
      const next = this.#fragments.findIndex(({ isKey }, index) => index > 0 && isKey);
      const isOld = next > 0 && (this.#fragments[next]?.startMs ?? 0) <= fragment.endMs - this.#keepMs;
      if (!isOld && this.#byteCount <= this.#mostBytes) return;
      this.#drop(next > 0 ? next : this.#fragments.length);
    }
  }

  /** From the last key frame at or before a time, or the first that there is. */
  from(ms: number): readonly TimedFragment[] {
    const first = this.#fragments.findLastIndex(({ isKey, startMs }) => isKey && startMs <= ms);
    return this.#fragments.slice(Math.max(0, first));
  }

  clear(): void {
    this.#drop(this.#fragments.length);
  }

  #drop(count: number): void {
    for (const { bytes } of this.#fragments.splice(0, count)) this.#byteCount -= bytes.length;
  }
}
