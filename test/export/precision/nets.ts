// Small detectors written by hand: a backbone with SiLU, a residual and a concatenation, and a head with a distribution.

import { createRandom } from '#core';
import {
  ElementType,
  floats,
  graph,
  ints,
  type ModelProto,
  model,
  type NodeProto,
  node,
  type TensorProto,
  valueInfo,
} from '#onnx';

export const CHANNELS = 16;
export const SIDE = 16;

/** Seeded weights; a sum of many stays near the size of one value. */
export function weights(name: string, dims: readonly number[], seed: number, size = 1): TensorProto {
  const random = createRandom(seed);
  const fanIn = dims.slice(1).reduce((product, dim) => product * dim, 1);
  const count = dims.reduce((product, dim) => product * dim, 1);
  const values = Float32Array.from(
    { length: count },
    () => ((random.next() * 2 - 1) * size * 1.7) / Math.sqrt(fanIn),
  );
  return floats(name, dims, values);
}

interface Layer {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
}

/** Convolution with bias; 3x3 kernels keep the size. */
export function convolution(
  from: string,
  to: string,
  dims: readonly number[],
  seed: number,
  group = 1,
): Layer {
  const pad = BigInt(((dims[2] ?? 1) - 1) / 2);
  const attributes = {
    pads: [pad, pad, pad, pad],
    group: BigInt(group),
    kernel_shape: dims.slice(2).map(BigInt),
  };
  return {
    nodes: [node('Conv', [from, `${to}.w`, `${to}.b`], [to], attributes)],
    initializers: [weights(`${to}.w`, dims, seed), weights(`${to}.b`, [dims[0] ?? 1], seed + 1)],
  };
}

export function silu(from: string, to: string): readonly NodeProto[] {
  return [node('Sigmoid', [from], [`${to}.gate`]), node('Mul', [from, `${to}.gate`], [to])];
}

/** conv SiLU → conv SiLU + shortcut → concat → conv SiLU → two last convolutions → distribution mean, scores → rows. */
export function tinyDetector(): ModelProto {
  const c = CHANNELS;
  const layers = [
    convolution('images', 'stem', [c, 3, 3, 3], 1),
    convolution('a', 'inner', [c, c, 3, 3], 3),
    convolution('joined', 'fuse', [c, 2 * c, 1, 1], 5),
    convolution('f', 'sides', [16, c, 1, 1], 7),
    convolution('f', 'classes', [3, c, 1, 1], 9),
  ];
  const [stem, inner, fuse, sides, classes] = layers.map(({ nodes }) => nodes);
  const cells = SIDE * SIDE;
  return model(
    graph({
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, SIDE, SIDE])],
      outputs: [valueInfo('output0', ElementType.FLOAT, [1, 7, cells])],
      nodes: [
        ...(stem ?? []),
        ...silu('stem', 'a'),
        ...(inner ?? []),
        ...silu('inner', 'b'),
        node('Add', ['a', 'b'], ['sum']),
        node('Concat', ['a', 'sum'], ['joined'], { axis: 1n }),
        ...(fuse ?? []),
        ...silu('fuse', 'f'),
        ...(sides ?? []),
        ...(classes ?? []),
        node('Reshape', ['sides', 'by_side'], ['bins']),
        node('Transpose', ['bins'], ['turned'], { perm: [0n, 2n, 1n, 3n] }),
        node('Softmax', ['turned'], ['law'], { axis: 1n }),
        node('Conv', ['law', 'steps'], ['means'], { kernel_shape: [1n, 1n] }),
        node('Reshape', ['means', 'as_boxes'], ['distances']),
        node('Mul', ['distances', 'stride'], ['boxes']),
        node('Reshape', ['classes', 'as_classes'], ['logits']),
        node('Sigmoid', ['logits'], ['scores']),
        node('Concat', ['boxes', 'scores'], ['output0'], { axis: 1n }),
      ],
      initializers: [
        ...layers.flatMap(({ initializers }) => initializers),
        ints('by_side', [1, 4, 4, cells]),
        ints('as_boxes', [1, 4, cells]),
        ints('as_classes', [1, 3, cells]),
        floats('steps', [1, 4, 1, 1], [0, 1, 2, 3]),
        floats('stride', [], [200]),
      ],
    }),
  );
}

/** A graph of its own around the given nodes, [1, C, H, W] in, `output0` out. */
export function around(
  nodes: readonly NodeProto[],
  initializers: readonly TensorProto[],
  shape: readonly number[],
  opset = 17,
): ModelProto {
  return model(
    graph({
      inputs: [valueInfo('images', ElementType.FLOAT, shape)],
      outputs: [valueInfo('output0', ElementType.FLOAT)],
      nodes,
      initializers,
    }),
    { opset },
  );
}

/** Pictures of noise with patches, in [0, 1]. */
export function noise(count: number, length: number, seed: number): Float32Array<ArrayBuffer>[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => {
    const level = random.next();
    return Float32Array.from({ length }, () => Math.min(1, Math.max(0, level + (random.next() - 0.5) * 0.6)));
  });
}
