// Batches of features of a frozen part: read from a cache on disk, or computed again for every batch.
import { deriveSeed, type Letterbox } from '#core';
import type { ModelProto } from '#onnx';
import type { Provider } from '#runtime';
import { type AugmentConfig, expectAugmentConfig } from '../pictures/augment-config.ts';
import type { BatchSource, TrainingBatch, ValidationBatch } from '../pictures/batch-source.ts';
import { epochOrder, sampleRandom } from '../pictures/epoch-order.ts';
import {
  allOf,
  DEFAULT_KEEP_BYTES,
  expectBatchSize,
  type SourceOptions,
} from '../pictures/picture-source.ts';
import { prefetched } from '../pictures/prefetch.ts';
import { createSampleDrawer, loadPlainInto } from '../pictures/sample-drawer.ts';
import { joinTargets } from '../pictures/targets.ts';
import { createTensorPool, type TensorShape } from '../pictures/tensor-pool.ts';
import type { PictureTargets } from '../pictures/types.ts';
import { openFeatureCache, sizeOf } from './feature-cache.ts';
import { type FrozenPart, openFrozenPart } from './frozen-part.ts';

/** Where and how much. */
export interface CacheOptions {
  /** A folder of its own, made where it is missing. Never that of two runs at once. */
  readonly folder: string;
  /** Augmented variants of every training picture, beside the picture as it is. */
  readonly variants: number;
  readonly budgetBytes: number;
  /** Whether the cache stays after `close`, for a later run of the same pictures. */
  readonly keep: boolean;
}

export interface CacheProgress {
  /** Pictures and variants that went through the frozen part. */
  readonly done: number;
  readonly total: number;
}

export interface FeatureSourceOptions extends SourceOptions {
  /** Picture in, boundary tensors out. */
  readonly frozen: ModelProto;
  /** Name of its picture input. */
  readonly inputName: string;
  /** Boundary tensors, without the axis N. */
  readonly features: readonly TensorShape[];
  readonly augment: AugmentConfig;
  /** `undefined` computes features again in every epoch, in single precision. */
  readonly cache?: CacheOptions;
  /** The CPU without. */
  readonly provider?: Provider;
  /** Sessions of one thread; 2 without on the CPU, 1 on a GPU. */
  readonly sessions?: number;
  /** Called while the cache is made; never where an earlier one is taken up. */
  readonly onProgress?: (progress: CacheProgress) => void;
  /** Stops the making of the cache. */
  readonly signal?: AbortSignal;
}

/** Purpose of `deriveSeed`: with which variant a picture begins. */
const VARIANT = 3;

/**
 * @throws ConfigError where the cache would be larger than its budget or the disk, DataError for a damaged picture,
 * ModelError where the frozen part cannot be run
 */
export async function createFeatureSource(options: FeatureSourceOptions): Promise<BatchSource> {
  expectBatchSize(options.batchSize);
  expectAugmentConfig(options.augment);
  const samples =
    options.cache === undefined
      ? await computedSamples(options)
      : await cachedSamples(options, options.cache);
  return createSource(options, samples);
}

interface PlainNotes {
  readonly targets: PictureTargets;
  readonly letterbox: Letterbox;
}

/** One sample at a time, whatever it comes from. */
interface Samples {
  /** @param target its part of every boundary tensor */
  trainingInto(target: readonly Float32Array[], epoch: number, index: number): Promise<PictureTargets>;
  validationInto(target: readonly Float32Array[], index: number): Promise<PlainNotes>;
  close(): Promise<void>;
}

