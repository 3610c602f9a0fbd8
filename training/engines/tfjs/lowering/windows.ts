// Padding as every backend can differentiate it: `same` where it is that, else written out.
import type { WindowGeometry } from '../../../autodiff/attributes.ts';
import type { Tensor, Tensor4, Tensorflow } from '../tensorflow.ts';

export interface Padded {
  readonly tensor: Tensor4;
  readonly pad: 'same' | 'valid';
}

/** What lies behind the last window is not padded: [above, below] of an axis. */
function marginsOf(geometry: WindowGeometry, axis: number, size: number, outSize: number): [number, number] {
  const [kernel = 1, stride = 1, begin = 0] = [
    geometry.kernel[axis],
    geometry.strides[axis],
    geometry.begin[axis],
  ];
  return [begin, Math.max((outSize - 1) * stride + kernel - size - begin, 0)];
}

/** As TensorFlow pads: the odd row below. */
function isSame(
  [before, after]: readonly [number, number],
  size: number,
  kernel: number,
  stride: number,
): boolean {
  const total = Math.max((Math.ceil(size / stride) - 1) * stride + kernel - size, 0);
  return before === Math.floor(total / 2) && before + after === total;
}

/** @param x [N, H, W, C] @param outSizes rows and columns of the result @param fill what is padded with */
export function padded(
  tf: Tensorflow,
  x: Tensor,
  geometry: WindowGeometry,
  outSizes: readonly number[],
  fill: number,
): Padded {
  const sizes = x.shape.slice(1, 3);
  const margins = sizes.map((size, axis) => marginsOf(geometry, axis, size, outSizes[axis] ?? 0));
  if (margins.flat().every((margin) => margin === 0)) return { tensor: x as Tensor4, pad: 'valid' };
  const same = margins.every((margin, axis) =>
    isSame(margin, sizes[axis] ?? 0, geometry.kernel[axis] ?? 1, geometry.strides[axis] ?? 1),
  );
  if (same) return { tensor: x as Tensor4, pad: 'same' };
  const [rows = [0, 0], columns = [0, 0]] = margins;
  return { tensor: tf.pad(x, [[0, 0], rows, columns, [0, 0]], fill) as Tensor4, pad: 'valid' };
}
