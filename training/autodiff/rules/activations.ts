// Gradients of functions of one value, and of the softmax.
import { attributeInt } from '#onnx';
import { attributeNumber } from '../attributes.ts';
import type { Emitter } from '../emitter.ts';
import type { Reverse, Rule } from '../reverse.ts';
import { cannotDifferentiate } from '../reverse.ts';

type Derivative = (write: Emitter, x: string, y: string) => string;

/** dx = dy · derivative, where the derivative is an expression of input and output. */
function elementwise(derivative: Derivative): Rule {
  return (node, dy, reverse) => {
    const [x = ''] = node.input;
    const { write } = reverse;
    const slope = derivative(write, x, node.output[0] ?? '');
    reverse.accumulate(x, write.emit('Mul', [dy, slope], write.shape(x)));
  };
}

export const relu = elementwise((write, _, y) => write.emit('Sign', [y], write.shape(y)));
export const exponential = elementwise((_, __, y) => y);
export const softplus = elementwise((write, x) => write.emit('Sigmoid', [x], write.shape(x)));

export const sigmoid = elementwise((write, _, y) => {
  const shape = write.shape(y);
  return write.emit('Mul', [y, write.emit('Sub', [write.scalar(1), y], shape)], shape);
});

export const tanh = elementwise((write, _, y) => {
  const shape = write.shape(y);
  return write.emit('Sub', [write.scalar(1), write.emit('Mul', [y, y], shape)], shape);
});

export const leakyRelu: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const slope = write.scalar(attributeNumber(node, 'alpha') ?? 0.01);
  const above = write.emit('Greater', [x, write.scalar(0)], shape);
  const below = write.emit('Mul', [dy, slope], shape);
  reverse.accumulate(x, write.emit('Where', [above, dy, below], shape));
};

/** α where 0 < y < 1, as y·(1 − y) has the sign 1 there and 0 elsewhere. */
function hardSlope(write: Emitter, y: string, alpha: number): string {
  const shape = write.shape(y);
  const inside = write.emit('Mul', [y, write.emit('Sub', [write.scalar(1), y], shape)], shape);
  return write.emit('Mul', [write.emit('Sign', [inside], shape), write.scalar(alpha)], shape);
}

export const hardSigmoid: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const slope = hardSlope(write, node.output[0] ?? '', attributeNumber(node, 'alpha') ?? 0.2);
  reverse.accumulate(x, write.emit('Mul', [dy, slope], write.shape(x)));
};

/** y = x·h(x) with h = HardSigmoid(α = 1/6, β = 1/2): dy · (h + x·h'). */
export const hardSwish = elementwise((write, x) => {
  const shape = write.shape(x);
  const h = write.emit('HardSigmoid', [x], shape, { alpha: 1 / 6, beta: 0.5 });
  const bent = write.emit('Mul', [x, hardSlope(write, h, 1 / 6)], shape);
  return write.emit('Add', [h, bent], shape);
});

export const clip: Rule = (node, dy, reverse) => {
  const [x = '', low = '', high = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const zero = write.scalar(0);
  const tests = [low === '' ? '' : write.emit('Greater', [x, low], shape)];
  if (high !== '') tests.push(write.emit('Less', [x, high], shape));
  const masked = tests
    .filter((test) => test !== '')
    .reduce((gradient, test) => write.emit('Where', [test, gradient, zero], shape), dy);
  reverse.accumulate(x, masked);
};

/** y = x·s(x): dy · (s + y·(1 − s)). @param s the sigmoid of x, @param y the product */
export function silu(names: { x: string; s: string; y: string }, dy: string, reverse: Reverse): void {
  const { x, s, y } = names;
  const { write } = reverse;
  const shape = write.shape(x);
  const rest = write.emit('Sub', [write.scalar(1), s], shape);
  const slope = write.emit('Add', [write.emit('Mul', [y, rest], shape), s], shape);
  reverse.accumulate(x, write.emit('Mul', [dy, slope], shape));
}

/** dx = y · (dy − Σ dy·y). */
export const softmax: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(x);
  const y = node.output[0] ?? '';
  const axis = attributeInt(node, 'axis');
  if (axis === undefined) throw cannotDifferentiate(node, 'it has no axis');
  const kept = shape.map((size, position) => (position === axis ? 1 : size));
  const weighted = write.emit('Mul', [dy, y], shape);
  const sum = write.emit('ReduceSum', [weighted, write.ints([axis])], kept, { keepdims: 1n });
  reverse.accumulate(x, write.emit('Mul', [y, write.emit('Sub', [dy, sum], shape)], shape));
};
