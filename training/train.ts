// A whole training run: prepares, trains, keeps the run's folder, and tells what happens.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createRandom, deriveSeed } from '#core';
import type { ClassLogitRange, HeadedModel, TrainablePart } from '#onnx';
import { assembleDetector, serialize, setName } from '#onnx';
import { type Checkpoint, loadCheckpoint } from './checkpoint.ts';
import { fillMask } from './dropout.ts';
import type { Engine, ParameterValues } from './engines/engine.ts';
import type { CacheProgress } from './features/feature-source.ts';
import { toStoredRanges } from './logit-range-meter.ts';
import { startState, type TrainingEvent, train } from './loop.ts';
import { completeRequest, isScratch, type TrainOptions, type TrainRequest } from './options.ts';
import { type PreparedTraining, prepareTraining } from './prepare.ts';
import { toArguments } from './run/arguments.ts';
import { openRunFiles, type RunFiles, type TrainingFacts } from './run/run-files.ts';
import { isSheetDue, saveCurves, saveLawSheet } from './run/run-pictures.ts';
import { expectSameRun, restoreState, storedRun } from './run/state-file.ts';
import { openTfevents } from './tfevents.ts';

export interface TrainContext {
  /** Folder of the run; it exists. */
  readonly folder: string;
  /** `weights/last.state` of a run to go on with. */
  readonly resumeFrom?: string;
  readonly signal: AbortSignal;
  /** Where cached features stay for later runs; without, they are removed at the end. */
  readonly cacheFolder?: string;
  /** Write scalars for TensorBoard, too. */
  readonly tfevents?: boolean;
  readonly openEngine: (part: TrainablePart, batch: number) => Promise<Engine>;
}

export type RunEvent =
  | { readonly type: 'note'; readonly text: string }
  | ({ readonly type: 'caching' } & CacheProgress)
  | { readonly type: 'started'; readonly facts: StartFacts }
  | TrainingEvent
  | {
      readonly type: 'saved';
      readonly epoch: number;
      readonly row: Readonly<Record<string, number>>;
      readonly isBest: boolean;
      /** False where the epoch was not sound: the weights of the one before stay. */
      readonly isKept: boolean;
    }
  | {
      readonly type: 'finished';
      readonly files: Pick<RunFiles, 'folder' | 'bestPath' | 'lastPath' | 'rows'>;
    };

export interface StartFacts {
  readonly headed: Pick<HeadedModel, 'spec' | 'freeze'>;
  readonly parameterCount: number;
  readonly training: number;
  readonly validation: number;
  readonly classNames: readonly string[];
  readonly plan: Engine['plan'];
  /** Epochs that were done before. */
  readonly epochsDone: number;
}

/**
 * Trains as `request` says and keeps `folder`. What is true of a run stays true when it is stopped and resumed: equal
 * seeds give equal weights.
 * @throws DataError, ModelError, ConfigError, DeviceError; the reason of `signal` when it aborts
 */
export async function* trainDetector(
  given: TrainRequest,
  context: TrainContext,
): AsyncGenerator<RunEvent, void, undefined> {
  const request = fromAnywhere(given);
  const options = completeRequest(request);
  const stored = context.resumeFrom === undefined ? undefined : await loadCheckpoint(context.resumeFrom);
  // Whoever stops reading the events stops the work behind them, too.
  const end = new AbortController();
  const signal = AbortSignal.any([context.signal, end.signal]);
  const kept = context.cacheFolder;
  const cacheFolder = kept ?? (await mkdtemp(join(tmpdir(), 'edge-detect-')));
  const queue = createEventQueue();
  const preparing = prepareTraining(options, {
    cache: { folder: cacheFolder, keep: kept !== undefined },
    signal,
    openEngine: context.openEngine,
    ...(stored && { expectRun: (identity) => expectSameRun(stored, identity) }),
    onNote: (text) => queue.push({ type: 'note', text }),
    onCache: (progress) => queue.push({ type: 'caching', ...progress }),
  });
  try {
    yield* queue.drainUntil(preparing);
    yield* runPrepared(request, await preparing, { ...context, signal, ...(stored && { stored }) });
  } finally {
    end.abort();
    await preparing.then(
      (prepared) => prepared.close(),
      () => undefined, // its error has reached the reader
    );
    if (kept === undefined) await rm(cacheFolder, { recursive: true, force: true });
  }
}

