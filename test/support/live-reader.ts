// Reads a live source in the background and keeps when things happened, so that a test can wait for them.
import type { Frame } from '../../runtime/frame.ts';
import type { FrameRequest, FrameSource, SourceEvent } from '../../runtime/sources/source.ts';
import { frameRequest } from './read-frames.ts';

export interface TimedEvent {
  readonly atMs: number;
  readonly event: SourceEvent;
}

export class LiveReader {
  readonly events: TimedEvent[] = [];
  frameCount = 0;
  failure: unknown;
  readonly source: FrameSource;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;

  constructor(source: FrameSource, onFrame: (frame: Frame) => Promise<void> | void = () => {}, full = false) {
    this.source = source;
    this.#done = this.#read(onFrame, { full }).catch((error: unknown) => {
      this.failure = error;
    });
  }

  async #read(
    onFrame: (frame: Frame) => Promise<void> | void,
    overrides: Partial<FrameRequest>,
  ): Promise<void> {
    const request = frameRequest([], {
      ...overrides,
      signal: this.#abort.signal,
      onEvent: (event) => this.events.push({ atMs: performance.now(), event }),
    });
    for await (const frame of this.source.frames(request)) {
      this.frameCount += 1;
      await onFrame(frame);
      frame.release();
    }
  }

  /** The n-th event of this kind, as soon as it has come. Fails after the limit, telling what came instead. */
  async event<Kind extends SourceEvent['kind']>(
    kind: Kind,
    limitMs = 12_000,
    number = 1,
  ): Promise<TimedEvent & { readonly event: Extract<SourceEvent, { kind: Kind }> }> {
    const found = () => this.events.filter(({ event }) => event.kind === kind)[number - 1];
    await this.until(() => found() !== undefined, `event "${kind}" number ${number}`, limitMs);
    return found() as TimedEvent & { readonly event: Extract<SourceEvent, { kind: Kind }> };
  }

  async until(condition: () => boolean, what: string, limitMs = 12_000): Promise<void> {
    const end = performance.now() + limitMs;
    while (!condition()) {
      if (performance.now() > end)
        throw new Error(`no ${what} within ${limitMs} ms; events: ${JSON.stringify(this.events)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Waits until the source ends by itself. */
  ended(): Promise<void> {
    return this.#done;
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped by the test'));
    await this.#done;
  }
}
