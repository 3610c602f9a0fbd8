// Notices that nothing comes any more. ffmpeg's own time limits fire at several times the value given, or never.

/** Time for frames that already lie in the pipe to be read, after this process itself was busy. */
const GRACE_MS = 150;

export class Watchdog {
  readonly #onSilence: (limitMs: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #limitMs = 0;
  #fedAtMs = 0;
  #stopped = false;

  constructor(onSilence: (limitMs: number) => void) {
    this.#onSilence = onSilence;
  }

  /** Something came: from now on, silence may last so long. Cheap, called for every frame. */
  feed(limitMs: number): void {
    if (this.#stopped) return;
    if (limitMs < this.#limitMs) this.rest(); // the timer that runs would look too late
    this.#limitMs = limitMs;
    this.#fedAtMs = performance.now();
    this.#timer ??= setTimeout(() => this.#look(false), limitMs);
  }

  /** Silence is expected: the reader itself holds the stream up. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  stop(): void {
    this.#stopped = true;
    this.rest();
  }

  #look(afterGrace: boolean): void {
    const leftMs = this.#fedAtMs + this.#limitMs - performance.now();
    if (leftMs > 0.5) {
      this.#timer = setTimeout(() => this.#look(false), leftMs);
    } else if (!afterGrace) {
      // Timers run before input does: a busy process must not take its own pause for the camera's.
      this.#timer = setTimeout(() => this.#look(true), GRACE_MS);
    } else {
      this.#timer = undefined;
      this.#onSilence(this.#limitMs);
    }
  }
}