async function* runPrepared(
  request: TrainRequest,
  prepared: PreparedTraining,
  {
    folder,
    resumeFrom = '',
    stored,
    signal,
    tfevents = false,
  }: TrainContext & { readonly stored?: Checkpoint },
): AsyncGenerator<RunEvent, void, undefined> {
  const options = completeRequest(request);
  const { setup, headed, identity, plan, values, dataset } = prepared;
  let state = startState(values, headed.trainable.parameters, options.loop);
  let earlier: { rows: readonly Readonly<Record<string, number>>[]; seconds: number } = {
    rows: [],
    seconds: 0,
  };
  if (stored !== undefined) {
    earlier = storedRun(stored, resumeFrom);
    state = restoreState(state, stored, identity);
  }
  const files = await openRunFiles({
    folder,
    record: { identity, plan, request, rows: earlier.rows, seconds: earlier.seconds },
    arguments: toArguments(options),
    assemble: (averaged, facts, ranges) => assembleBytes(options, headed, averaged, { facts, ranges }),
  });
  yield {
    type: 'started',
    facts: {
      headed,
      parameterCount: headed.trainable.parameters.reduce(
        (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
        0,
      ),
      training: dataset.splits.train?.length ?? 0,
      validation: dataset.splits.val?.length ?? 0,
      classNames: dataset.classNames,
      plan,
      epochsDone: state.epoch,
    },
  };
  const scalars = tfevents ? await openTfevents(folder, Date.now() / 1000) : undefined;
  const validation = dataset.splits.val ?? [];
  try {
    for await (const event of train(setup, state, options.loop, signal)) {
      yield event;
      if (event.type !== 'epoch') continue;
      const row = await files.save(event);
      await scalars?.write(event.epoch + 1, row, Date.now() / 1000);
      if (isSheetDue(event.epoch, options.loop.epochs)) await saveLawSheet(folder, event, validation);
      yield { type: 'saved', epoch: event.epoch, row, isBest: event.isBest, isKept: event.isSound };
    }
  } finally {
    await scalars?.close();
  }
  await saveCurves(folder, files.rows);
  yield { type: 'finished', files };
}

/** The same run wherever it is resumed from. */
function fromAnywhere(request: TrainRequest): TrainRequest {
  const model = isScratch(request.model) ? request.model : resolve(request.model);
  return { ...request, data: resolve(request.data), model };
}

function assembleBytes(
  options: TrainOptions,
  headed: HeadedModel,
  values: ParameterValues,
  {
    facts,
    ranges,
  }: { readonly facts: TrainingFacts; readonly ranges: readonly (ClassLogitRange | undefined)[] },
): Uint8Array {
  const { monteCarloPasses: passes, loop } = options;
  const { data, preset, freeze, classLoss, gamma, beta } = options;
  const training = {
    data: setName(data),
    ...(preset && { preset }),
    freeze,
    classLoss,
    gamma,
    beta,
    seed: loop.seed,
    ...facts,
  };
  const model = assembleDetector(headed, values, {
    training,
    ...(ranges.some((range) => range !== undefined) && {
      logitRanges: toStoredRanges(ranges, headed.spec.classNames),
    }),
    ...(passes > 0 && { monteCarlo: { passes, masks: fixedMasks(headed, passes, loop.seed) } }),
  });
  return serialize(model);
}

/** The same masks in every file of a run. Validation runs one pass without dropout; the file averages these passes. */
export function fixedMasks({ trainable, spec }: HeadedModel, passes: number, seed: number): Float32Array[] {
  return trainable.inputs
    .filter(({ kind }) => kind === 'mask')
    .map(({ shape }, level) => {
      const mask = new Float32Array(passes * shape.reduce((a, b) => a * b, 1));
      fillMask(mask, spec.dropout, createRandom(deriveSeed(seed, 11, level)));
      return mask;
    });
}

/** Events of callbacks as something that a generator can yield. */
function createEventQueue() {
  const events: RunEvent[] = [];
  let wake: (() => void) | undefined;
  return {
    push(event: RunEvent): void {
      events.push(event);
      wake?.();
    },
    /** Yields what comes until the work is over; its failure is left to whoever awaits it. */
    async *drainUntil(work: Promise<unknown>): AsyncGenerator<RunEvent, void, undefined> {
      let over = false;
      const done = work.then(
        () => undefined,
        () => undefined,
      );
      done.then(() => {
        over = true;
        wake?.();
      });
      while (true) {
        const event = events.shift();
        if (event !== undefined) yield event;
        else if (over) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
