// The training loop on one page: batch → forward → losses → backward → step, then validate and tell.
import { createRandom, DataError, deriveSeed } from '#core';
import type { ClassLogitRange, HeadParameter } from '#onnx';
import { createWeightAverage, updateStatistics, type WeightAverage } from './average.ts';
import type { LossTerms } from './criterion.ts';
import { dropoutMasks } from './dropout.ts';
import type { ParameterValues, Tensors } from './engines/engine.ts';
import { createLogitRangeMeter, type LogitRangeMeter } from './logit-range-meter.ts';
import { clipGradients, createOptimizer, type Optimizer, type OptimizerConfig } from './optimizer.ts';
import type { TrainingBatch } from './pictures/batch-source.ts';
import { learningRate, type ScheduleConfig } from './schedule.ts';
import type { TrainingSetup } from './setup.ts';
import { createTermMeans } from './term-means.ts';
import type { ValidationResult } from './validate.ts';

export interface LoopConfig {
  readonly epochs: number;
  readonly seed: number;
  readonly optimizer: OptimizerConfig;
  readonly schedule: ScheduleConfig;
  /** Largest joint norm of the gradients. */
  readonly clip: number;
  /** Decay of the averaged weights, and the updates after which it is reached. */
  readonly average: { readonly decay: number; readonly tau: number };
  /** Epochs without a better result before the run ends; 0 for never. */
  readonly patience: number;
}

/** What changes during a run; the arrays are live. */
export interface RunState {
  /** Epochs that are done. */
  readonly epoch: number;
  /** Optimiser steps that were made or skipped. */
  readonly step: number;
  /** Parameters and running statistics by name. */
  readonly values: ParameterValues;
  readonly average: WeightAverage;
  readonly optimizer: Optimizer;
  readonly best: { readonly fitness: number; readonly epoch: number };
}

export type TrainingEvent =
  | {
      readonly type: 'step';
      readonly epoch: number;
      readonly stepOfEpoch: number;
      readonly stepsPerEpoch: number;
      readonly terms: LossTerms;
    }
  /** A step whose loss or gradient was not finite: its weights were left as they were. */
  | {
      readonly type: 'skipped';
      readonly epoch: number;
      readonly step: number;
      readonly names: readonly string[];
    }
  | EpochEvent
  | { readonly type: 'stopped'; readonly epoch: number; readonly reason: 'epochs' | 'patience' };

/** An epoch is over. Whoever keeps checkpoints writes `state` before asking for the next event. */
export interface EpochEvent {
  readonly type: 'epoch';
  readonly epoch: number;
  readonly seconds: number;
  readonly train: LossTerms;
  readonly validation?: ValidationResult;
  readonly learningRate: number;
  readonly skippedSteps: number;
  /** Of the class logits at assigned anchors, by class id; undefined for classes with too few. */
  readonly logitRanges: readonly (ClassLogitRange | undefined)[];
  /** Weights and losses are numbers. An epoch that is not sound is never kept: the checkpoint before it stays. */
  readonly isSound: boolean;
  readonly isBest: boolean;
  readonly state: RunState;
}

/** Non-finite steps, or epochs, in a row that end a run. */
const FAULT_LIMIT = 3;

export function startState(
  values: ParameterValues,
  parameters: readonly HeadParameter[],
  config: LoopConfig,
): RunState {
  return {
    epoch: 0,
    step: 0,
    values,
    average: createWeightAverage(values, config.average.decay, config.average.tau),
    optimizer: createOptimizer(config.optimizer, parameters),
    best: { fitness: -1, epoch: -1 },
  };
}

/**
 * Trains from `start` on. The same setup, start and seed give the same weights.
 * @throws DataError after three steps or epochs in a row that were not finite; the reason of `signal` when it aborts
 */
