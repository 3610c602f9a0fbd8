// Thresholds that follow the light: a state goes in, a policy comes out; a reducer decides when the state changes.
import type { ThresholdPolicy } from './threshold.ts';

/** States from dark to bright and where one ends. Needs one boundary less than states, rising. */
export interface LightLadder {
  readonly states: readonly string[];
  /** `boundaries[i]` lies between `states[i]` and `states[i + 1]`, in the unit of the measurement. */
  readonly boundaries: readonly number[];
  /** How far beyond a boundary a measurement must lie to leave a state, in the same unit. */
  readonly margin: number;
  /** How long measurements must ask for the same other state before it is taken. */
  readonly holdSeconds: number;
}

export interface LightState {
  readonly name: string;
  /** Another state that is asked for, but not yet for long enough. */
  readonly pending?: { readonly name: string; readonly sinceSeconds: number };
}

/** Any number that rises with the light; which one is the caller's choice (exposure hides plain brightness). */
export interface LightMeasurement {
  readonly value: number;
  /** Clock of the stream; only differences matter. */
  readonly nowSeconds: number;
}

/** The state of a first measurement, without hysteresis. */
export function firstLight(ladder: LightLadder, value: number): LightState {
  const index = ladder.boundaries.filter((boundary) => value > boundary).length;
  return { name: stateAt(ladder, index) };
}

/**
 * The state after one more measurement. A state is left only when the measurement lies beyond its boundary by the
 * margin, for `holdSeconds`; a measurement that is NaN or infinite changes nothing.
 */
export function nextLight(
  ladder: LightLadder,
  state: LightState,
  { value, nowSeconds }: LightMeasurement,
): LightState {
  if (!Number.isFinite(value)) return state;
  const target = stateAt(ladder, targetIndex(ladder, state, value));
  if (target === state.name) return { name: state.name };
  const sinceSeconds = state.pending?.name === target ? state.pending.sinceSeconds : nowSeconds;
  if (nowSeconds - sinceSeconds >= ladder.holdSeconds) return { name: target };
  return { name: state.name, pending: { name: target, sinceSeconds } };
}

function targetIndex({ states, boundaries, margin }: LightLadder, state: LightState, value: number): number {
  let index = states.indexOf(state.name);
  if (index < 0) throw new RangeError(`light state '${state.name}' is not one of ${states.join(', ')}`);
  while (index < boundaries.length && value > boundaries[index]! + margin) index++;
  while (index > 0 && value < boundaries[index - 1]! - margin) index--;
  return index;
}

function stateAt({ states }: LightLadder, index: number): string {
  const name = states[index];
  if (name === undefined) throw new RangeError(`a ladder of ${states.length} states has no state ${index}`);
  return name;
}

/** One threshold policy per light state. */
export interface LightPolicy {
  readonly kind: 'light';
  readonly states: ReadonlyMap<string, ThresholdPolicy>;
  /** For states that `states` does not name. */
  readonly otherwise: ThresholdPolicy;
}

export function thresholdInLight(policy: LightPolicy, state: LightState): ThresholdPolicy {
  return policy.states.get(state.name) ?? policy.otherwise;
}
