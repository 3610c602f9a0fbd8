// Functions of one value, and the softmax.
import { attributeInt } from '#onnx';
import { attributeNumber } from '../../../autodiff/attributes.ts';
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import { plainTensor, plainValue } from '../value.ts';
import type { Lowering } from './types.ts';

type NodeOf = Parameters<Lowering>[0];

function elementwise(compute: (tf: Tensorflow, x: Tensor, node: NodeOf) => Tensor): Lowering {
  return (node, { tf, value }) => {
    const { tensor, channelsLast } = value(node.input[0] ?? '');
    return [{ tensor: compute(tf, tensor, node), channelsLast }];
  };
}

interface Differentiable {
  readonly value: (x: Tensor) => Tensor;
  /** dy/dx as an expression of input and output. */
  readonly slope: (x: Tensor, y: Tensor) => Tensor;
}

function withSlope(tf: Tensorflow, x: Tensor, { value, slope }: Differentiable): Tensor {
  return tf.customGrad((...inputs) => {
    const [given, save] = inputs as [Tensor, (kept: Tensor[]) => void];
    const y = value(given);
    save([given, y]);
    return {
      value: y,
      gradFunc: (dy: Tensor, [keptX, keptY]: Tensor[]) => {
        if (keptX === undefined || keptY === undefined)
          throw new Error('nothing was kept of the forward pass');
        return tf.mul(dy, slope(keptX, keptY));
      },
    };
  })(x);
}

export const relu = elementwise((tf, x) => tf.relu(x));
export const sigmoid = elementwise((tf, x) => tf.sigmoid(x));
export const tanh = elementwise((tf, x) => tf.tanh(x));
export const exponential = elementwise((tf, x) => tf.exp(x));
export const softplus = elementwise((tf, x) => tf.softplus(x));

/** x·s(x), and s + y·(1 − s): kept are y and s, where the product rule would keep and multiply twice as much. */
export const silu = elementwise((tf, x) =>
  tf.customGrad((...inputs) => {
    const [given, save] = inputs as [Tensor, (kept: Tensor[]) => void];
    const s = tf.sigmoid(given);
    const y = tf.mul(given, s);
    save([s, y]);
    return {
      value: y,
      gradFunc: (dy: Tensor, [keptS, keptY]: Tensor[]) => {
        if (keptS === undefined || keptY === undefined)
          throw new Error('nothing was kept of the forward pass');
        return tf.mul(dy, tf.add(keptS, tf.mul(keptY, tf.sub(1, keptS))));
      },
    };
  })(x),
);

export const leakyRelu = elementwise((tf, x, node) => {
  const alpha = attributeNumber(node, 'alpha') ?? 0.01;
  return withSlope(tf, x, {
    value: (given) => tf.leakyRelu(given, alpha),
    slope: (given) => tf.step(given, alpha),
  });
});

/** 1 where 0 < y < 1, else 0. */
function inside(tf: Tensorflow, y: Tensor): Tensor {
  return tf.sign(tf.mul(y, tf.sub(1, y)));
}

function hard(tf: Tensorflow, x: Tensor, alpha: number, beta: number): Tensor {
  return tf.clipByValue(tf.add(tf.mul(x, alpha), beta), 0, 1);
}

export const hardSigmoid = elementwise((tf, x, node) => {
  const alpha = attributeNumber(node, 'alpha') ?? 0.2;
  const beta = attributeNumber(node, 'beta') ?? 0.5;
  return withSlope(tf, x, {
    value: (given) => hard(tf, given, alpha, beta),
    slope: (_, y) => tf.mul(inside(tf, y), alpha),
  });
});

/** x·h(x) with h = HardSigmoid(1/6, 1/2). */
export const hardSwish = elementwise((tf, x) =>
  withSlope(tf, x, {
    value: (given) => tf.mul(given, hard(tf, given, 1 / 6, 0.5)),
    slope(given) {
      const h = hard(tf, given, 1 / 6, 0.5);
      return tf.add(h, tf.mul(given, tf.mul(inside(tf, h), 1 / 6)));
    },
  }),
);

const LARGEST = 3.4028234663852886e38;

export const clip: Lowering = (node, { tf, value, numbers }) => {
  const [x = '', low = '', high = ''] = node.input;
  const least = numbers(low)?.[0] ?? -LARGEST;
  const most = numbers(high)?.[0] ?? LARGEST;
  const { tensor, channelsLast } = value(x);
  const clipped = withSlope(tf, tensor, {
    value: (given) => tf.clipByValue(given, least, most),
    slope: (given) => tf.cast(tf.logicalAnd(tf.greater(given, least), tf.less(given, most)), 'float32'),
  });
  return [{ tensor: clipped, channelsLast }];
};

/** TensorFlow.js has it along the last axis: any other is brought there and back. */
export const softmax: Lowering = (node, { tf, value }) => {
  const x = value(node.input[0] ?? '');
  const axis = attributeInt(node, 'axis') ?? 0;
  const { rank } = x.tensor;
  if (x.channelsLast && axis === 1) return [{ tensor: tf.softmax(x.tensor), channelsLast: true }];
  const plain = plainTensor(tf, x);
  if (axis === rank - 1) return [plainValue(tf.softmax(plain))];
  const swapped = Array.from({ length: rank }, (_, position) => position);
  swapped[axis] = rank - 1;
  swapped[rank - 1] = axis;
  return [plainValue(tf.transpose(tf.softmax(tf.transpose(plain, swapped)), swapped))];
};
