// Where the light of one state ends and that of the next begins, from pictures whose state is known.
import type { LightLadder } from './light.ts';
import { LIGHT_LADDER } from './light-cues.ts';

/** What was measured in pictures of one state. */
export interface LitState {
  readonly name: string;
  /** In any unit that rises with the light; what is not finite says nothing. */
  readonly values: readonly number[];
}

export interface FittedLadder {
  readonly ladder: LightLadder;
  /** Least share of pictures on their own side of a boundary, the two states weighing the same; in-sample, from 0.5 to 1. */
  readonly rightly: number;
}

/** Fewer pictures of a state place no boundary. */
export const LEAST_LIT_PICTURES = 10;
/** A boundary with a smaller share of pictures on their own side parts something else than light. */
export const LEAST_RIGHTLY = 0.8;

/**
 * States in order of their median, and between two neighbours the boundary with the highest balanced accuracy.
 * @returns undefined where a state has too few pictures, or where a boundary does not tell its two states apart
 */
export function fitLightLadder(states: readonly LitState[]): FittedLadder | undefined {
  const lit = states
    .map(({ name, values }) => ({ name, values: Float64Array.from(values.filter(Number.isFinite)).sort() }))
    .map((state) => ({ ...state, median: median(state.values) }))
    .sort((a, b) => a.median - b.median);
  if (lit.length < 2 || lit.some(({ values }) => values.length < LEAST_LIT_PICTURES)) return undefined;
  const boundaries = lit.slice(1).map((upper, index) => boundaryBetween(lit[index]!.values, upper.values));
  const rightly = Math.min(...boundaries.map((boundary) => boundary.rightly));
  const rises = boundaries.every(({ at }, index) => index === 0 || at > boundaries[index - 1]!.at);
  if (rightly < LEAST_RIGHTLY || !rises) return undefined;
  const steps = lit.slice(1).map((upper, index) => upper.median - lit[index]!.median);
  return {
    ladder: {
      states: lit.map(({ name }) => name),
      boundaries: boundaries.map(({ at }) => at),
      // Half of the way from a boundary to the middle of its states at the most, or a state could not be left.
      margin: Math.min(LIGHT_LADDER.margin, Math.min(...steps) / 4),
      holdSeconds: LIGHT_LADDER.holdSeconds,
    },
    rightly,
  };
}

/** @param lower, upper ascending, at least one value each */
function boundaryBetween(lower: Float64Array, upper: Float64Array): { at: number; rightly: number } {
  const all = Float64Array.from([...lower, ...upper]).sort();
  let best = { at: Number.NaN, rightly: 0, gap: 0 };
  let [below, passed] = [0, 0];
  for (let place = 0; place + 1 < all.length; place++) {
    const [value, next] = [all[place]!, all[place + 1]!];
    if (next === value) continue;
    while (below < lower.length && lower[below]! <= value) below++;
    while (passed < upper.length && upper[passed]! <= value) passed++;
    const rightly = (below / lower.length + 1 - passed / upper.length) / 2;
    const gap = next - value;
    // Of places that are equally good, the one with the most room.
    if (rightly < best.rightly || (rightly === best.rightly && gap <= best.gap)) continue;
    best = { at: (value + next) / 2, rightly, gap };
  }
  return best;
}

function median(ascending: Float64Array): number {
  const half = (ascending.length - 1) / 2;
  return (ascending[Math.floor(half)]! + ascending[Math.ceil(half)]!) / 2;
}
