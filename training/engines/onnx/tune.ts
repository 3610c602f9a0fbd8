// Which plan is fastest here: three steps of each, because thread scaling differs from machine to machine.
import { availableParallelism } from 'node:os';
import type { TrainablePart } from '#onnx';
import { initialValues } from '../../initial-values.ts';
import type { Engine, EnginePlan, ParameterValues, Tensors } from '../engine.ts';
import { openOnnxEngine } from './engine.ts';

export interface TimedPlan {
  readonly plan: EnginePlan;
  /** Fastest of the timed steps, forward and backward. */
  readonly stepMs: number;
}

export interface TuneOptions {
  /** Cores to use at most; all by default. */
  readonly cores?: number;
  readonly ortLibrary?: string;
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
  { cores = availableParallelism(), ortLibrary }: TuneOptions = {},
): Promise<readonly TimedPlan[]> {
  const candidates = [
    { threads: 1, workers: 1 },
    ...(cores > 1 ? [{ threads: cores, workers: 1 }] : []),
    ...(cores > 1 && batch > 1 ? [{ threads: 1, workers: Math.min(cores, batch) }] : []),
  ];
  const step: StepData = {
    inputs: constantTensors(part.inputs, batch),
    gradients: constantTensors(part.outputs, batch),
    values: initialValues(part),
  };
  const timed: TimedPlan[] = [];
  for (const candidate of candidates) {
    const engine = await openOnnxEngine(part, {
      ...candidate,
      ...(ortLibrary !== undefined && { ortLibrary }),
    });
    try {
      timed.push({ plan: engine.plan, stepMs: await fastestStep(engine, step) });
    } finally {
      await engine.close();
    }
  }
  return timed.sort((a, b) => a.stepMs - b.stepMs);
}

/** What every plan is timed on: an engine keeps none of it. */
interface StepData {
  readonly inputs: Tensors;
  readonly gradients: Tensors;
  readonly values: ParameterValues;
}

async function fastestStep(engine: Engine, { inputs, gradients, values }: StepData): Promise<number> {
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

/** Prime, so that the values do not repeat along an axis. */
const PATTERN_LENGTH = 1021;

/**
 * Values that differ along every axis: all equal ones would make a variance of 0. A pattern repeated, because a batch of
 * features has tens of millions of values, and a sine for each took longer than the steps that are timed.
 */
function constantTensors(
  specs: readonly { readonly name: string; readonly shape: readonly number[] }[],
  batch: number,
): Tensors {
  const pattern = Float32Array.from({ length: PATTERN_LENGTH }, (_, index) => Math.sin(index));
  return new Map(
    specs.map(({ name, shape }) => {
      const data = new Float32Array(shape.reduce((count, size) => count * size, batch));
      for (let start = 0; start < data.length; start += PATTERN_LENGTH) {
        data.set(pattern.subarray(0, Math.min(PATTERN_LENGTH, data.length - start)), start);
      }
      return [name, { shape: [batch, ...shape], data }];
    }),
  );
}