async function cachedSamples(options: FeatureSourceOptions, cache: CacheOptions): Promise<Samples> {
  const store = await openFeatureCache(options, cache, () => openPart(options));
  const variantCount = 1 + cache.variants;
  return {
    async trainingInto(target, epoch, index) {
      // Every picture goes through all of its variants in turn, each from a place of its own.
      const variant = (deriveSeed(options.seed, VARIANT, index) + epoch) % variantCount;
      const record = store.trainingRecord(index, variant);
      await store.readInto(target, record);
      return store.notes(record).targets;
    },
    async validationInto(target, index) {
      const record = store.validationRecord(index);
      await store.readInto(target, record);
      const { targets, letterbox } = store.notes(record);
      return { targets, letterbox: letterbox! };
    },
    close: () => store.close(),
  };
}

async function computedSamples(options: FeatureSourceOptions): Promise<Samples> {
  const { training, validation, augment, seed, keepBytes = DEFAULT_KEEP_BYTES } = options;
  const frozen = await openPart(options);
  const drawer = createSampleDrawer(training, { ...options, keepBytes });
  async function extractInto<Filled>(
    target: readonly Float32Array[],
    fill: (picture: Float32Array) => Promise<Filled>,
  ): Promise<Filled> {
    const { filled, features } = await frozen.extract(fill);
    features.forEach((values, place) => {
      target[place]!.set(values);
    });
    return filled;
  }
  return {
    trainingInto: (target, epoch, index) =>
      extractInto(target, (picture) =>
        drawer.drawInto(picture, { index, config: augment, random: sampleRandom(seed, epoch, index) }),
      ),
    validationInto: (target, index) =>
      extractInto(target, (picture) => loadPlainInto(picture, validation[index]!, options)),
    close: () => frozen.close(),
  };
}

function openPart(options: FeatureSourceOptions): Promise<FrozenPart> {
  const { frozen, inputName, input, features, provider = { kind: 'cpu' } } = options;
  const sessions = options.sessions ?? (provider.kind === 'cpu' ? 2 : 1);
  return openFrozenPart({ model: frozen, inputName, input, features, provider, sessions });
}

function createSource(options: FeatureSourceOptions, samples: Samples): BatchSource {
  const { training, validation, features, batchSize, seed } = options;
  const pool = createTensorPool(features, batchSize);
  const take = (slot: number, count: number) => {
    const inputs = pool.take(slot, count);
    const rows = (place: number) =>
      features.map((feature) => {
        const size = sizeOf(feature);
        return inputs.get(feature.name)!.data.subarray(place * size, (place + 1) * size);
      });
    return { inputs, rows };
  };
  const batchesPerEpoch = Math.ceil(training.length / batchSize);
  let closing: Promise<void> | undefined;
  return {
    pictureCount: training.length,
    validationCount: validation.length,
    batchesPerEpoch,
    epoch(epoch, { signal, skipBatches = 0 } = {}) {
      const order = epochOrder(seed, epoch, training.length);
      const make = async (batch: number, slot: number): Promise<TrainingBatch> => {
        const places = Array.from(order.subarray(batch * batchSize, (batch + 1) * batchSize));
        const { inputs, rows } = take(slot, places.length);
        const targets = await allOf(places, (index, place) =>
          samples.trainingInto(rows(place), epoch, index),
        );
        return { inputs, targets: joinTargets(targets), names: places.map((index) => training[index]!.path) };
      };
      return prefetched({ first: skipBatches, count: batchesPerEpoch }, make, signal);
    },
    validation({ signal } = {}) {
      const make = async (batch: number, slot: number): Promise<ValidationBatch> => {
        const first = batch * batchSize;
        const pictures = validation.slice(first, first + batchSize);
        const { inputs, rows } = take(slot, pictures.length);
        const found = await allOf(pictures, (_, place) => samples.validationInto(rows(place), first + place));
        return {
          inputs,
          targets: joinTargets(found.map(({ targets }) => targets)),
          names: pictures.map(({ path }) => path),
          letterboxes: found.map(({ letterbox }) => letterbox),
          pictures,
        };
      };
      return prefetched({ first: 0, count: Math.ceil(validation.length / batchSize) }, make, signal);
    },
    close() {
      closing ??= samples.close();
      return closing;
    },
  };
}
