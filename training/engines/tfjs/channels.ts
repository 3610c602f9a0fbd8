// Sums, shifts and factors per channel over channels-last tensors: what convolutions and normalisations share.
import type { Tensor, Tensor4, Tensorflow } from './tensorflow.ts';

/**
 * Sum over all axes but the last. On WebAssembly as two poolings over windows of about equal length, which keeps the
 * rounding error of float32 small: its reductions over leading axes transpose first, its matrix products pack first.
 * @param x [..., C] @returns [C]
 */
export function channelSums(tf: Tensorflow, x: Tensor): Tensor {
  const channels = x.shape.at(-1) ?? 1;
  if (tf.getBackend() !== 'wasm') return tf.sum(tf.reshape(x, [-1, channels]), 0);
  const count = x.size / channels;
  const groups = divisorNearRoot(count);
  const lines: Tensor4 = tf.reshape(x, [1, count / groups, groups, channels]);
  const means = tf.avgPool(tf.avgPool(lines, [count / groups, 1], 1, 'valid'), [1, groups], 1, 'valid');
  return tf.mul(tf.reshape(means, [channels]), count);
}

/** Largest divisor of `count` that is at most its root. */
function divisorNearRoot(count: number): number {
  for (let divisor = Math.floor(Math.sqrt(count)); divisor > 1; divisor--) {
    if (count % divisor === 0) return divisor;
  }
  return 1;
}

/** x + shift. @param x [..., C] @param shift [C] */
export function shiftChannels(tf: Tensorflow, x: Tensor, shift: Tensor): Tensor {
  return tf.customGrad((...inputs) => {
    const [a, b] = inputs as [Tensor, Tensor];
    return {
      value: tf.add(a, b),
      gradFunc: (dy: Tensor) => [tf.clone(dy), channelSums(tf, dy)],
    };
  })(x, shift);
}

/** x · factor. @param x [..., C] @param factor [C] */
export function scaleChannels(tf: Tensorflow, x: Tensor, factor: Tensor): Tensor {
  return tf.customGrad((...inputs) => {
    const [a, b, save] = inputs as [Tensor, Tensor, (kept: Tensor[]) => void];
    save([a, b]);
    return {
      value: tf.mul(a, b),
      gradFunc: (dy: Tensor, [keptA, keptB]: Tensor[]) => {
        if (keptA === undefined || keptB === undefined)
          throw new Error('nothing was kept of the forward pass');
        return [tf.mul(dy, keptB), channelSums(tf, tf.mul(dy, keptA))];
      },
    };
  })(x, factor);
}
