import { describe, expect, it } from 'vitest';
import { createWeightAverage, updateStatistics } from '../../training/average.ts';
import type { ParameterValues } from '../../training/engines/engine.ts';
import { clipGradients, createOptimizer, OPTIMIZER_DEFAULTS } from '../../training/optimizer.ts';
import { learningRate } from '../../training/schedule.ts';

const PARAMETERS = [
  { name: 'w', shape: [2], role: 'weight' },
  { name: 'b', shape: [1], role: 'bias' },
] as const;

const values = (w: number[], b: number[]): ParameterValues =>
  new Map([
    ['w', Float32Array.from(w)],
    ['b', Float32Array.from(b)],
  ]);

describe('AdamW', () => {
  it('moves by the learning rate against the sign of the first gradient, and decays weights alone', () => {
    const optimizer = createOptimizer({ ...OPTIMIZER_DEFAULTS, weightDecay: 0.5 }, PARAMETERS);
    const parameters = values([1, 1], [1]);
    optimizer.step(parameters, values([0.3, -20], [7]), 0.1);
    // m̂ / (√v̂ + ε) is the sign of a first gradient; decay takes 0.1 · 0.5 of the weight.
    expect(parameters.get('w')![0]).toBeCloseTo(0.95 - 0.1, 5);
    expect(parameters.get('w')![1]).toBeCloseTo(0.95 + 0.1, 5);
    expect(parameters.get('b')![0]).toBeCloseTo(0.9, 5);
  });

  it('follows the published recursion over three steps', () => {
    const optimizer = createOptimizer({ ...OPTIMIZER_DEFAULTS, weightDecay: 0 }, PARAMETERS);
    const parameters = values([0, 0], [0]);
    const gradients = [1, -2, 0.5];
    let [first, second, expected] = [0, 0, 0];
    gradients.forEach((gradient, index) => {
      optimizer.step(parameters, values([gradient, 0], [0]), 0.01);
      first = 0.9 * first + 0.1 * gradient;
      second = 0.999 * second + 0.001 * gradient ** 2;
      const steps = index + 1;
      expected -= (0.01 * (first / (1 - 0.9 ** steps))) / (Math.sqrt(second / (1 - 0.999 ** steps)) + 1e-8);
    });
    expect(parameters.get('w')![0]).toBeCloseTo(expected, 6);
  });

  it('goes on from a stored state to the last bit', () => {
    const run = (interrupted: boolean) => {
      let optimizer = createOptimizer(OPTIMIZER_DEFAULTS, PARAMETERS);
      const parameters = values([1, 2], [3]);
      for (let step = 0; step < 6; step++) {
        if (interrupted && step === 3) {
          const stored = optimizer.state();
          optimizer = createOptimizer(OPTIMIZER_DEFAULTS, PARAMETERS);
          optimizer.restore(stored);
        }
        optimizer.step(parameters, values([Math.sin(step), Math.cos(step)], [step]), 0.01);
      }
      return [...parameters.get('w')!, ...parameters.get('b')!];
    };
    expect(run(true)).toEqual(run(false));
  });

  it('refuses a state of other parameters', () => {
    const other = createOptimizer(OPTIMIZER_DEFAULTS, [{ name: 'w', shape: [3], role: 'weight' }]);
    const optimizer = createOptimizer(OPTIMIZER_DEFAULTS, PARAMETERS);
    expect(() => optimizer.restore(other.state())).toThrow(/no w\/m1 of 2 values/);
  });
});

describe('SGD', () => {
  it('looks ahead with Nesterov momentum', () => {
    const optimizer = createOptimizer(
      { ...OPTIMIZER_DEFAULTS, name: 'sgd', weightDecay: 0, momentum: 0.5 },
      PARAMETERS,
    );
    const parameters = values([0, 0], [0]);
    optimizer.step(parameters, values([1, 0], [0]), 0.1);
    expect(parameters.get('w')![0]).toBeCloseTo(-0.15, 6);
    optimizer.step(parameters, values([1, 0], [0]), 0.1);
    expect(parameters.get('w')![0]).toBeCloseTo(-0.15 - 0.1 * (1 + 0.5 * 1.5), 6);
  });
});

describe('clipping', () => {
  it('scales the joint norm and tells the one before', () => {
    const gradients = values([3, 0], [4]);
    expect(clipGradients(gradients, 1)).toBeCloseTo(5, 6);
    expect(gradients.get('w')![0]).toBeCloseTo(0.6, 6);
    expect(gradients.get('b')![0]).toBeCloseTo(0.8, 6);
  });

  it('leaves short gradients alone and reports what is not finite', () => {
    const gradients = values([0.3, 0], [0.4]);
    clipGradients(gradients, 1);
    expect(gradients.get('w')![0]).toBe(Math.fround(0.3));
    expect(clipGradients(values([Number.NaN, 0], [0]), 1)).toBeNaN();
  });
});

describe('the learning rate', () => {
  const schedule = { lr0: 0.01, lrf: 0.1, warmupEpochs: 2 };

  it('rises linearly, peaks at lr0 and ends at lr0 * lrf', () => {
    expect(learningRate(schedule, 0, 100, 10)).toBeCloseTo(0.0005, 9);
    expect(learningRate(schedule, 19, 100, 10)).toBeCloseTo(0.01, 9);
    expect(learningRate(schedule, 20, 100, 10)).toBeCloseTo(0.01, 9);
    expect(learningRate(schedule, 60, 100, 10)).toBeCloseTo(0.01 * 0.55, 9);
    expect(learningRate(schedule, 100, 100, 10)).toBeCloseTo(0.001, 9);
  });

  it('warms up for no more than a third of a short run', () => {
    expect(learningRate(schedule, 3, 9, 3)).toBeCloseTo(0.01, 9);
  });
});

describe('averages', () => {
  it('forgets the start at once and remembers more and more', () => {
    const average = createWeightAverage(values([0, 0], [0]), 0.9, 1);
    average.update(values([1, 0], [0]));
    const keep = 0.9 * (1 - Math.exp(-1));
    expect(average.values.get('w')![0]).toBeCloseTo(1 - keep, 6);
    expect(average.updates).toBe(1);
  });

  it('takes the first statistics as they are, half of those at step 10, and 0.03 later', () => {
    const running = values([1, 2], [3]);
    const batch = (mean: number) => new Map([['b', Float32Array.of(mean)]]);
    updateStatistics(running, batch(4), 0);
    expect(running.get('b')![0]).toBe(4);
    updateStatistics(running, batch(6), 10);
    expect(running.get('b')![0]).toBe(5);
    updateStatistics(running, batch(6), 1000);
    expect(running.get('b')![0]).toBeCloseTo(5.03, 6);
  });
});
