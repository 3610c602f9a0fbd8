// Sums, products and means, broadcasting included.
import { attributeInt, attributeInts } from '#onnx';
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import { aligned, plainValue } from '../value.ts';
import type { Lowering } from './types.ts';

function combined(combine: (tf: Tensorflow, a: Tensor, b: Tensor) => Tensor): Lowering {
  return (node, { tf, value }) => {
    const { tensors, channelsLast } = aligned(tf, node.input.map(value));
    const [first, ...rest] = tensors;
    if (first === undefined) throw new Error(`node ${node.name} has no input`);
    // A sum of one term is the term: a new tensor all the same, as each output is released for itself.
    const tensor = rest.length === 0 ? tf.clone(first) : rest.reduce((a, b) => combine(tf, a, b), first);
    return [{ tensor, channelsLast }];
  };
}

export const add = combined((tf, a, b) => tf.add(a, b));
export const subtract = combined((tf, a, b) => tf.sub(a, b));
export const multiply = combined((tf, a, b) => tf.mul(a, b));
export const divide = combined((tf, a, b) => tf.div(a, b));

export const reduceSum: Lowering = (node, { tf, plain, numbers }) => {
  const [x = '', axes = ''] = node.input;
  const keep = attributeInt(node, 'keepdims') !== 0;
  return [plainValue(tf.sum(plain(x), [...(numbers(axes) ?? [])], keep))];
};

export const reduceMean: Lowering = (node, { tf, plain }) => {
  const keep = attributeInt(node, 'keepdims') !== 0;
  return [plainValue(tf.mean(plain(node.input[0] ?? ''), [...(attributeInts(node, 'axes') ?? [])], keep))];
};

export const globalAveragePool: Lowering = (node, { tf, plain, shape }) => {
  const [x = ''] = node.input;
  const axes = shape(x)
    .slice(2)
    .map((_, axis) => axis + 2);
  return [plainValue(tf.mean(plain(x), axes, true))];
};
