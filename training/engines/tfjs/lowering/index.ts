// The operators that can stand in a trainable part, in operations of TensorFlow.js.
import * as activations from './activations.ts';
import * as arithmetic from './arithmetic.ts';
import { convolution } from './convolution.ts';
import * as layout from './layout.ts';
import { batchNormalization } from './normalization.ts';
import * as pooling from './pooling.ts';
import type { Lowering } from './types.ts';

export type { Scope } from './types.ts';

/** Name of a product x · Sigmoid(x) that was recognised; no operator of the file is called so. */
export const SILU = 'SiLU';

export const lowerings: Readonly<Record<string, Lowering>> = {
  Add: arithmetic.add,
  AveragePool: pooling.averagePool,
  BatchNormalization: batchNormalization,
  Clip: activations.clip,
  Concat: layout.concat,
  Conv: convolution,
  Div: arithmetic.divide,
  Exp: activations.exponential,
  GlobalAveragePool: arithmetic.globalAveragePool,
  HardSigmoid: activations.hardSigmoid,
  HardSwish: activations.hardSwish,
  Identity: layout.identity,
  LeakyRelu: activations.leakyRelu,
  MaxPool: pooling.maxPool,
  Mul: arithmetic.multiply,
  Pad: layout.pad,
  ReduceMean: arithmetic.reduceMean,
  ReduceSum: arithmetic.reduceSum,
  Relu: activations.relu,
  Reshape: layout.reshape,
  Resize: pooling.resize,
  Sigmoid: activations.sigmoid,
  [SILU]: activations.silu,
  Slice: layout.slice,
  Softmax: activations.softmax,
  Softplus: activations.softplus,
  Split: layout.split,
  Sub: arithmetic.subtract,
  Sum: arithmetic.add,
  Tanh: activations.tanh,
  Transpose: layout.transpose,
};
