// Operators that only move values.
import { ModelError } from '#core';
import { attributeInt, attributeInts } from '#onnx';
import { attributeNumber, attributeText } from '../../../autodiff/attributes.ts';
import { wrapAxis } from '../../../autodiff/canonical.ts';
import type { Tensor } from '../tensorflow.ts';
import { aligned, heldAxis, plainValue } from '../value.ts';
import type { Lowering } from './types.ts';

/** A new tensor with the same values: each output is released for itself. */
export const identity: Lowering = (node, { tf, value }) => {
  const { tensor, channelsLast } = value(node.input[0] ?? '');
  return [{ tensor: tf.clone(tensor), channelsLast }];
};

export const reshape: Lowering = (node, { tf, plain, shape }) => [
  plainValue(tf.reshape(plain(node.input[0] ?? ''), [...shape(node.output[0] ?? '')])),
];

/** Without a permutation the axes are reversed. */
export const transpose: Lowering = (node, { tf, plain }) => {
  const permutation = attributeInts(node, 'perm');
  return [plainValue(tf.transpose(plain(node.input[0] ?? ''), permutation && [...permutation]))];
};

export const concat: Lowering = (node, { tf, value, shape }) => {
  const { tensors, channelsLast } = aligned(tf, node.input.map(value));
  const whole = shape(node.output[0] ?? '');
  const axis = wrapAxis(attributeInt(node, 'axis') ?? 0, whole);
  const [first] = tensors;
  if (first === undefined) throw new Error(`node ${node.name} has no input`);
  const held = heldAxis({ tensor: first, channelsLast }, axis, whole);
  return [{ tensor: tf.concat(tensors, held), channelsLast }];
};

export const split: Lowering = (node, { tf, value, shape, numbers }) => {
  const [x = '', sizes = ''] = node.input;
  const from = value(x);
  const axis = heldAxis(from, attributeInt(node, 'axis') ?? 0, shape(x));
  const parts: Tensor[] = tf.split(from.tensor, [...(numbers(sizes) ?? [])], axis);
  return parts.map((tensor) => ({ tensor, channelsLast: from.channelsLast }));
};

/** A run of neighbours is a slice; steps and reversals are a gather, because strided slices have no gradient. */
export const slice: Lowering = (node, { tf, value, shape, numbers }) => {
  const [x = '', starts = '', , axes = '', steps = ''] = node.input;
  const [first = [], along = [], by = []] = [starts, axes, steps].map((name) => numbers(name) ?? []);
  const { channelsLast, tensor } = value(x);
  const counts = shape(node.output[0] ?? '');
  const begin = tensor.shape.map(() => 0);
  const size = [...tensor.shape];
  let gathered = tensor;
  along.forEach((axis, index) => {
    const held = heldAxis({ tensor, channelsLast }, axis, shape(x));
    const [start = 0, step = 1, count = 0] = [first[index], by[index], counts[axis]];
    if (step === 1) {
      begin[held] = start;
      size[held] = count;
      return;
    }
    const positions = Array.from({ length: count }, (_, position) => start + position * step);
    gathered = tf.gather(gathered, tf.tensor1d(positions, 'int32'), held);
    size[held] = count;
  });
  return [{ tensor: tf.slice(gathered, begin, size), channelsLast }];
};

export const pad: Lowering = (node, { tf, plain, shape, numbers }) => {
  const [x = '', pads = '', fill = ''] = node.input;
  const amounts = attributeInts(node, 'pads') ?? numbers(pads) ?? [];
  const mode = attributeText(node, 'mode') ?? 'constant';
  if (mode !== 'constant') {
    throw new ModelError(`node ${node.name} (Pad) has mode ${mode}, the tfjs engine has only constant`, {
      hint: 'use engine=onnx, or freeze=towers, which keeps it in the frozen part',
    });
  }
  const rank = shape(x).length;
  const pairs = shape(x).map((_, axis): [number, number] => [amounts[axis] ?? 0, amounts[axis + rank] ?? 0]);
  const constant = numbers(fill)?.[0] ?? attributeNumber(node, 'value') ?? 0;
  return [plainValue(tf.pad(plain(x), pairs, constant))];
};
