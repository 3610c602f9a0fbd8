// Gradients of sums, products and means, broadcasting included.
import { attributeInts } from '#onnx';
import { elementsOf } from '../emitter.ts';
import type { Reverse, Rule } from '../reverse.ts';
import { unbroadcast } from '../reverse.ts';

function give(reverse: Reverse, name: string, gradient: () => string): void {
  if (!reverse.wants(name)) return;
  reverse.accumulate(name, unbroadcast(reverse.write, gradient(), reverse.write.shape(name)));
}

export const add: Rule = (node, dy, reverse) => {
  for (const name of node.input) give(reverse, name, () => dy);
};

export const subtract: Rule = (node, dy, reverse) => {
  const [a = '', b = ''] = node.input;
  give(reverse, a, () => dy);
  give(reverse, b, () => reverse.write.emit('Neg', [dy], reverse.write.shape(dy)));
};

export const multiply: Rule = (node, dy, reverse) => {
  const [a = '', b = ''] = node.input;
  const shape = reverse.write.shape(dy);
  give(reverse, a, () => reverse.write.emit('Mul', [dy, b], shape));
  give(reverse, b, () => reverse.write.emit('Mul', [dy, a], shape));
};

/** y = a / b: da = dy / b, db = −dy · y / b. */
export const divide: Rule = (node, dy, reverse) => {
  const [a = '', b = ''] = node.input;
  const { write } = reverse;
  const shape = write.shape(dy);
  const quotient = () => write.emit('Div', [dy, b], shape);
  give(reverse, a, quotient);
  give(reverse, b, () =>
    write.emit('Neg', [write.emit('Mul', [quotient(), node.output[0] ?? ''], shape)], shape),
  );
};

export const reduceSum: Rule = (node, dy, reverse) => {
  const [x = '', axes = ''] = node.input;
  spread(x, reverse.numbers(axes) ?? [], dy, 1, reverse);
};

export const reduceMean: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const shape = reverse.write.shape(x);
  const axes = attributeInts(node, 'axes') ?? shape.map((_, axis) => axis);
  spread(x, axes, dy, 1 / axes.reduce((count, axis) => count * (shape[axis] ?? 1), 1), reverse);
};

export const globalAveragePool: Rule = (node, dy, reverse) => {
  const [x = ''] = node.input;
  const sizes = reverse.write.shape(x).slice(2);
  spread(
    x,
    sizes.map((_, axis) => axis + 2),
    dy,
    1 / elementsOf(sizes),
    reverse,
  );
};

/** Spreads a reduced gradient over the axes that were reduced. */
function spread(x: string, axes: readonly number[], dy: string, scale: number, reverse: Reverse): void {
  const { write } = reverse;
  const shape = write.shape(x);
  const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const narrow = write.reshape(dy, kept);
  const scaled = scale === 1 ? narrow : write.emit('Mul', [narrow, write.scalar(scale)], kept);
  reverse.accumulate(x, write.emit('Expand', [scaled, write.ints(shape)], shape));
}
