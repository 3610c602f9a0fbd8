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
  /** Seconds of the stream between two measurements. Default 1. */
  readonly everySeconds?: number;
}

export interface ObservedLight {
  /** Absent until the stream showed it: black frames show nothing, and a light between two states needs some seconds. */
  readonly state?: string;
  readonly threshold?: ThresholdPolicy;
}

/** Keeps the state of one stream; frames come in order. */
export interface LightFollower {
  observe(frame: Frame): ObservedLight;
}

const DEFAULT_EVERY_SECONDS = 1;
/** With a hold of 2 s, a cut from one light into another is followed within 8 s. */
const MEDIAN_SECONDS = 6;

/** @param onEvent told of the first state of a video or camera and of every change */
export function followLight(options: LightOptions, onEvent?: (event: SourceEvent) => void): LightFollower {
  return new Follower(options, onEvent);
}

interface Measured {
  readonly value: number;
  readonly atSeconds: number;
}

interface Followed {
  readonly source: string;
  /** Undefined while what was measured lies too near to a boundary to be sure. */
  readonly state: LightState | undefined;
  /** All of the stream's clock. */
  readonly beganSeconds: number;
  readonly measuredAtSeconds: number;
  readonly recent: readonly Measured[];
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
    const known = this.#followed?.source === frame.source ? this.#followed : undefined;
    // A clock that went back belongs to a stream that began anew: measure, rather than wait for the old time.
    const isBack = known !== undefined && nowSeconds < known.measuredAtSeconds;
    if (known !== undefined && !isBack && nowSeconds - known.measuredAtSeconds < everySeconds)
      return known.state;
    const measured = this.#measure(frame);
    if (known === undefined && Number.isNaN(measured)) return undefined;
    const recent = [...(known?.recent ?? []), { value: measured, atSeconds: nowSeconds }].filter(
      ({ value, atSeconds }) =>
        Number.isFinite(value) && atSeconds <= nowSeconds && nowSeconds - atSeconds <= this.#windowSeconds,
    );
    const value = median(recent);
    const beganSeconds = known === undefined || isBack ? nowSeconds : known.beganSeconds;
    const before = isBack ? withoutPending(known.state) : known?.state;
    const state =
      before === undefined
        ? this.#begin(value, nowSeconds - beganSeconds)
        : nextLight(ladder, before, { value, nowSeconds });
    this.#followed = { source: frame.source, state, beganSeconds, measuredAtSeconds: nowSeconds, recent };
    if (state !== undefined && state.name !== before?.name)
      this.#tell(frame.source, state.name, before?.name, value);
    return state;
  }

  /** One picture near a boundary decides nothing: a first state that is taken back is a switch too many. */
  #begin(value: number, sinceSeconds: number): LightState | undefined {
    const { ladder } = this.#options;
    const isClear = ladder.boundaries.every((boundary) => Math.abs(value - boundary) > 2 * ladder.margin);
    return isClear || sinceSeconds >= this.#windowSeconds ? firstLight(ladder, value) : undefined;
  }

  /** Pictures flicker with the traffic, and their median does not; another measure is taken as it comes. */
  get #windowSeconds(): number {
    return this.#options.measure === undefined ? MEDIAN_SECONDS : 0;
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
function withoutPending(state: LightState | undefined): LightState | undefined {
  return state && { name: state.name };
}

/** The upper one of an even number: a mean of the two would be a light that there never was. */
function median(recent: readonly Measured[]): number {
  const values = recent.map(({ value }) => value).sort((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

function lightOfPicture({ content, letterbox }: Frame): number {
  return measureLight(content, letterbox.content.width, letterbox.content.height).value;
}
