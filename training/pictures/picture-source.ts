// Batches of pictures for a network that is trained from its input on.
import { ConfigError, type PreprocessContract, type Size } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { type AugmentConfig, expectAugmentConfig } from './augment-config.ts';
import type { BatchSource, TrainingBatch, ValidationBatch } from './batch-source.ts';
import { epochOrder, sampleRandom } from './epoch-order.ts';
import { prefetched } from './prefetch.ts';
import { createSampleDrawer, loadPlainInto } from './sample-drawer.ts';
import { joinTargets } from './targets.ts';
import { createTensorPool } from './tensor-pool.ts';

/** What every source of batches is told. */
export interface SourceOptions {
  readonly training: readonly LabelledPicture[];
  readonly validation: readonly LabelledPicture[];
  readonly input: Size;
  readonly preprocess: PreprocessContract;
  readonly batchSize: number;
  readonly seed: number;
  /** Larger pictures are refused; the reader's default without. */
  readonly maxPixels?: number;
  /** Memory for decoded training pictures, at the network's size; 256 MiB without. */
  readonly keepBytes?: number;
}

export interface PictureSourceOptions extends SourceOptions {
  /** Name of the picture input. */
  readonly inputName: string;
  /** Asked at the start of every epoch, so that the last ones can go without mosaic. */
  readonly augment: (epoch: number) => AugmentConfig;
}

export const DEFAULT_KEEP_BYTES = 256 * 2 ** 20;

/**
 * Reads pictures and augments them anew in every epoch. sharp decodes in threads of its own; everything else runs in
 * the event loop while an engine computes in its worker.
 */
export function createPictureSource(options: PictureSourceOptions): BatchSource {
  const { training, validation, input, inputName, batchSize, seed } = options;
  expectBatchSize(batchSize);
  const shapes = [{ name: inputName, shape: [3, input.height, input.width] }];
  const pool = createTensorPool(shapes, batchSize);
  const drawer = createSampleDrawer(training, {
    ...options,
    keepBytes: options.keepBytes ?? DEFAULT_KEEP_BYTES,
  });
  const perSample = 3 * input.height * input.width;
  const take = (slot: number, count: number) => {
    const inputs = pool.take(slot, count);
    const data = inputs.get(inputName)!.data;
    return { inputs, row: (place: number) => data.subarray(place * perSample, (place + 1) * perSample) };
  };
  const batchesPerEpoch = Math.ceil(training.length / batchSize);
  return {
    pictureCount: training.length,
    validationCount: validation.length,
    batchesPerEpoch,
    epoch(epoch, { signal, skipBatches = 0 } = {}) {
      const config = expectAugmentConfig(options.augment(epoch));
      const order = epochOrder(seed, epoch, training.length);
      const make = async (batch: number, slot: number): Promise<TrainingBatch> => {
        const places = order.subarray(batch * batchSize, (batch + 1) * batchSize);
        const { inputs, row } = take(slot, places.length);
        const targets = await allOf(Array.from(places), (index, place) =>
          drawer.drawInto(row(place), { index, config, random: sampleRandom(seed, epoch, index) }),
        );
        return {
          inputs,
          targets: joinTargets(targets),
          names: Array.from(places, (at) => training[at]!.path),
        };
      };
      return prefetched({ first: skipBatches, count: batchesPerEpoch }, make, signal);
    },
    validation({ signal } = {}) {
      const make = async (batch: number, slot: number): Promise<ValidationBatch> => {
        const pictures = validation.slice(batch * batchSize, (batch + 1) * batchSize);
        const { inputs, row } = take(slot, pictures.length);
        const samples = await allOf(pictures, (picture, place) =>
          loadPlainInto(row(place), picture, options),
        );
        return {
          inputs,
          targets: joinTargets(samples.map(({ targets }) => targets)),
          names: pictures.map(({ path }) => path),
          letterboxes: samples.map(({ letterbox }) => letterbox),
          pictures,
        };
      };
      return prefetched({ first: 0, count: Math.ceil(validation.length / batchSize) }, make, signal);
    },
    close: async () => {},
  };
}

/** @throws ConfigError where it is no whole number from 1 */
export function expectBatchSize(batchSize: number): void {
  if (Number.isInteger(batchSize) && batchSize >= 1) return;
  throw new ConfigError(`batch: found ${batchSize}, expected a whole number from 1`, { hint: 'set batch=8' });
}

/** Side by side; waits for all before it throws, since they write into memory that is used again. */
export async function allOf<Item, Result>(
  items: readonly Item[],
  run: (item: Item, place: number) => Promise<Result>,
): Promise<Result[]> {
  const results = await Promise.allSettled(items.map(run));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
