// A source of which only frames with motion go to the model, and some in any case.
import { MotionMeter } from '#core';
import type { Frame } from '../../frame.ts';
import type { FrameSource } from '../../sources/source.ts';
import type { SiteMotion } from '../site.ts';
import { frameSeconds, type ThinnedSource, thinSource } from '../thinned-source.ts';

export interface MotionGateOptions {
  /** Asked at every frame, so that a changed file holds from the next one on; undefined: every frame goes. */
  readonly rule: () => SiteMotion | undefined;
  /** Whether an object is followed, whose end must be seen. */
  readonly isFollowing: () => boolean;
}

/** After motion, the model goes on for so long: a track needs some frames, and what stops moving is still there. */
const HOLD_SECONDS = 2;

export function gateByMotion(source: FrameSource, options: MotionGateOptions): ThinnedSource {
  return thinSource(source, () => {
    const gate = new Gate(options);
    return (frame) => gate.lets(frame);
  });
}

class Gate {
  readonly #options: MotionGateOptions;
  #rule: SiteMotion | undefined;
  #meter: MotionMeter | undefined;
  /** Of the frames that the meter has seen. */
  #shape = '';
  #openUntil = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MotionGateOptions) {
    this.#options = options;
  }

  lets(frame: Frame): boolean {
    const rule = this.#options.rule();
    if (rule === undefined) {
      this.#meter = undefined;
      return true;
    }
    const seconds = frameSeconds(frame);
    const meter = this.#meterFor(frame, rule);
    // Measured in any case: a background that was not kept up would see motion everywhere.
    if (meter.see(frame.content, seconds) === 'motion') this.#openUntil = seconds + HOLD_SECONDS;
    const isDue = seconds < this.#lookedAt || seconds - this.#lookedAt >= rule.detectEverySeconds;
    if (!isDue && seconds >= this.#openUntil && !this.#options.isFollowing()) return false;
    this.#lookedAt = seconds;
    return true;
  }

  #meterFor({ connection = 0, letterbox: { content } }: Frame, rule: SiteMotion): MotionMeter {
    const shape = `${connection} ${content.width}x${content.height}`;
    if (this.#meter !== undefined && this.#rule === rule && this.#shape === shape) return this.#meter;
    this.#rule = rule;
    this.#shape = shape;
    this.#openUntil = Number.NEGATIVE_INFINITY;
    this.#lookedAt = Number.NEGATIVE_INFINITY;
    this.#meter = new MotionMeter(content, rule);
    return this.#meter;
  }
}
