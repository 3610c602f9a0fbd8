// Hands frames from the decoder's callbacks to the one who iterates: all of them, or always the newest.

export interface Releasable {
  release(): void;
}

export interface InboxOptions {
  /** `all`: nothing is lost, and `onFull` / `onSpace` slow the decoder. `newest`: an older frame that waits is let go. */
  readonly policy: 'all' | 'newest';
  readonly onFull?: () => void;
  readonly onSpace?: () => void;
}

/** Two wait while one is worked on: the decoder stays busy and memory stays small. */
const CAPACITY = 2;

export class FrameInbox<Item extends Releasable> {
  /** Frames that were let go because a newer one came. */
  dropped = 0;
  readonly #options: InboxOptions;
  readonly #waiting: Item[] = [];
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;
  #full = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** The decoder was told to wait. */
  get full(): boolean {
    return this.#full;
  }

  push(item: Item): void {
    if (this.#end !== undefined) {
      item.release();
      return;
    }
    if (this.#options.policy === 'newest') {
      const older = this.#waiting.pop();
      if (older !== undefined) {
        older.release();
        this.dropped += 1;
      }
    }
    this.#waiting.push(item);
    if (this.#options.policy === 'all' && this.#waiting.length >= CAPACITY && !this.#full) {
      this.#full = true;
      this.#options.onFull?.();
    }
    this.#wake?.();
  }

  /** No more frames will come; what waits is still handed out. */
  close(): void {
    this.#end ??= {};
    this.#wake?.();
  }

  /** The next call of `next` throws, whatever waits. */
  fail(error: unknown): void {
    this.#end = { error };
    this.discard();
    this.#wake?.();
  }

  discard(): void {
    for (const item of this.#waiting.splice(0)) item.release();
  }

  /** The next frame, or undefined after the last. One caller at a time. */
  async next(): Promise<Item | undefined> {
    while (this.#waiting.length === 0 && this.#end === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    const item = this.#waiting.shift();
    if (this.#full && this.#waiting.length < CAPACITY) {
      this.#full = false;
      this.#options.onSpace?.();
    }
    return item;
  }
}
