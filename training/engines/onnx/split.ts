// A batch split among workers in a fixed order, and their results put together in the same order.
import type { NormalizationStatistics } from '#onnx';
import type { BackwardResult, ParameterValues, Tensor, Tensors } from '../engine.ts';

/** Pictures [start, start + count) of a batch. */
export interface Range {
  readonly start: number;
  readonly count: number;
}

/** As even as can be, larger shares first; workers beyond the batch get nothing. */
export function shardRanges(batch: number, workers: number): readonly Range[] {
  const used = Math.min(batch, workers);
  let start = 0;
  return Array.from({ length: used }, (_, index) => {
    const count = Math.floor(batch / used) + (index < batch % used ? 1 : 0);
    const range = { start, count };
    start += count;
    return range;
  });
}

export function joinOutputs(parts: readonly Tensors[]): Tensors {
  const [first] = parts;
  if (first === undefined) return new Map();
  if (parts.length === 1) return first;
  return new Map(
    [...first.keys()].map((name) => [name, joined(parts.flatMap((part) => part.get(name) ?? []))]),
  );
}

function joined(tensors: readonly Tensor[]): Tensor {
  const batch = tensors.reduce((sum, { shape }) => sum + (shape[0] ?? 0), 0);
  const data = new Float32Array(tensors.reduce((sum, tensor) => sum + tensor.data.length, 0));
  let offset = 0;
  for (const tensor of tensors) {
    data.set(tensor.data, offset);
    offset += tensor.data.length;
  }
  return { shape: [batch, ...(tensors[0]?.shape.slice(1) ?? [])], data };
}

export interface ShardResult extends BackwardResult {
  /** Pictures that the worker saw. */
  readonly count: number;
}

/**
 * Gradients add up, because losses are normalised over the whole batch outside. Means and variances combine by count:
 * the variance of the whole is the mean of the variances plus the variance of the means.
 */
export function joinResults(
  results: readonly ShardResult[],
  normalizations: readonly NormalizationStatistics[],
): BackwardResult {
  const [first] = results;
  if (first === undefined) return { gradients: new Map(), statistics: new Map() };
  if (results.length === 1) return { gradients: first.gradients, statistics: first.statistics };
  const gradients = new Map(
    [...first.gradients].map(([name, values]) => {
      const sum = values.slice();
      for (const { gradients: others } of results.slice(1)) addInto(sum, others.get(name) ?? []);
      return [name, sum];
    }),
  );
  return { gradients, statistics: joinStatistics(results, normalizations) };
}

function addInto(sum: Float32Array, other: ArrayLike<number>): void {
  for (let index = 0; index < sum.length; index++) sum[index] = (sum[index] ?? 0) + (other[index] ?? 0);
}

function joinStatistics(
  results: readonly ShardResult[],
  normalizations: readonly NormalizationStatistics[],
): ParameterValues {
  const total = results.reduce((sum, { count }) => sum + count, 0);
  const mixed = (size: number, value: (shard: ShardResult, channel: number) => number) =>
    Float32Array.from({ length: size }, (_, channel) =>
      results.reduce((sum, shard) => sum + (shard.count / total) * value(shard, channel), 0),
    );
  const at = (shard: ShardResult, name: string, channel: number) =>
    shard.statistics.get(name)?.[channel] ?? 0;
  return new Map(
    normalizations.flatMap(({ mean, variance }) => {
      const size = results[0]?.statistics.get(mean)?.length ?? 0;
      const means = mixed(size, (shard, channel) => at(shard, mean, channel));
      const variances = mixed(size, (shard, channel) => {
        const apart = at(shard, mean, channel) - (means[channel] ?? 0);
        return at(shard, variance, channel) + apart * apart;
      });
      return [[mean, means] as const, [variance, variances] as const];
    }),
  );
}
