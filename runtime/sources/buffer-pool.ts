// Lends out byte buffers of one size and takes them back, so that a stream of any length allocates a handful.

export class BufferPool {
  readonly byteCount: number;
  /** Buffers made so far: as many as were ever out at once. */
  made = 0;
  readonly #free: Uint8Array[] = [];

  constructor(byteCount: number) {
    this.byteCount = byteCount;
  }

  take(): Uint8Array {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    this.made += 1;
    return new Uint8Array(this.byteCount);
  }

  give(buffer: Uint8Array): void {
    this.#free.push(buffer);
  }
}
