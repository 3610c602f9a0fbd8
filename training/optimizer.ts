// Optimisers on typed arrays: their state is ours, so that a checkpoint can hold it to the last bit.
import { ConfigError } from '#core';
import type { HeadParameter } from '#onnx';
import type { ParameterValues } from './engines/engine.ts';

export interface OptimizerConfig {
  readonly name: 'adamw' | 'sgd';
  /** Decoupled decay per step and unit of learning rate; acts on weights alone, never on biases or normalisation. */
  readonly weightDecay: number;
  /** SGD: Nesterov momentum. AdamW: β1. */
  readonly momentum: number;
  readonly beta2: number;
}

export const OPTIMIZER_DEFAULTS: OptimizerConfig = {
  name: 'adamw',
  weightDecay: 0.01,
  momentum: 0.9,
  beta2: 0.999,
};

const EPSILON = 1e-8;

export interface Optimizer {
  /** Changes `values` in place. @param learningRate of this step */
  step(values: ParameterValues, gradients: ParameterValues, learningRate: number): void;
  /** Moments by parameter name, for a checkpoint. The arrays are the live ones. */
  state(): OptimizerState;
  /** Takes a stored state over, by copy. @throws ConfigError where it belongs to other parameters */
  restore(state: OptimizerState): void;
}

export interface OptimizerState {
  readonly steps: number;
  readonly moments: ReadonlyMap<string, Float32Array<ArrayBuffer>>;
}

/** AdamW (Loshchilov and Hutter, 2019) or SGD with Nesterov momentum. */
export function createOptimizer(config: OptimizerConfig, parameters: readonly HeadParameter[]): Optimizer {
  const momentCount = config.name === 'adamw' ? 2 : 1;
  const moments = new Map<string, Float32Array<ArrayBuffer>>();
  for (const { name, shape } of parameters) {
    const size = shape.reduce((product, axis) => product * axis, 1);
    for (let moment = 1; moment <= momentCount; moment++) {
      moments.set(momentName(name, moment), new Float32Array(size));
    }
  }
  let steps = 0;
  return {
    step(values, gradients, learningRate) {
      steps++;
      for (const { name, role } of parameters) {
        const value = values.get(name)!;
        const gradient = gradients.get(name);
        if (gradient === undefined) continue;
        const decay = role === 'weight' ? learningRate * config.weightDecay : 0;
        const first = moments.get(momentName(name, 1))!;
        if (config.name === 'sgd') nesterov(value, gradient, first, learningRate, config.momentum, decay);
        else
          adam(
            { value, gradient, first, second: moments.get(momentName(name, 2))! },
            config,
            steps,
            learningRate,
            decay,
          );
      }
    },
    state: () => ({ steps, moments }),
    restore(state) {
      for (const [name, moment] of moments) {
        const stored = state.moments.get(name);
        if (stored?.length !== moment.length) {
          throw new ConfigError(`the stored optimiser state has no ${name} of ${moment.length} values`, {
            hint: 'resume with the model and the options that the run was started with',
          });
        }
        moment.set(stored);
      }
      steps = state.steps;
    },
  };
}

function momentName(parameter: string, moment: number): string {
  return `${parameter}/m${moment}`;
}

interface AdamArrays {
  readonly value: Float32Array;
  readonly gradient: Float32Array;
  readonly first: Float32Array;
  readonly second: Float32Array;
}

function adam(
  { value, gradient, first, second }: AdamArrays,
  { momentum: beta1, beta2 }: OptimizerConfig,
  steps: number,
  learningRate: number,
  decay: number,
): void {
  const firstScale = 1 / (1 - beta1 ** steps);
  const secondScale = 1 / (1 - beta2 ** steps);
  for (let index = 0; index < value.length; index++) {
    const slope = gradient[index]!;
    const mean = beta1 * first[index]! + (1 - beta1) * slope;
    const square = beta2 * second[index]! + (1 - beta2) * slope * slope;
    first[index] = mean;
    second[index] = square;
    const move = (learningRate * mean * firstScale) / (Math.sqrt(square * secondScale) + EPSILON);
    value[index] = value[index]! * (1 - decay) - move;
  }
}

function nesterov(
  value: Float32Array,
  gradient: Float32Array,
  velocity: Float32Array,
  learningRate: number,
  momentum: number,
  decay: number,
): void {
  for (let index = 0; index < value.length; index++) {
    const slope = gradient[index]!;
    const speed = momentum * velocity[index]! + slope;
    velocity[index] = speed;
    value[index] = value[index]! * (1 - decay) - learningRate * (slope + momentum * speed);
  }
}

/**
 * Scales all gradients so that their joint norm is at most `limit` (Pascanu et al., 2013).
 * @returns the norm before clipping; not finite where any gradient is not
 */
export function clipGradients(gradients: ParameterValues, limit: number): number {
  let sum = 0;
  for (const gradient of gradients.values()) {
    for (let index = 0; index < gradient.length; index++) sum += gradient[index]! * gradient[index]!;
  }
  const norm = Math.sqrt(sum);
  if (norm > limit) {
    const scale = limit / norm;
    for (const gradient of gradients.values()) {
      for (let index = 0; index < gradient.length; index++) gradient[index] = gradient[index]! * scale;
    }
  }
  return norm;
}
