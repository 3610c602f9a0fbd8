// Memory for the gradients of raw outputs, kept from batch to batch.
import type { Tensors } from './engines/engine.ts';
import type { Numbers } from './losses/types.ts';

interface GradientMap {
  /** Of the largest batch so far. */
  full: Numbers;
  view: Numbers;
  shape: readonly number[];
}

/** A gradient per output, in the output's shape and precision; what is not written stays as it was, at first 0. */
export interface GradientMaps {
  /** Points at the first `shape[0]` pictures of the memory of an output. */
  take(name: string, shape: readonly number[], like: Numbers): Numbers;
  /** The whole memory of an output, that of larger batches before included. */
  whole(name: string): Numbers | undefined;
  /** Every map as it was last taken. */
  tensors(): Tensors;
}

export function createGradientMaps(): GradientMaps {
  const maps = new Map<string, GradientMap>();
  let tensors: Map<string, { shape: readonly number[]; data: Numbers }> | undefined;
  return {
    take(name, shape, like) {
      const known = maps.get(name);
      const sameType = known?.full.constructor === like.constructor;
      if (known && sameType && known.view.length === like.length) return known.view;
      const double = like instanceof Float64Array;
      const reusable = known && sameType && known.full.length >= like.length;
      const full = reusable
        ? known.full
        : double
          ? new Float64Array(like.length)
          : new Float32Array(like.length);
      const view = full.subarray(0, like.length);
      maps.set(name, { full, view, shape: [...shape] });
      tensors = undefined;
      return view;
    },
    whole: (name) => maps.get(name)?.full,
    tensors() {
      tensors ??= new Map([...maps].map(([name, { view, shape }]) => [name, { shape, data: view }]));
      // float64 maps appear only where a test differences the criterion with float64 outputs.
      return tensors as unknown as Tensors;
    },
  };
}
