// Runs the frozen part once per picture and variant, and keeps what it gave on disk.
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createHalfReader, DataError, type Letterbox } from '#core';
import { serialize } from '#onnx';
import { AUGMENT_OFF } from '../pictures/augment-config.ts';
import { sampleRandom } from '../pictures/epoch-order.ts';
import { DEFAULT_KEEP_BYTES } from '../pictures/picture-source.ts';
import { createSampleDrawer, loadPlainInto } from '../pictures/sample-drawer.ts';
import type { TensorShape } from '../pictures/tensor-pool.ts';
import type { PictureTargets } from '../pictures/types.ts';
import { planFeatureCache } from './cache-plan.ts';
import {
  createFeatureFile,
  type FeatureFile,
  featureFileBytes,
  openFeatureFile,
  removeFeatureFiles,
} from './feature-file.ts';
import type { CacheOptions, CacheProgress, FeatureSourceOptions } from './feature-source.ts';
import { fingerprint } from './fingerprint.ts';
import type { FrozenPart } from './frozen-part.ts';
import { createHalfWriter } from './half-bits.ts';

/** What is known of a record beside its features. */
export interface RecordNotes {
  readonly targets: PictureTargets;
  readonly letterbox?: Letterbox;
}

export interface FeatureCache {
  /** Variant 0 is the picture as it is. */
  trainingRecord(index: number, variant: number): number;
  validationRecord(index: number): number;
  notes(record: number): RecordNotes;
  /** @param targets one sample's part of every boundary tensor, in the order of the features */
  readInto(targets: readonly Float32Array[], record: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Takes up the cache of an earlier run where it was made from the very same things, and makes one otherwise.
 * @param openFrozen is called only where features must be computed
 * @throws ConfigError where the cache would be larger than its budget or the disk; DataError for a damaged picture, for
 * features beyond half precision, and where the folder cannot be written
 */
export async function openFeatureCache(
  options: FeatureSourceOptions,
  cache: CacheOptions,
  openFrozen: () => Promise<FrozenPart>,
): Promise<FeatureCache> {
  const plan = planFeatureCache({
    trainingCount: options.training.length,
    validationCount: options.validation.length,
    variants: cache.variants,
    features: options.features,
    input: options.input,
    budgetBytes: cache.budgetBytes,
    freeBytes: (await freeBytes(cache.folder)) + (await featureFileBytes(cache.folder)),
  });
  const shape = { ...plan, fingerprint: await cacheFingerprint(options, cache) };
  const file =
    (await openFeatureFile(cache.folder, shape)) ??
    (await makeFeatureFile(options, cache, shape, openFrozen));
  return readableCache(options, cache, file);
}

function readableCache(options: FeatureSourceOptions, cache: CacheOptions, file: FeatureFile): FeatureCache {
  const { features, training } = options;
  const perTraining = 1 + cache.variants;
  const notes = (file.notes as StoredNotes[]).map(fromStored);
  const sizes = features.map(sizeOf);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const halfReader = createHalfReader();
  const free: Uint16Array<ArrayBuffer>[] = [];
  return {
    trainingRecord: (index, variant) => index * perTraining + variant,
    validationRecord: (index) => training.length * perTraining + index,
    notes: (record) => notes[record]!,
    async readInto(targets, record) {
      const halves = free.pop() ?? new Uint16Array(total);
      await file.readInto(new Uint8Array(halves.buffer), record);
      let from = 0;
      sizes.forEach((size, place) => {
        halfReader.readInto(targets[place]!, halves.subarray(from, from + size));
        from += size;
      });
      free.push(halves);
    },
    async close() {
      await file.close();
      if (!cache.keep) await removeFeatureFiles(cache.folder);
    },
  };
}

async function makeFeatureFile(
  options: FeatureSourceOptions,
  cache: CacheOptions,
  shape: { readonly recordCount: number; readonly recordBytes: number; readonly fingerprint: string },
  openFrozen: () => Promise<FrozenPart>,
): Promise<FeatureFile> {
  const writer = await createFeatureFile(cache.folder, shape);
  try {
    const frozen = await openFrozen();
    try {
      const notes: StoredNotes[] = [];
      const draw = recordDrawer(options, cache);
      const halfWriter = createHalfWriter();
      let next = 0;
      let done = 0;
      async function makeRecords(): Promise<void> {
        const halves = new Uint16Array(shape.recordBytes / 2);
        for (let record = next++; record < shape.recordCount; record = next++) {
          options.signal?.throwIfAborted();
          const { filled, features } = await frozen.extract((target) => draw(target, record));
          narrowInto(halves, features, { options, halfWriter, name: filled.name });
          await writer.write(record, new Uint8Array(halves.buffer));
          notes[record] = toStored(filled);
          options.onProgress?.({ done: ++done, total: shape.recordCount } satisfies CacheProgress);
        }
      }
      // Every maker must have stopped before the file is closed under it.
      const makers = await Promise.allSettled(Array.from({ length: frozen.parallel }, makeRecords));
      for (const maker of makers) if (maker.status === 'rejected') throw maker.reason;
      return await writer.finish(notes);
    } finally {
      await frozen.close();
    }
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

interface DrawnRecord extends RecordNotes {
  readonly name: string;
}

function recordDrawer(options: FeatureSourceOptions, cache: CacheOptions) {
  const { training, validation, augment, seed } = options;
  const perTraining = 1 + cache.variants;
  const drawer = createSampleDrawer(training, {
    ...options,
    keepBytes: options.keepBytes ?? DEFAULT_KEEP_BYTES,
  });
  return async (target: Float32Array, record: number): Promise<DrawnRecord> => {
    const index = Math.floor(record / perTraining);
    const picture = training[index];
    if (picture === undefined) {
      const plain = validation[record - training.length * perTraining]!;
      return { ...(await loadPlainInto(target, plain, options)), name: plain.path };
    }
    const variant = record % perTraining;
    const targets = await drawer.drawInto(target, {
      index,
      config: variant === 0 ? AUGMENT_OFF : augment,
      random: sampleRandom(seed, variant, index),
    });
    return { targets, name: picture.path };
  };
}

function narrowInto(
  halves: Uint16Array,
  values: readonly Float32Array[],
  context: {
    readonly options: FeatureSourceOptions;
    readonly halfWriter: ReturnType<typeof createHalfWriter>;
    readonly name: string;
  },
): void {
  let to = 0;
  values.forEach((tensor, place) => {
    const fits = context.halfWriter.writeInto(halves.subarray(to, to + tensor.length), tensor);
    if (!fits) {
      const feature = context.options.features[place]!.name;
      throw new DataError(
        `${context.name}: the host gives values in ${feature} that half precision cannot hold (NaN, or beyond 65504)`,
        { hint: 'use cache=none, which keeps features in single precision' },
      );
    }
    to += tensor.length;
  });
}

function cacheFingerprint(options: FeatureSourceOptions, cache: CacheOptions): Promise<string> {
  const { training, validation, augment, seed, input, preprocess, features, inputName, provider } = options;
  const parts = {
    trainingCount: training.length,
    variants: cache.variants,
    // Without variants, neither augmentation nor seed can change a feature.
    ...(cache.variants > 0 && { augment, seed }),
    input,
    preprocess,
    features,
    inputName,
    provider: provider?.kind ?? 'cpu',
  };
  return fingerprint(serialize(options.frozen), [...training, ...validation], parts);
}

interface StoredNotes {
  readonly boxes: readonly number[];
  readonly classIds: readonly number[];
  readonly ignoreBoxes: readonly number[];
  readonly letterbox?: Letterbox;
}

/** A float32 written as a decimal of its double comes back as the same float32. */
function toStored({ targets, letterbox }: RecordNotes): StoredNotes {
  return {
    boxes: [...targets.boxes],
    classIds: [...targets.classIds],
    ignoreBoxes: [...targets.ignoreBoxes],
    ...(letterbox && { letterbox }),
  };
}

function fromStored({ boxes, classIds, ignoreBoxes, letterbox }: StoredNotes): RecordNotes {
  return {
    targets: {
      boxes: Float32Array.from(boxes),
      classIds: Int32Array.from(classIds),
      ignoreBoxes: Float32Array.from(ignoreBoxes),
    },
    ...(letterbox && { letterbox }),
  };
}

export function sizeOf({ shape }: TensorShape): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

/** Of the disk that holds the folder, or will. */
async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder).catch((error: unknown) => {
    const parent = dirname(folder);
    if (parent === folder) throw error;
    return freeBytes(parent).then((bytes) => ({ bavail: bytes, bsize: 1 }));
  });
  return bavail * bsize;
}
