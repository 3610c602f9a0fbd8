// The light of a stream, frame after frame, and the thresholds that follow it.
import {
  firstLight,
  type LightLadder,
  type LightPolicy,
  type LightState,
  measureLight,
  nextLight,
  type ThresholdPolicy,
  thresholdInLight,
} from '#core';
import type { Frame } from './frame.ts';
import type { SourceEvent } from './sources/source.ts';

/** How the light is measured, told apart into states, and answered with thresholds. */
export interface LightOptions {
  readonly ladder: LightLadder;
  /** Thresholds per state. Absent: the state is only said. */
  readonly policy?: LightPolicy;
  /** A number that rises with the light, in the unit of the ladder. Default: the picture's own cues (`measureLight`). */
  readonly measure?: (frame: Frame) => number;
  /** Seconds of the stream between two measurements. Default 2. */
  readonly everySeconds?: number;
}

export interface ObservedLight {
  /** Absent until a frame of the stream said something: black ones do not. */
  readonly state?: string;
  readonly threshold?: ThresholdPolicy;
}

/** Keeps the state of one stream; frames come in order. */
export interface LightFollower {
  observe(frame: Frame): ObservedLight;
}

const DEFAULT_EVERY_SECONDS = 2;

/** @param onEvent told of the first state of a video or camera and of every change */
export function followLight(options: LightOptions, onEvent?: (event: SourceEvent) => void): LightFollower {
  return new Follower(options, onEvent);
}

interface Followed {
  readonly source: string;
  readonly state: LightState;
  /** Of the stream's clock. */
  readonly measuredAtSeconds: number;
}

class Follower implements LightFollower {
  readonly #options: LightOptions;
  readonly #onEvent: ((event: SourceEvent) => void) | undefined;
  #followed: Followed | undefined;

  constructor(options: LightOptions, onEvent: ((event: SourceEvent) => void) | undefined) {
    this.#options = options;
    this.#onEvent = onEvent;
  }

  observe(frame: Frame): ObservedLight {
    const state = frame.ptsSeconds === undefined ? this.#still(frame) : this.#next(frame, frame.ptsSeconds);
    const { policy } = this.#options;
    if (state === undefined) return policy === undefined ? {} : { threshold: policy.otherwise };
    return policy === undefined
      ? { state: state.name }
      : { state: state.name, threshold: thresholdInLight(policy, state) };
  }

  /** A still picture stands alone: no time, hence no hysteresis. */
  #still(frame: Frame): LightState {
    return firstLight(this.#options.ladder, this.#measure(frame));
  }

  #next(frame: Frame, nowSeconds: number): LightState | undefined {
    const { ladder, everySeconds = DEFAULT_EVERY_SECONDS } = this.#options;
    const before = this.#followed?.source === frame.source ? this.#followed : undefined;
    // A clock that went back belongs to a stream that began anew: measure, rather than wait for the old time.
    const sinceSeconds = before === undefined ? 0 : nowSeconds - before.measuredAtSeconds;
    if (before !== undefined && sinceSeconds >= 0 && sinceSeconds < everySeconds) return before.state;
    const value = this.#measure(frame);
    if (before === undefined && Number.isNaN(value)) return undefined;
    const state =
      before === undefined
        ? firstLight(ladder, value)
        : nextLight(ladder, stateOf(before, sinceSeconds), { value, nowSeconds });
    this.#followed = { source: frame.source, state, measuredAtSeconds: nowSeconds };
    if (state.name !== before?.state.name) this.#tell(frame.source, state.name, before?.state.name, value);
    return state;
  }

  #measure(frame: Frame): number {
    const { measure = lightOfPicture } = this.#options;
    return measure(frame);
  }

  #tell(source: string, state: string, before: string | undefined, value: number): void {
    this.#onEvent?.({ kind: 'light', source, state, value, ...(before === undefined ? {} : { before }) });
  }
}

/** What was asked for before the clock went back has no time any more. */
function stateOf({ state }: Followed, sinceSeconds: number): LightState {
  return sinceSeconds < 0 ? { name: state.name } : state;
}

function lightOfPicture({ content, letterbox }: Frame): number {
  return measureLight(content, letterbox.content.width, letterbox.content.height).value;
}
