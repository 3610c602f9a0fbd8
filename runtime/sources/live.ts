// A source that does not end by itself: a camera, a network stream. Keeps the newest picture, counts those it leaves
// out, notices silence, and connects again until it is told to stop.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Letterbox, type Size, SourceError } from '#core';
import type { Frame } from '../frame.ts';
import { answerLimitMs, type LoginTrouble, retryDelayMs } from './back-off.ts';
import type { DecodedFrame, StartDecoder } from './frame-decoder.ts';
import { FrameInbox } from './frame-inbox.ts';
import { formatSize, isSameSize } from './geometry.ts';
import { type ConnectionEnd, LiveConnection } from './live-connection.ts';
import type { LiveInput } from './live-input.ts';
import type { FrameRequest, FrameSource, SourceEvent, SourceStats } from './source.ts';

export interface LiveSettings {
  /** Credentials removed. */
  readonly name: string;
  readonly startDecoder: StartDecoder;
  readonly clock: LiveInput['clock'];
  /** False where the stream's header does not tell the size of the pictures that come (after squaring). Default true. */
  readonly headerTellsSize?: boolean;
  /** `newest`: a picture that nobody took in time is left out and counted. `all`: none is, and delay may grow. */
  readonly buffer?: 'newest' | 'all';
  /** Silence that counts as a break. Default 4 s. */
  readonly stallSeconds?: number;
  /** Time for a connection to give its first picture. Default 10 s. */
  readonly startSeconds?: number;
  /** Tries in a row without a picture before the source gives up. Default: never. */
  readonly retries?: number;
  /** Size of the pictures, where it is known: spares a second connection at the start. Default 1920x1080. */
  readonly expectedSize?: Size;
}

interface LiveFrame extends DecodedFrame {
  readonly index: number;
  readonly letterbox: Letterbox;
  readonly streamSeconds: number;
  readonly capturedAtMs: number;
  readonly connection: number;
}

interface Attempt {
  readonly request: FrameRequest;
  readonly inbox: FrameInbox<LiveFrame>;
  readonly expectedSize: Size;
  /** Tries in a row without a picture before this one. */
  readonly failures: number;
}

/**
 * The size must be known before the scale is chosen. Instead of asking with a session of its own (ffprobe), the first
 * connection assumes 16:9, which most cameras are, reads the true size from the stream's header, and is made again
 * only if the scale differs.
 */
const USUAL_SIZE: Size = { width: 1920, height: 1080 };
/** A stream that changes its size faster than it gives pictures is broken. */
const MOST_RESIZES = 5;

export class LiveSource implements FrameSource {
  readonly kind = 'live';
  readonly name: string;
  readonly #settings: LiveSettings;
  readonly #clock: StreamClock;
  #connection: LiveConnection | undefined;
  #inbox: FrameInbox<LiveFrame> | undefined;
  /** Of the latest picture; undefined before the first. */
  #size: Size | undefined;
  #trustHeader: boolean;
  /** Time that the camera took to answer when it last gave pictures; undefined where that is not heard. */
  #answerMs: number | undefined;
  #arrived = 0;
  #frames = 0;
  #reconnects = 0;
  #damaged = 0;
  #used = false;

  constructor(settings: LiveSettings) {
    this.#settings = settings;
    this.name = settings.name;
    this.#trustHeader = settings.headerTellsSize ?? true;
    this.#clock = new StreamClock(settings.clock);
  }

  stats(): SourceStats {
    return {
      frames: this.#frames,
      dropped: this.#inbox?.dropped ?? 0,
      reconnects: this.#reconnects,
      damaged: this.#damaged + (this.#connection?.errorLines ?? 0),
    };
  }

  async *frames(request: FrameRequest): AsyncGenerator<Frame, void, undefined> {
    if (this.#used) throw new Error(`${this.name}: frames() was called twice`);
    this.#used = true;
    request.signal.throwIfAborted();
    const stopping = new AbortController();
    const inbox = this.#openInbox();
    const running = this.#keepConnected(request, inbox, stopping.signal).catch((error: unknown) =>
      inbox.fail(error),
    );
    const stop = () => {
      inbox.fail(request.signal.reason);
      stopping.abort();
    };
    request.signal.addEventListener('abort', stop, { once: true });
    try {
      for (let next = await inbox.next(); next !== undefined; next = await inbox.next()) {
        this.#frames += 1;
        yield toFrame(this.name, next);
      }
    } finally {
      request.signal.removeEventListener('abort', stop);
      stopping.abort();
      inbox.fail(new Error('the iteration ended'));
      await running;
    }
  }

