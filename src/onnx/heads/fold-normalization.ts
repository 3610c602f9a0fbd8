// Batch normalisation that follows a convolution becomes part of it: w' = w γ/√(v + ε), b' = β + (b − μ) γ/√(v + ε)
// (Ioffe and Szegedy, 2015, with running statistics).
import { ModelError } from '#core';
import { tensor } from '../builder.ts';
import { copyMessage } from '../graph.ts';
import type { GraphProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { tensorValues } from '../tensor.ts';

const DEFAULT_EPSILON = 1e-5;

export interface FoldedNodes {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
}

/**
 * @param graph with values written into its initializers
 * @throws ModelError where a normalisation follows no convolution of its own
 */
export function foldNormalization({
  node,
  initializer,
}: Pick<GraphProto, 'node' | 'initializer'>): FoldedNodes {
  const constants = new Map(initializer.map((constant) => [constant.name, constant]));
  const producers = new Map(node.flatMap((made) => made.output.map((name) => [name, made] as const)));
  const readers = new Map<string, number>();
  for (const name of node.flatMap(({ input }) => input)) readers.set(name, (readers.get(name) ?? 0) + 1);
  const folded = new Map<NodeProto, NodeProto>();
  const gone = new Set<NodeProto>();
  for (const normalization of node) {
    if (normalization.opType !== 'BatchNormalization') continue;
    const source = normalization.input[0] ?? '';
    const convolution = producers.get(source);
    if (convolution?.opType !== 'Conv' || readers.get(source) !== 1) {
      throw new ModelError(
        `node ${normalization.name} (BatchNormalization) follows no convolution of its own`,
        {
          hint: 'only normalisations right behind a convolution can be folded',
        },
      );
    }
    folded.set(convolution, joinInto(constants, convolution, normalization));
    gone.add(normalization);
  }
  const nodes = node.flatMap((made) => (gone.has(made) ? [] : [folded.get(made) ?? made]));
  const used = new Set(nodes.flatMap(({ input }) => input));
  return { nodes, initializers: [...constants.values()].filter(({ name }) => used.has(name)) };
}

function joinInto(
  constants: Map<string, TensorProto>,
  convolution: NodeProto,
  normalization: NodeProto,
): NodeProto {
  const values = (name: string | undefined) => {
    const constant = constants.get(name ?? '');
    return constant ? Float32Array.from(tensorValues(constant) as Float32Array) : undefined;
  };
  const [, weightName = '', biasName] = convolution.input;
  const weight = values(weightName);
  const [scale, shift, mean, variance] = normalization.input.slice(1).map(values);
  if (!weight || !scale || !shift || !mean || !variance) {
    throw new ModelError(
      `node ${normalization.name} (BatchNormalization) reads values that are not constant`,
      {
        hint: 'expected initializers for weight, scale, shift, mean and variance',
      },
    );
  }
  const bias = values(biasName);
  const epsilon = normalization.attribute.find(({ name }) => name === 'epsilon')?.f ?? DEFAULT_EPSILON;
  const perChannel = weight.length / scale.length;
  const factor = scale.map((gamma, channel) => gamma / Math.sqrt(variance[channel]! + epsilon));
  const newBias = shift.map(
    (beta, channel) => beta + ((bias?.[channel] ?? 0) - mean[channel]!) * factor[channel]!,
  );
  const dims = constants.get(weightName)!.dims.map(Number);
  const name = biasName ?? `${weightName.replace(/\.weight$/, '')}.bias`;
  constants.set(
    weightName,
    tensor(
      weightName,
      dims,
      weight.map((value, at) => value * factor[Math.floor(at / perChannel)]!),
    ),
  );
  constants.set(name, tensor(name, [newBias.length], newBias));
  return copyMessage(convolution, {
    input: [convolution.input[0]!, weightName, name],
    output: [...normalization.output],
  });
}
