// One connection to a live source, from its start to its end: knows the size, watches for silence, says why it ended.
import { type Letterbox, type Size, SourceError } from '#core';
import type { ChildExit } from '../ffmpeg/index.ts';
import { DAMAGE_SPAN_MS, DamageWatch } from './damage-watch.ts';
import type { DecodedFrame, DecoderEnd, FrameDecoder, StartDecoder } from './frame-decoder.ts';
import { isSameSize } from './geometry.ts';
import type { FrameRequest } from './source.ts';
import { Watchdog } from './watchdog.ts';

export interface ConnectionOptions {
  readonly startDecoder: StartDecoder;
  readonly request: FrameRequest;
  /** As it was last, or a guess; the connection is made again if the pictures turn out otherwise. */
  readonly expectedSize: Size;
  /** False where pictures were seen to contradict the header (some cameras describe an old size for ever), or will. */
  readonly trustHeader: boolean;
  readonly startLimitMs: number;
  /** The shorter one until the camera has answered; undefined: not known how long that takes. */
  readonly answerLimitMs?: number;
  readonly stallLimitMs: number;
  readonly onFrame: (frame: DecodedFrame, letterbox: Letterbox) => void;
  readonly onNotice: (message: string) => void;
}

export interface ConnectionEnd {
  readonly frames: number;
  /** Time until the camera answered; undefined where that was not heard. */
  readonly answerMs?: number;
  /** Why it ended, for people. */
  readonly reason: string;
  readonly hint: string;
  /** The camera refused user or password. */
  readonly refused: boolean;
  /** The pictures have this size and need another scale: connect again at once. */
  readonly newSize?: Size;
  /** A picture itself showed the new size, and not only the header of the stream. */
  readonly sizeWasSeen?: boolean;
  /** When the child is gone: a camera of this computer can only then be opened again. */
  readonly gone: Promise<void>;
}

export class LiveConnection {
  /** Resolves as soon as the end is noticed. Rejects only where the decoder cannot be started. */
  readonly ended: Promise<ConnectionEnd>;
  readonly #options: ConnectionOptions;
  readonly #decoder: FrameDecoder;
  readonly #watchdog: Watchdog;
  #letterbox: Letterbox;
  readonly #startedMs = performance.now();
  readonly #damage = new DamageWatch();
  readonly #damageTimer = setInterval(() => this.#sayDamage(), DAMAGE_SPAN_MS).unref();
  #answerMs: number | undefined;
  #frames = 0;
  #resolve: (end: ConnectionEnd) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #ending = false;
  #paused = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#letterbox = options.request.fit(options.expectedSize);
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#watchdog = new Watchdog((limitMs) => this.#finish(this.#silence(limitMs)));
    this.#decoder = options.startDecoder(
      { content: this.#letterbox.content, full: options.request.full },
      {
        onFrame: (frame) => this.#take(frame),
        onAnswer: () => this.#hearAnswer(),
        onInputSize: (size) => this.#expect(size),
        onNotice: options.onNotice,
        onEnd: (end) => this.#takeEnd(end),
      },
    );
    this.#watchdog.feed(options.answerLimitMs ?? options.startLimitMs);
  }

  get errorLines(): number {
    return this.#decoder.errorLines;
  }

  pause(): void {
    this.#paused = true;
    this.#watchdog.rest();
    this.#decoder.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#ending) return;
    this.#watchdog.feed(this.#options.stallLimitMs);
    this.#decoder.resume();
  }

  stop(): Promise<ConnectionEnd> {
    this.#finish({ reason: 'stopped', hint: '' });
    return this.ended;
  }

  /** The header of the stream comes long before the first key frame: a wrong guess costs no waiting. */
  #expect(size: Size): void {
    if (!this.#options.trustHeader) return;
    if (!this.#suits(size)) this.#reconnectFor(size, false);
  }

  #hearAnswer(): void {
    if (this.#ending) return;
    this.#answerMs ??= performance.now() - this.#startedMs;
    if (this.#frames === 0 && !this.#paused) this.#watchdog.feed(this.#options.startLimitMs - this.#answerMs);
  }

  #suits(size: Size): boolean {
    return isSameSize(this.#options.request.fit(size).content, this.#letterbox.content);
  }

  #take(frame: DecodedFrame): void {
    if (this.#ending) {
      frame.release();
      return;
    }
    if (!isSameSize(frame.size, this.#letterbox.frame)) {
      if (!this.#suits(frame.size)) {
        frame.release();
        this.#reconnectFor(frame.size, true);
        return;
      }
      this.#letterbox = this.#options.request.fit(frame.size);
    }
    this.#frames += 1;
    if (!this.#paused) this.#watchdog.feed(this.#options.stallLimitMs);
    this.#options.onFrame(frame, this.#letterbox);
  }

  /** A decoder fed with noise goes on giving pictures: they come, and nobody should believe them. */
  #sayDamage(): void {
    const said = this.#frames === 0 ? undefined : this.#damage.look(this.errorLines);
    if (said !== undefined) this.#options.onNotice(said);
  }

  #reconnectFor(newSize: Size, sizeWasSeen: boolean): void {
    this.#finish({ reason: 'the size of the picture changed', hint: '', newSize, sizeWasSeen });
  }

  #silence(limitMs: number): { reason: string; hint: string } {
    return { reason: this.#silenceWords(limitMs), hint: 'check that the camera is on and the network works' };
  }

  #silenceWords(limitMs: number): string {
    const seconds = Math.round(limitMs / 100) / 10;
    if (this.#frames > 0) return `no picture for ${seconds} s`;
    // How long it is waited differs from try to try: the same trouble is said in the same words.
    const isMute = this.#options.answerLimitMs !== undefined && this.#answerMs === undefined;
    return isMute ? 'no answer after connecting' : `no picture within ${seconds} s of connecting`;
  }

  #takeEnd({ exit, failure }: DecoderEnd): void {
    if (failure !== undefined && !(failure instanceof SourceError)) {
      this.#watchdog.stop();
      clearInterval(this.#damageTimer);
      this.#ending = true;
      this.#reject(failure);
      return;
    }
    if (failure !== undefined) this.#finish({ reason: failure.message, hint: failure.hint });
    else this.#finish(this.#decoder.explain(this.#saidAtEnd(exit)));
  }

  /** After pictures came, what was said may be old and about one damaged picture; a failing exit makes it count. */
  #saidAtEnd({ code, lastWords }: ChildExit): string {
    return this.#frames > 0 && code === 0 ? '' : lastWords;
  }

  #finish(end: Pick<ConnectionEnd, 'reason' | 'hint' | 'newSize' | 'sizeWasSeen'>): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#watchdog.stop();
    clearInterval(this.#damageTimer);
    const refused = /^40[13] /.test(end.reason);
    const answerMs = this.#answerMs;
    this.#resolve({
      ...end,
      ...(answerMs !== undefined && { answerMs }),
      refused,
      frames: this.#frames,
      gone: this.#decoder.stop(),
    });
  }
}