export async function* train(
  setup: TrainingSetup,
  start: RunState,
  config: LoopConfig,
  signal: AbortSignal,
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { source } = setup;
  let { step, best } = start;
  const { values, average, optimizer } = start;
  // Both outlive an epoch: a small set has a single step in each.
  let skippedInRow = 0;
  let unsoundInRow = 0;
  let names: readonly string[] = [];
  for (let epoch = start.epoch; epoch < config.epochs; epoch++) {
    const started = performance.now();
    const means = createTermMeans();
    const meter = createLogitRangeMeter(setup.classCount, config.seed, epoch);
    let skippedSteps = 0;
    let stepOfEpoch = 0;
    let rate = 0;
    for await (const batch of source.epoch(epoch)) {
      signal.throwIfAborted();
      names = batch.names;
      rate = learningRate(
        config.schedule,
        step,
        config.epochs * source.batchesPerEpoch,
        source.batchesPerEpoch,
      );
      const terms = await trainStep(setup, batch, start, config, {
        rate,
        place: [epoch, stepOfEpoch],
        meter,
      });
      step++;
      stepOfEpoch++;
      if (terms === undefined) {
        skippedSteps++;
        yield { type: 'skipped', epoch, step, names };
        if (++skippedInRow === FAULT_LIMIT)
          throw diverged(`${FAULT_LIMIT} times in a row`, epoch, step, names);
        continue;
      }
      skippedInRow = 0;
      means.add(terms, batch.names.length);
      yield { type: 'step', epoch, stepOfEpoch, stepsPerEpoch: source.batchesPerEpoch, terms };
    }
    const validation = await setup.validate(average.values);
    const fitness = validation?.fitness ?? -means.value().total;
    const isSound =
      Number.isFinite(means.value().total + (validation?.terms.total ?? 0)) &&
      areFinite(values) &&
      areFinite(average.values);
    unsoundInRow = isSound ? 0 : unsoundInRow + 1;
    // While nothing is found at all, the newest weights are the best, and patience has not begun.
    const isBest = isSound && (best.epoch < 0 || fitness > (best.fitness || -1));
    if (isBest) best = { fitness, epoch };
    yield {
      type: 'epoch',
      epoch,
      seconds: (performance.now() - started) / 1000,
      train: means.value(),
      ...(validation && { validation }),
      learningRate: rate,
      skippedSteps,
      logitRanges: meter.value(),
      isSound,
      isBest,
      state: { epoch: epoch + 1, step, values, average, optimizer, best },
    };
    if (unsoundInRow === FAULT_LIMIT)
      throw diverged(`after ${FAULT_LIMIT} epochs in a row`, epoch, step, names);
    if (config.patience > 0 && epoch - best.epoch >= config.patience) {
      yield { type: 'stopped', epoch, reason: 'patience' };
      return;
    }
  }
  if (best.epoch < 0) throw diverged('after any epoch', config.epochs - 1, step, names);
  yield { type: 'stopped', epoch: config.epochs - 1, reason: 'epochs' };
}

/** One step; undefined where it was skipped because loss or gradient was not finite. */
async function trainStep(
  { part, engine, criterion, dropout, reference }: TrainingSetup,
  batch: TrainingBatch,
  { values, average, optimizer }: RunState,
  config: LoopConfig,
  {
    rate,
    place,
    meter,
  }: { readonly rate: number; readonly place: readonly [number, number]; readonly meter: LogitRangeMeter },
): Promise<LossTerms | undefined> {
  const random = createRandom(deriveSeed(config.seed, 7, ...place));
  const inputs: Tensors = new Map([
    ...batch.inputs,
    ...dropoutMasks(part, batch.names.length, dropout, random),
  ]);
  const held = reference && (await engine.forward(inputs, reference, { mode: 'evaluate' }));
  const { outputs, state } = await engine.forward(inputs, values, { mode: 'train' });
  const { terms, gradients } = criterion.evaluate(outputs, batch.targets, held?.outputs);
  if (!Number.isFinite(terms.total)) {
    engine.discard(state!);
    return undefined;
  }
  criterion.visitPositives(meter.add);
  const backward = await engine.backward(state!, gradients);
  if (!Number.isFinite(clipGradients(backward.gradients, config.clip))) return undefined;
  optimizer.step(values, backward.gradients, rate);
  updateStatistics(values, backward.statistics, average.updates);
  average.update(values);
  return terms;
}

function areFinite(values: ParameterValues): boolean {
  for (const array of values.values()) if (!array.every(Number.isFinite)) return false;
  return true;
}

function diverged(when: string, epoch: number, step: number, names: readonly string[]): DataError {
  return new DataError(
    `losses or weights were not finite ${when} (epoch ${epoch + 1}, step ${step}); the last batch held ${names.join(', ')}`,
    {
      hint: 'the last good checkpoint stays, if there was one; lower lr0=, or look at these pictures and their labels with `edge-detect inspect data=…`',
    },
  );
}
