// Gradients of operators that only move values.
import { attributeInt, attributeInts } from '#onnx';
import type { Emitter } from '../emitter.ts';
import { elementsOf } from '../emitter.ts';
import type { Rule } from '../reverse.ts';
import { cannotDifferentiate } from '../reverse.ts';

export const identity: Rule = (node, dy, reverse) => reverse.accumulate(node.input[0] ?? '', dy);

export const reshape: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  reverse.accumulate(x, reverse.write.reshape(dy, reverse.write.shape(x)));
};

export const transpose: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const rank = reverse.write.shape(x).length;
  const permutation =
    attributeInts(node, 'perm') ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
  const inverse = permutation.map((_, axis) => permutation.indexOf(axis));
  reverse.accumulate(x, reverse.write.transpose(dy, inverse));
};

export const concat: Rule = (node, dy, reverse) => {
  const { write } = reverse;
  const given = attributeInt(node, 'axis') ?? 0;
  const axis = given < 0 ? given + write.shape(dy).length : given;
  let start = 0;
  for (const name of node.input) {
    const shape = write.shape(name);
    const end = start + (shape[axis] ?? 0);
    if (reverse.wants(name)) {
      const bounds = [write.ints([start]), write.ints([end]), write.ints([axis])];
      reverse.accumulate(name, write.emit('Slice', [dy, ...bounds], shape));
    }
    start = end;
  }
};

export const split: Rule = (node, _, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const parts = node.output.map((name) => reverse.gradient(name) ?? zeros(write, write.shape(name)));
  const axis = BigInt(attributeInt(node, 'axis') ?? 0);
  reverse.accumulate(x, write.emit('Concat', parts, write.shape(x), { axis }));
};

function zeros(write: Emitter, shape: readonly number[]): string {
  return write.emit('Expand', [write.scalar(0), write.ints(shape)], shape);
}

export const slice: Rule = (node, dy, reverse) => {
  const [x = '', starts = '', , axes = '', steps = ''] = node.input;
  const { write } = reverse;
  const target = write.shape(x);
  const [first, along, by] = [starts, axes, steps].map((name) => reverse.numbers(name) ?? []);
  let gradient = dy;
  const pads = new Array<number>(2 * target.length).fill(0);
  along?.forEach((axis, index) => {
    let start = first?.[index] ?? 0;
    let step = by?.[index] ?? 1;
    const size = target[axis] ?? 0;
    if (step < 0) {
      const count = write.shape(gradient)[axis] ?? 0;
      gradient = reversed(write, gradient, axis);
      start += (count - 1) * step;
      step = -step;
    }
    if (step > 1) gradient = stretched(write, gradient, axis, step, size - start);
    pads[axis] = start;
    pads[axis + target.length] = size - start - (write.shape(gradient)[axis] ?? 0);
  });
  reverse.accumulate(x, padded(write, gradient, pads));
};

function reversed(write: Emitter, name: string, axis: number): string {
  const shape = write.shape(name);
  const end = -(shape[axis] ?? 0) - 1;
  const bounds = [[-1], [end], [axis], [-1]].map((values) => write.ints(values));
  return write.emit('Slice', [name, ...bounds], shape);
}

/** Zeros between the values of an axis, cut to at most `longest`. */
function stretched(write: Emitter, name: string, axis: number, step: number, longest: number): string {
  const shape = write.shape(name);
  const count = shape[axis] ?? 0;
  const columns = write.reshape(name, [...shape.slice(0, axis + 1), 1, ...shape.slice(axis + 1)]);
  const pads = new Array<number>(2 * shape.length + 2).fill(0);
  pads[shape.length + 1 + axis + 1] = step - 1;
  const wide = padded(write, columns, pads);
  const long = shape.map((size, position) => (position === axis ? count * step : size));
  const flat = write.reshape(wide, long);
  if (count * step <= longest) return flat;
  const cut = long.map((size, position) => (position === axis ? longest : size));
  return write.emit('Slice', [flat, write.ints([0]), write.ints([longest]), write.ints([axis])], cut);
}

function padded(write: Emitter, name: string, pads: readonly number[]): string {
  if (pads.every((pad) => pad === 0)) return name;
  const shape = write.shape(name);
  const to = shape.map((size, axis) => size + (pads[axis] ?? 0) + (pads[axis + shape.length] ?? 0));
  return write.emit('Pad', [name, write.ints(pads)], to);
}

/** Padding with a constant: its gradient is the part in the middle. */
export const pad: Rule = (node, dy, reverse) => {
  const [x = '', name = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const pads = attributeInts(node, 'pads') ?? reverse.numbers(name);
  if (pads === undefined || pads.length !== 2 * shape.length || pads.some((amount) => amount < 0)) {
    throw cannotDifferentiate(node, 'its pads are not known, or negative');
  }
  const starts = pads.slice(0, shape.length);
  const ends = starts.map((start, axis) => start + (shape[axis] ?? 0));
  const axes = shape.map((_, axis) => axis);
  const bounds = [starts, ends, axes].map((values) => write.ints(values));
  if (elementsOf(shape) === elementsOf(write.shape(dy))) return reverse.accumulate(x, dy);
  return reverse.accumulate(x, write.emit('Slice', [dy, ...bounds], shape));
};
