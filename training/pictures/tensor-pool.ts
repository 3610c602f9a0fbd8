// Memory of batches, used again: two sets of tensors that alternate.
import type { Tensors } from '../engines/engine.ts';

export interface TensorShape {
  readonly name: string;
  /** Without the axis N. */
  readonly shape: readonly number[];
}

export interface TensorPool {
  /**
   * `[sampleCount, …]` for every name. Memory of an earlier call for the same slot, unless it was moved away meanwhile.
   * The values are those of an earlier batch.
   */
  take(slot: number, sampleCount: number): Tensors;
}

export function createTensorPool(shapes: readonly TensorShape[], batchSize: number): TensorPool {
  const slots: Map<string, Float32Array<ArrayBuffer>>[] = [];
  return {
    take(slot, sampleCount) {
      slots[slot] ??= new Map();
      const memory = slots[slot];
      return new Map(
        shapes.map(({ name, shape }) => {
          const perSample = shape.reduce((product, axis) => product * axis, 1);
          let whole = memory.get(name);
          // A buffer that was moved to a worker has no bytes left.
          if (whole === undefined || whole.length === 0) {
            whole = new Float32Array(batchSize * perSample);
            memory.set(name, whole);
          }
          return [
            name,
            {
              shape: [sampleCount, ...shape],
              data: sampleCount === batchSize ? whole : whole.slice(0, sampleCount * perSample),
            },
          ];
        }),
      );
    },
  };
}
