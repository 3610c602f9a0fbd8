// What the loop draws its batches from, whether they are pictures or cached features of a frozen part.
import type { Letterbox } from '#core';
import type { LabelledPicture } from '#data/datasets';
import type { Targets } from '../criterion.ts';
import type { Tensors } from '../engines/engine.ts';

/**
 * One batch. Its memory is lent until the next batch is asked for; buffers of `inputs` may be detached by their user
 * (moved to a worker), they are then replaced.
 */
export interface TrainingBatch {
  /** Float32 `[N, …]` by the names of the trainable part's inputs, without dropout masks. */
  readonly inputs: Tensors;
  /** Boxes in input px. */
  readonly targets: Targets;
  /** Path of the (first) picture of every sample. */
  readonly names: readonly string[];
}

/** A batch of pictures as they are, in the order of the set. */
export interface ValidationBatch extends TrainingBatch {
  /** `letterboxes[n].frame` is the picture as the user sees it; `toFrame` maps boxes of sample n back to it. */
  readonly letterboxes: readonly Letterbox[];
  readonly pictures: readonly LabelledPicture[];
}

export interface EpochOptions {
  readonly signal?: AbortSignal;
  /** Batches of the epoch that are left out because a resumed run has seen them; 0 without. */
  readonly skipBatches?: number;
}

export interface BatchSource {
  /** Training pictures; the last batch of an epoch may be smaller than the others. */
  readonly pictureCount: number;
  readonly validationCount: number;
  readonly batchesPerEpoch: number;
  /**
   * Every training picture once, in an order and with an augmentation that depend on seed and epoch alone: what was
   * asked for before makes no difference. The next batch is prepared while one is in use. One iteration at a time.
   * @param epoch from 0
   * @throws DataError naming a picture that cannot be read
   */
  epoch(epoch: number, options?: EpochOptions): AsyncIterable<TrainingBatch>;
  /** Every validation picture once, unaugmented, in order. */
  validation(options?: { readonly signal?: AbortSignal }): AsyncIterable<ValidationBatch>;
  /** Frees sessions and files. Safe to call twice. */
  close(): Promise<void>;
}
