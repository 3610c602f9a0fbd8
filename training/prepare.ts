// From options to everything that a loop works on: data, detector, engine, criterion, batches.
import { join } from 'node:path';
import { ConfigError, DataError } from '#core';
import {
  type Dataset,
  expectSoundDataset,
  type FaultSummary,
  formatFault,
  type LabelledPicture,
  loadDataset,
  summarizeFaults,
} from '#data/datasets';
import type { HeadedModel, TrainablePart } from '#onnx';
import { rangesOfClasses } from '#onnx';
import { type CriterionConfig, classLossKind, type RangeReference } from './criterion-config.ts';
import { createDetectionCriterion } from './detection-criterion.ts';
import type { Engine, EnginePlan, ParameterValues } from './engines/engine.ts';
import { type CacheProgress, createFeatureSource } from './features/feature-source.ts';
import { initialValues } from './initial-values.ts';
import { type OpenHost, openHost } from './open-host.ts';
import type { TrainOptions } from './options.ts';
import { isScratch, presetCriterion } from './options.ts';
import type { BatchSource } from './pictures/batch-source.ts';
import { createPictureSource } from './pictures/picture-source.ts';
import type { RunIdentity } from './run/state-file.ts';
import { buildScratch } from './scratch.ts';
import type { TrainingSetup } from './setup.ts';
import { createValidator } from './validate.ts';

export interface PreparedTraining {
  readonly setup: TrainingSetup;
  readonly headed: HeadedModel;
  readonly dataset: Dataset;
  readonly identity: RunIdentity;
  readonly plan: EnginePlan;
  /** First values of parameters and running statistics. */
  readonly values: ParameterValues;
  close(): Promise<void>;
}

export interface PrepareContext {
  /** Folder for cached features, and whether they stay for later runs. */
  readonly cache: { readonly folder: string; readonly keep: boolean };
  readonly signal: AbortSignal;
  /** The engine for this part; its choice is the caller's. */
  readonly openEngine: (part: TrainablePart, batch: number) => Promise<Engine>;
  /** Throws where a run that is resumed was another one; asked before anything is computed. */
  readonly expectRun?: (identity: RunIdentity) => void;
  readonly onNote: (note: string) => void;
  readonly onCache: (progress: CacheProgress) => void;
}

/**
 * @throws DataError, ModelError, ConfigError where data, model or options cannot be used
 */
export async function prepareTraining(
  options: TrainOptions,
  context: PrepareContext,
): Promise<PreparedTraining> {
  const dataset = await loadDataset(options.data, options.singleClass ? { mapClasses: 'single' } : {});
  expectSoundDataset(dataset);
  for (const fault of summarizeFaults(dataset)) context.onNote(faultNote(fault));
  const training = expectPictures(dataset);
  const validation = dataset.splits.val ?? [];
  if (validation.length === 0) {
    context.onNote(
      `${options.data} has no val split: nothing is validated, and best is the lowest training loss`,
    );
  }
  const { headed, start, rangeReference } = await openDetector(options, dataset, context);
  const { spec, trainable: part } = headed;
  const identity: RunIdentity = {
    classNames: spec.classNames,
    start,
    input: [spec.input.width, spec.input.height],
    bins: spec.bins,
  };
  context.expectRun?.(identity);
  const engine = await context.openEngine(part, options.batch);
  let source: BatchSource | undefined;
  try {
    source = await openSource(options, headed, { training, validation }, context);
    const criterion = createDetectionCriterion(spec, criterionConfig(options, headed, rangeReference));
    const values = initialValues(part);
    const isHeldToLayer = options.logitRange !== 'off' && rangeReference === 'frozen-layer';
    const reference = isHeldToLayer ? copyOf(values) : undefined;
    const validate = createValidator({
      spec,
      part,
      engine,
      criterion,
      source,
      ...(reference && { reference }),
    });
    const opened = source;
    return {
      setup: {
        part,
        engine,
        criterion,
        classCount: spec.classNames.length,
        dropout: spec.dropout,
        source: opened,
        validate: (values) => validate(values, context.signal),
        ...(reference && { reference }),
      },
      headed,
      dataset,
      identity,
      plan: engine.plan,
      values,
      async close() {
        await Promise.all([engine.close(), opened.close()]);
      },
    };
  } catch (error) {
    await Promise.all([engine.close(), source?.close()]);
    throw error;
  }
}

/** What was repaired or left out is said, because it changes what is learned. */
function faultNote({ kind, count, fileCount, faults: [first] }: FaultSummary): string {
  const where = fileCount === 1 ? '' : ` in ${fileCount} files`;
  return `${count} × ${kind}${where}${first === undefined ? '' : `, first: ${formatFault(first)}`}`;
}

