// The running average of weights that is validated and shipped (EMA), and the running statistics of normalisation.
import type { ParameterValues } from './engines/engine.ts';

export interface WeightAverage {
  /** Averaged values by name; the live arrays. */
  readonly values: ParameterValues;
  /** Takes the values after a step in. */
  update(values: ParameterValues): void;
  readonly updates: number;
  restore(values: ParameterValues, updates: number): void;
}

/**
 * Exponential average with a decay that rises from 0 to `decay` over about `tau` updates, so that a short run is not
 * an average of its random start: d = decay · (1 − exp(−updates / tau)).
 */
export function createWeightAverage(start: ParameterValues, decay: number, tau: number): WeightAverage {
  const values = new Map([...start].map(([name, value]) => [name, value.slice()]));
  let updates = 0;
  return {
    values,
    get updates() {
      return updates;
    },
    update(current) {
      updates++;
      const keep = decay * (1 - Math.exp(-updates / tau));
      for (const [name, average] of values) {
        const value = current.get(name)!;
        for (let index = 0; index < average.length; index++) {
          average[index] = keep * average[index]! + (1 - keep) * value[index]!;
        }
      }
    },
    restore(stored, count) {
      for (const [name, average] of values) average.set(stored.get(name)!);
      updates = count;
    },
  };
}

/** Weight of the newest batch in the running mean and variance of batch normalisation. */
const STATISTICS_MOMENTUM = 0.03;

const EARLY_STEPS = 10;

/**
 * Moves the running statistics towards those of a batch, in place. Early steps move them far, over a window of about a
 * tenth of the steps so far: a young network changes fast, and must not be judged by the zeros and ones it began with.
 * @param step number of this step, from 0
 */
export function updateStatistics(running: ParameterValues, batch: ParameterValues, step: number): void {
  const share = Math.max(STATISTICS_MOMENTUM, EARLY_STEPS / (step + EARLY_STEPS));
  for (const [name, statistics] of batch) {
    const target = running.get(name)!;
    for (let index = 0; index < target.length; index++) {
      target[index] = target[index]! + share * (statistics[index]! - target[index]!);
    }
  }
}
