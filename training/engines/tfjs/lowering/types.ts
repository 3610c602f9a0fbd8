// What the translation of one operator may ask.
import type { NodeProto, Shape } from '#onnx';
import type { Tensor, Tensorflow } from '../tensorflow.ts';
import type { Value } from '../value.ts';

export interface Scope {
  readonly tf: Tensorflow;
  /** Shape in the order of axes of the file. */
  shape(name: string): Shape;
  value(name: string): Value;
  /** The tensor in the order of axes of the file. */
  plain(name: string): Tensor;
  /** The tensor with its channels last. */
  channelsLast(name: string): Tensor;
  /** What a constant of sizes, axes or bounds holds. */
  numbers(name: string): readonly number[] | undefined;
}

/** Computes the outputs of a node with operations that TensorFlow.js differentiates, or with a gradient of their own. */
export type Lowering = (node: NodeProto, scope: Scope) => readonly Value[];