  #openInbox(): FrameInbox<LiveFrame> {
    this.#inbox = new FrameInbox<LiveFrame>({
      policy: this.#settings.buffer ?? 'newest',
      onFull: () => this.#connection?.pause(),
      onSpace: () => this.#connection?.resume(),
    });
    return this.#inbox;
  }

  /** Returns when it was told to stop. Throws where it gives up. */
  async #keepConnected(
    request: FrameRequest,
    inbox: FrameInbox<LiveFrame>,
    stopping: AbortSignal,
  ): Promise<void> {
    let failures = 0;
    let resizes = 0;
    let expectedSize = this.#settings.expectedSize ?? USUAL_SIZE;
    while (!stopping.aborted) {
      const beganMs = performance.now();
      const end = await this.#connect({ request, inbox, expectedSize, failures }, stopping);
      if (stopping.aborted) return end.gone;
      if (end.frames > 0) {
        failures = 0;
        resizes = 0;
        this.#answerMs = end.answerMs;
      }
      if (end.sizeWasSeen) this.#trustHeader = false;
      expectedSize = end.newSize ?? this.#size ?? expectedSize;
      if (end.newSize !== undefined && resizes < MOST_RESIZES) {
        resizes += 1;
        await end.gone;
        continue;
      }
      failures += 1;
      if (failures > (this.#settings.retries ?? Number.POSITIVE_INFINITY)) {
        await end.gone;
        throw this.#givenUp(end, failures);
      }
      const triedMs = end.frames > 0 ? 0 : performance.now() - beganMs;
      const retryInMs = retryDelayMs(failures, this.#loginTrouble(end), Math.random(), triedMs);
      this.#tell(request, { kind: 'lost', source: this.name, reason: end.reason, retryInMs });
      await Promise.all([sleep(retryInMs, undefined, { signal: stopping }).catch(() => undefined), end.gone]);
    }
  }

  #loginTrouble({ refused }: ConnectionEnd): LoginTrouble | undefined {
    if (!refused) return undefined;
    return this.#frames > 0 ? 'once-taken' : 'refused';
  }

  async #connect(
    { request, inbox, expectedSize, failures }: Attempt,
    stopping: AbortSignal,
  ): Promise<ConnectionEnd> {
    const { startDecoder, startSeconds = 10, stallSeconds = 4 } = this.#settings;
    const answerLimit = answerLimitMs(this.#answerMs, failures, startSeconds * 1000);
    const connection = new LiveConnection({
      startDecoder,
      request,
      expectedSize,
      trustHeader: this.#trustHeader,
      startLimitMs: startSeconds * 1000,
      ...(answerLimit !== undefined && { answerLimitMs: answerLimit }),
      stallLimitMs: stallSeconds * 1000,
      onFrame: (frame, letterbox) => this.#take(request, inbox, frame, letterbox),
      onNotice: (message) => this.#tell(request, { kind: 'notice', source: this.name, message }),
    });
    this.#connection = connection;
    if (inbox.full) connection.pause();
    this.#clock.restart();
    const stop = () => void connection.stop();
    stopping.addEventListener('abort', stop, { once: true });
    try {
      return await connection.ended;
    } finally {
      stopping.removeEventListener('abort', stop);
      this.#damaged += connection.errorLines;
      this.#connection = undefined;
    }
  }

  #take(
    request: FrameRequest,
    inbox: FrameInbox<LiveFrame>,
    frame: DecodedFrame,
    letterbox: Letterbox,
  ): void {
    this.#tellOfSize(request, frame.ordinal === 0, letterbox.frame);
    const time = this.#clock.read(frame.ptsSeconds);
    const index = this.#arrived;
    this.#arrived += 1;
    inbox.push({ ...frame, ...time, index, letterbox, connection: this.#reconnects });
  }

  #tellOfSize(request: FrameRequest, first: boolean, size: Size): void {
    const before = this.#size;
    this.#size = size;
    if (before === undefined) {
      this.#tell(request, { kind: 'open', source: this.name, size });
      return;
    }
    if (!isSameSize(before, size)) {
      const message = `the picture changed from ${formatSize(before)} to ${formatSize(size)}`;
      this.#tell(request, { kind: 'notice', source: this.name, message });
    }
    if (!first) return;
    this.#reconnects += 1;
    this.#tell(request, { kind: 'resumed', source: this.name, size });
  }

  #tell(request: FrameRequest, event: SourceEvent): void {
    if (!request.signal.aborted) request.onEvent?.(event);
  }

  #givenUp({ reason, hint }: ConnectionEnd, tries: number): SourceError {
    const count = tries === 1 ? '' : ` (after ${tries} tries)`;
    return new SourceError(`${this.name}: ${reason}${count}`, { hint });
  }
}

function toFrame(source: string, frame: LiveFrame): Frame {
  return {
    source,
    index: frame.index,
    ptsSeconds: frame.streamSeconds,
    capturedAtMs: frame.capturedAtMs,
    connection: frame.connection,
    letterbox: frame.letterbox,
    content: frame.content,
    ...(frame.full && { full: frame.full }),
    release: frame.release,
  };
}

/** Seconds since the first picture, going on over breaks: a stream's own clock begins again with each connection. */
class StreamClock {
  readonly #kind: LiveInput['clock'];
  #startMs: number | undefined;
  /** Time of this computer at second 0 of the stream. Of this connection only. */
  #offsetMs: number | undefined;

  constructor(kind: LiveInput['clock']) {
    this.#kind = kind;
  }

  restart(): void {
    this.#offsetMs = undefined;
  }

  read(ptsSeconds: number): { streamSeconds: number; capturedAtMs: number } {
    if (this.#kind === 'stream') this.#offsetMs ??= Date.now() - ptsSeconds * 1000;
    const capturedAtMs = ptsSeconds * 1000 + (this.#offsetMs ?? 0);
    this.#startMs ??= capturedAtMs;
    return { streamSeconds: (capturedAtMs - this.#startMs) / 1000, capturedAtMs };
  }
}
