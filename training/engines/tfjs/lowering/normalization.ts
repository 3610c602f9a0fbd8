// Batch normalisation: with the statistics of the batch in one closed form, and with running or frozen ones.
import { isTraining } from '../../../autodiff/normalize.ts';
import { epsilonOf } from '../../../autodiff/rules/normalization.ts';
import { channelSums, scaleChannels, shiftChannels } from '../channels.ts';
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import { channelsLastValue, plainValue } from '../value.ts';
import type { Lowering } from './types.ts';

export const batchNormalization: Lowering = (node, { tf, channelsLast, plain }) => {
  const [x = '', scale = '', shift = '', mean = '', variance = ''] = node.input;
  const [gamma, beta] = [plain(scale), plain(shift)];
  const epsilon = epsilonOf(node);
  const given = channelsLast(x);
  if (isTraining(node)) {
    const moments = momentsOf(tf, given);
    const normalized = normalizeByBatch(tf, [given, gamma, beta], { ...moments, epsilon });
    return [channelsLastValue(normalized), plainValue(moments.mean), plainValue(moments.variance)];
  }
  const inverse = tf.rsqrt(tf.add(plain(variance), epsilon));
  const normal = tf.mul(tf.sub(given, plain(mean)), inverse);
  return [channelsLastValue(shiftChannels(tf, scaleChannels(tf, normal, gamma), beta))];
};

interface Moments {
  readonly mean: Tensor;
  /** Biased. */
  readonly variance: Tensor;
}

/** Nothing reads these but the closed form below, so nothing is recorded of how they were computed. */
function momentsOf(tf: Tensorflow, x: Tensor): Moments {
  const channels = x.shape.at(-1) ?? 1;
  const both = tf.customGrad((...inputs) => {
    const [given] = inputs as [Tensor];
    const share = channels / given.size;
    const mean = tf.mul(channelSums(tf, given), share);
    const variance = tf.mul(channelSums(tf, tf.square(tf.sub(given, mean))), share);
    return {
      value: tf.stack([mean, variance]),
      gradFunc: () => {
        throw new Error('the statistics of a batch are differentiated with the normalisation that uses them');
      },
    };
  })(x);
  const [mean, variance] = tf.unstack(both);
  if (mean === undefined || variance === undefined) throw new Error('there are no moments');
  return { mean, variance };
}

/**
 * Ioffe and Szegedy (2015), section 3: with x̂ = (x − μ)/σ, dβ = Σ dy, dγ = Σ dy·x̂ and
 * dx = γ/σ · (dy − dβ/m − x̂·dγ/m), sums over the m values of a channel.
 */
function normalizeByBatch(
  tf: Tensorflow,
  operands: readonly [Tensor, Tensor, Tensor],
  { mean, variance, epsilon }: Moments & { readonly epsilon: number },
): Tensor {
  return tf.customGrad((...inputs) => {
    const [x, gamma, beta, save] = inputs as [Tensor, Tensor, Tensor, (kept: Tensor[]) => void];
    const inverse = tf.rsqrt(tf.add(variance, epsilon));
    const normal = tf.mul(tf.sub(x, mean), inverse);
    save([normal, tf.mul(gamma, inverse), gamma]);
    return {
      value: tf.add(tf.mul(normal, gamma), beta),
      gradFunc(dy: Tensor, [keptNormal, factor]: Tensor[]) {
        if (keptNormal === undefined || factor === undefined) {
          throw new Error('nothing was kept of the forward pass');
        }
        const sum = channelSums(tf, dy);
        const weighted = channelSums(tf, tf.mul(dy, keptNormal));
        const share = factor.size / dy.size;
        const line = tf.add(tf.mul(keptNormal, tf.mul(weighted, share)), tf.mul(sum, share));
        return [tf.mul(tf.sub(dy, line), factor), weighted, sum];
      },
    };
  })(...operands);
}
