// What a rule of differentiation may ask and do.

import { ModelError } from '#core';
import type { NodeProto, Shape } from '#onnx';
import type { Emitter } from './emitter.ts';

export interface Reverse {
  /** Where the nodes of the backward graph go. */
  readonly write: Emitter;
  /** Whether a parameter lies behind this tensor. */
  wants(name: string): boolean;
  /** Gradient with respect to a tensor, all readers summed; undefined where it is zero. */
  gradient(name: string): string | undefined;
  /** Adds to the gradient of a tensor that is wanted; does nothing for others. */
  accumulate(name: string, gradient: string): void;
  /** Values of a constant. */
  numbers(name: string): readonly number[] | undefined;
}

/** Adds to the gradients of the inputs of a node from those of its outputs. @param dy gradient of its first output */
export type Rule = (node: NodeProto, dy: string, reverse: Reverse) => void;

export function cannotDifferentiate(node: NodeProto, why: string): ModelError {
  const name = node.name === '' ? `that makes ${node.output[0]}` : node.name;
  return new ModelError(`node ${name} (${node.opType}) cannot be differentiated: ${why}`, {
    hint: 'freeze=towers keeps it in the frozen part; see the freeze levels in the documentation',
  });
}

/** Sums a gradient over the axes along which its tensor was broadcast. */
export function unbroadcast(write: Emitter, gradient: string, target: Shape): string {
  const from = write.shape(gradient);
  const offset = from.length - target.length;
  const axes = from.flatMap((size, axis) => (size !== 1 && (target[axis - offset] ?? 1) === 1 ? [axis] : []));
  const kept = from.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const summed =
    axes.length === 0
      ? gradient
      : write.emit('ReduceSum', [gradient, write.ints(axes)], kept, { keepdims: 1n });
  return write.reshape(summed, target);
}

/** [C] as [1, C, 1, …], to broadcast over a tensor `[N, C, …]`. */
export function perChannel(write: Emitter, name: string, rank: number): string {
  const [channels = 1] = write.shape(name);
  return write.reshape(name, [1, channels, ...new Array<number>(rank - 2).fill(1)]);
}
