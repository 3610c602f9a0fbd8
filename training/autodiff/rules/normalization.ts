// Gradient of batch normalisation, with the statistics of the batch and with frozen ones.
import type { NodeProto } from '#onnx';
import { attributeNumber } from '../attributes.ts';
import { elementsOf } from '../emitter.ts';
import type { Reverse, Rule } from '../reverse.ts';
import { perChannel } from '../reverse.ts';

const DEFAULT_EPSILON = 1e-5;

export function epsilonOf(node: NodeProto): number {
  return attributeNumber(node, 'epsilon') ?? DEFAULT_EPSILON;
}

/**
 * Ioffe and Szegedy (2015), section 3: with x̂ = (x − μ)/σ, dβ = Σ dy, dγ = Σ dy·x̂ and
 * dx = γ/σ · (dy − dβ/m − x̂·dγ/m), sums over the m values of a channel.
 * A node with three outputs has the statistics of the batch as its second and third.
 */
export const batchNormalization: Rule = (node, dy, reverse) => {
  const [x = '', gamma = '', beta = '', runningMean = '', runningVariance = ''] = node.input;
  const { write } = reverse;
  const [, mean = runningMean, variance = runningVariance] = node.output;
  const ofBatch = node.output.length > 1;
  const channels = write.shape(gamma);
  const shape = write.shape(x);
  const epsilon = epsilonOf(node);
  const shifted = write.emit('Add', [variance, write.scalar(epsilon)], channels);
  const inverse = write.emit('Reciprocal', [write.emit('Sqrt', [shifted], channels)], channels);
  const factor = write.emit('Mul', [gamma, inverse], channels);
  const scaled = (gradient: string) =>
    write.emit('Mul', [gradient, perChannel(write, factor, shape.length)], shape);
  if (!ofBatch && reverse.wants(x)) reverse.accumulate(x, scaled(dy));
  if (!ofBatch && !reverse.wants(gamma) && !reverse.wants(beta)) return;

  const axes = write.ints(shape.map((_, axis) => axis).filter((axis) => axis !== 1));
  const ones = write.floats(channels, new Float32Array(elementsOf(channels)).fill(1));
  const zeros = write.floats(channels, new Float32Array(elementsOf(channels)));
  const normal = write.emit('BatchNormalization', [x, ones, zeros, mean, variance], shape, { epsilon });
  const sum = write.emit('ReduceSum', [dy, axes], channels, { keepdims: 0n });
  const product = write.emit('Mul', [dy, normal], shape);
  const weighted = write.emit('ReduceSum', [product, axes], channels, { keepdims: 0n });
  reverse.accumulate(beta, sum);
  reverse.accumulate(gamma, weighted);
  if (ofBatch && reverse.wants(x)) {
    const count = write.scalar(-elementsOf(channels) / elementsOf(shape));
    const line = [sum, weighted].map((total) => write.emit('Mul', [total, count], channels));
    reverse.accumulate(x, scaled(write.emit('Add', [dy, affine(reverse, normal, line)], shape)));
  }
};

/** x·slope + offset per channel in one pass: a BatchNormalization with mean 0 and variance 1. */
function affine({ write }: Reverse, x: string, [offset = '', slope = '']: readonly string[]): string {
  const channels = write.shape(slope);
  const zeros = write.floats(channels, new Float32Array(elementsOf(channels)));
  const ones = write.floats(channels, new Float32Array(elementsOf(channels)).fill(1));
  return write.emit('BatchNormalization', [x, slope, offset, zeros, ones], write.shape(x), { epsilon: 0 });
}
