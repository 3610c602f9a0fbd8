// Dropout masks as inputs of the graph: inverted dropout over whole channels (Srivastava et al., 2014; Tompson et al., 2015).
import type { Random } from '#core';
import type { TrainablePart } from '#onnx';
import type { Tensor } from './engines/engine.ts';

/** Masks `[N, C, 1, 1]` for every mask input: 0 with probability `rate`, else 1 / (1 − rate); all ones without `random`. */
export function dropoutMasks(
  { inputs }: TrainablePart,
  pictures: number,
  rate: number,
  random?: Random,
): [string, Tensor][] {
  return inputs
    .filter(({ kind }) => kind === 'mask')
    .map(({ name, shape }) => {
      const size = shape.reduce((product, axis) => product * axis, 1);
      const data = new Float32Array(pictures * size).fill(1);
      if (random !== undefined && rate > 0) fillMask(data, rate, random);
      return [name, { shape: [pictures, ...shape], data }];
    });
}

export function fillMask(mask: Float32Array, rate: number, random: Random): void {
  const kept = 1 / (1 - rate);
  for (let index = 0; index < mask.length; index++) mask[index] = random.next() < rate ? 0 : kept;
}
