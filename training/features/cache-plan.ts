// How much disk cached features take, said before a byte is computed.
import { ConfigError, type Size } from '#core';
import type { TensorShape } from '../pictures/tensor-pool.ts';

export interface CacheRequest {
  readonly trainingCount: number;
  readonly validationCount: number;
  /** Augmented variants of every training picture, beside the picture as it is. */
  readonly variants: number;
  readonly features: readonly TensorShape[];
  readonly input: Size;
  /** Most bytes that the cache may take. */
  readonly budgetBytes: number;
  /** What the disk has left. */
  readonly freeBytes: number;
}

export interface CachePlan {
  /** Training pictures times (1 + variants), then validation pictures. */
  readonly recordCount: number;
  readonly recordBytes: number;
  readonly bytes: number;
}

/** Features as halves: 2 bytes a value. */
const BYTES_PER_VALUE = 2;

/** @throws ConfigError naming the numbers and the ways out where the cache is larger than the budget or the disk */
export function planFeatureCache(request: CacheRequest): CachePlan {
  const { trainingCount, validationCount, variants, features, budgetBytes, freeBytes } = request;
  const values = features.reduce((sum, { shape }) => sum + shape.reduce((size, axis) => size * axis, 1), 0);
  const recordBytes = BYTES_PER_VALUE * values;
  const recordCount = trainingCount * (1 + variants) + validationCount;
  const bytes = recordBytes * recordCount;
  if (bytes <= budgetBytes && bytes <= freeBytes) return { recordCount, recordBytes, bytes };
  const limit =
    bytes > budgetBytes
      ? `cache_gb allows ${gigabytes(budgetBytes)}`
      : `the disk has ${gigabytes(freeBytes)} left`;
  throw new ConfigError(
    `the feature cache needs ${gigabytes(bytes)} and ${limit}: ${trainingCount} training pictures × ` +
      `${1 + variants} (as they are, and ${variants} variants) + ${validationCount} validation pictures, ` +
      `${megabytes(recordBytes)} each at ${request.input.width}x${request.input.height}`,
    { hint: waysOut(request, recordBytes, bytes) },
  );
}

function waysOut(request: CacheRequest, recordBytes: number, bytes: number): string {
  const { trainingCount, validationCount, variants, budgetBytes, freeBytes } = request;
  const room = Math.min(budgetBytes, freeBytes);
  const fitting = Math.floor((room / recordBytes - validationCount) / Math.max(1, trainingCount)) - 1;
  const ways = [
    ...(fitting >= 0 && fitting < variants ? [`variants=${fitting} fits`] : []),
    ...(bytes > budgetBytes && bytes <= freeBytes
      ? [`cache_gb=${Math.ceil(bytes / 1e8) / 10} allows it`]
      : []),
    'a smaller imgsz= makes every picture cheaper where the host allows it',
    'cache=none takes no disk and runs the frozen part in every epoch',
  ];
  return ways.join('; ');
}

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(bytes < 1e8 ? 3 : 1)} GB`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(2)} MB`;
