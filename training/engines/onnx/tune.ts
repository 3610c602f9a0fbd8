// Which plan is fastest here: three steps of each, because thread scaling differs from machine to machine.
import { availableParallelism } from 'node:os';
import type { TrainablePart } from '#onnx';
import { initialValues } from '../../initial-values.ts';
import type { Engine, EnginePlan, Tensors } from '../engine.ts';
import { openOnnxEngine } from './engine.ts';

export interface TimedPlan {
  readonly plan: EnginePlan;
  /** Fastest of the timed steps, forward and backward. */
  readonly stepMs: number;
}

export interface TuneOptions {
  /** Cores to use at most; all by default. */
  readonly cores?: number;
}

const TIMED_STEPS = 3;

/**
 * Times one thread, all cores as threads of one worker, and all cores as workers of one thread each, on the CPU.
 * @param batch pictures of a step
 * @returns the fastest first
 */
export async function tuneOnnxPlan(
  part: TrainablePart,
  batch: number,
  { cores = availableParallelism() }: TuneOptions = {},
): Promise<readonly TimedPlan[]> {
  const candidates = [
    { threads: 1, workers: 1 },
    ...(cores > 1 ? [{ threads: cores, workers: 1 }] : []),
    ...(cores > 1 && batch > 1 ? [{ threads: 1, workers: Math.min(cores, batch) }] : []),
  ];
  const timed: TimedPlan[] = [];
  for (const candidate of candidates) {
    const engine = await openOnnxEngine(part, candidate);
    try {
      timed.push({ plan: engine.plan, stepMs: await fastestStep(engine, part, batch) });
    } finally {
      await engine.close();
    }
  }
  return timed.sort((a, b) => a.stepMs - b.stepMs);
}

async function fastestStep(engine: Engine, part: TrainablePart, batch: number): Promise<number> {
  const inputs = constantTensors(part.inputs, batch);
  const gradients = constantTensors(part.outputs, batch);
  const values = initialValues(part);
  let fastest = Number.POSITIVE_INFINITY;
  for (let step = 0; step <= TIMED_STEPS; step++) {
    const started = performance.now();
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    if (state !== undefined) await engine.backward(state, gradients);
    // The first step opens the sessions.
    if (step > 0) fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest;
}

/** Values that differ along every axis: all equal ones would make a variance of 0. */
export function constantTensors(
  specs: readonly { readonly name: string; readonly shape: readonly number[] }[],
  batch: number,
): Tensors {
  return new Map(
    specs.map(({ name, shape }) => {
      const length = shape.reduce((count, size) => count * size, batch);
      return [
        name,
        { shape: [batch, ...shape], data: Float32Array.from({ length }, (_, index) => Math.sin(index)) },
      ];
    }),
  );
}