function expectPictures(dataset: Dataset): readonly LabelledPicture[] {
  const training = dataset.splits.train ?? [];
  if (training.length === 0) {
    throw new DataError(`${dataset.source}: the train split has no pictures`, {
      hint: `its splits are ${Object.keys(dataset.splits).join(', ') || 'none'}; \`edge-detect inspect data=${dataset.source}\` shows what is there`,
    });
  }
  return training;
}

async function openDetector(
  options: TrainOptions,
  { classNames }: Dataset,
  context: PrepareContext,
): Promise<{
  readonly headed: HeadedModel;
  readonly start: string;
  /** Of no meaning where the logit range is off. */
  readonly rangeReference: RangeReference;
}> {
  if (isScratch(options.model)) {
    return {
      headed: buildScratch(options, classNames),
      start: options.model,
      rangeReference: 'frozen-layer',
    };
  }
  const host = await openHost(options, classNames);
  for (const note of host.notes) context.onNote(note);
  const rangeReference =
    options.logitRange === 'off'
      ? 'frozen-layer'
      : referenceOf(host, classNames, { kind: options.logitRange, onNote: context.onNote });
  return { headed: host.headed, start: host.sha256, rangeReference };
}

/**
 * The range is that of our own class layer before the adaptation; other classes have none, so for them it is the range
 * that training stored, class by class. A foreign head has neither.
 */
function referenceOf(
  { headed, classNames: before, logitRanges }: OpenHost,
  now: readonly string[],
  { kind, onNote }: { readonly kind: TrainOptions['logitRange']; readonly onNote: PrepareContext['onNote'] },
): RangeReference {
  const own = headed.host?.family === 'edge-detect';
  if (own && JSON.stringify(before) === JSON.stringify(now)) return 'frozen-layer';
  const { ranges, missing } = rangesOfClasses(logitRanges, now);
  if (own && missing.length === 0) {
    // ZS-Norm does not see the scale of a layer that starts anew, so nothing gives it one.
    const scale =
      kind === 'zs-norm'
        ? '; zs-norm leaves the scale of the new class layer open, which sals sets in the graph'
        : '';
    onNote(
      `logit_range: the classes are no longer ${before.join(', ')}, so each class is held to the range that it had in the training of this model${scale}`,
    );
    return ranges;
  }
  throw new ConfigError(
    own
      ? `logit_range: the model's classes are ${before.join(', ')}, those of the data ${now.join(', ')}, and no range is stored for ${missing.join(', ')}: there is no range to keep`
      : 'logit_range: the class layer of this host is replaced, so there is no range to keep',
    {
      hint: 'adapt a model that this program trained, with classes that it knows, or leave logit_range= away',
    },
  );
}

function openSource(
  options: TrainOptions,
  { spec, frozen, pictureInput, trainable }: HeadedModel,
  pictures: {
    readonly training: readonly LabelledPicture[];
    readonly validation: readonly LabelledPicture[];
  },
  { cache, signal, onCache }: PrepareContext,
): BatchSource | Promise<BatchSource> {
  const common = {
    ...pictures,
    input: spec.input,
    preprocess: spec.preprocess,
    batchSize: options.batch,
    seed: options.loop.seed,
    inputName: pictureInput,
  };
  if (frozen === undefined)
    return createPictureSource({ ...common, augment: (epoch) => augmentAt(options, epoch) });
  return createFeatureSource({
    ...common,
    frozen,
    features: trainable.inputs.filter(({ kind }) => kind === 'features'),
    augment: options.augment,
    signal,
    onProgress: onCache,
    ...(options.cache === 'disk' && {
      cache: {
        folder: join(cache.folder, 'features'),
        variants: options.variants,
        budgetBytes: options.cacheBytes,
        keep: cache.keep,
      },
    }),
  });
}

/** The last tenth of a run sees whole pictures, as it will in use (YOLOX; `close_mosaic` of YOLOv8). */
function augmentAt({ augment, loop }: TrainOptions, epoch: number): TrainOptions['augment'] {
  return epoch < 0.9 * loop.epochs ? augment : { ...augment, mosaic: 0 };
}

function criterionConfig(
  options: TrainOptions,
  { spec }: HeadedModel,
  reference: RangeReference,
): CriterionConfig {
  const base = presetCriterion(options.preset);
  return {
    ...base,
    weights: { ...base.weights, ...options.weights },
    classification: {
      ...base.classification,
      kind: classLossKind(spec.classLaw, options.classLoss),
      gamma: options.gamma,
      beta: options.beta,
    },
    trainBox: !options.freezeBox,
    ...options.criterion,
    logitRange:
      options.logitRange === 'off'
        ? { kind: 'off' }
        : options.logitRange === 'penalty'
          ? { kind: 'penalty', lambda: 10, reference }
          : { kind: 'zs-norm', reference },
  };
}

function copyOf(values: ParameterValues): ParameterValues {
  return new Map([...values].map(([name, value]) => [name, value.slice()]));
}
