// Batch normalisation with fixed statistics is a scale and a shift of every channel: a convolution takes both over.
import { floats } from '../builder.ts';
import type { GraphView } from '../graph.ts';
import { attributeInt, copyMessage, graphOf, viewGraph, withGraph } from '../graph.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { tensorValues } from '../tensor.ts';
import { FreeNames, prune } from './prune.ts';

export interface FoldedBatchNorm {
  readonly model: ModelProto;
  /** BatchNormalization nodes that are gone. */
  readonly folded: number;
}

/**
 * Conv followed by BatchNormalization becomes Conv: W' = W γ / √(σ² + ε), b' = (b − μ) γ / √(σ² + ε) + β (Ioffe and
 * Szegedy, 2015, algorithm 1 with fixed statistics). Sums are float64, rounded once to float32. A node in training
 * mode, with computed weights, or on a convolution that something else reads too, stays.
 */
export function foldBatchNorm(model: ModelProto): FoldedBatchNorm {
  const graph = graphOf(model);
  const view = viewGraph(model);
  const names = new FreeNames(graph);
  const outputs = new Set(graph.output.map(({ name }) => name));
  const folds = new Map<NodeProto, NodeProto>();
  const gone = new Set<NodeProto>();
  const added: TensorProto[] = [];
  for (const normalization of graph.node) {
    if (normalization.opType !== 'BatchNormalization' || attributeInt(normalization, 'training_mode'))
      continue;
    const convolution = view.producer(normalization.input[0] ?? '');
    if (convolution?.opType !== 'Conv' || outputs.has(convolution.output[0] ?? '')) continue;
    if (view.consumers(convolution.output[0] ?? '').length !== 1) continue;
    const constants = constantsOf(view, convolution, normalization);
    if (constants === undefined) continue;
    const [weight, bias] = foldedValues(constants, names);
    added.push(weight, bias);
    const input = [convolution.input[0] ?? '', weight.name, bias.name];
    folds.set(convolution, copyMessage(convolution, { input, output: [normalization.output[0] ?? ''] }));
    gone.add(normalization);
  }
  if (gone.size === 0) return { model, folded: 0 };
  const node = graph.node.filter((made) => !gone.has(made)).map((made) => folds.get(made) ?? made);
  const initializer = [...graph.initializer, ...added];
  return { model: prune(withGraph(model, { node, initializer })), folded: gone.size };
}

interface Constants {
  /** [M, C / group, …] */
  readonly weight: TensorProto;
  readonly biasName: string;
  /** [M] each; the bias is absent where the convolution has none. */
  readonly bias: ArrayLike<number> | undefined;
  readonly scale: ArrayLike<number>;
  readonly shift: ArrayLike<number>;
  readonly mean: ArrayLike<number>;
  readonly variance: ArrayLike<number>;
  readonly epsilon: number;
}

function constantsOf(
  view: GraphView,
  convolution: NodeProto,
  normalization: NodeProto,
): Constants | undefined {
  const numbers = (name = '') => {
    const stored = view.constant(name);
    return stored && (tensorValues(stored) as ArrayLike<number>);
  };
  const [scale, shift, mean, variance] = normalization.input.slice(1).map(numbers);
  const weight = view.constant(convolution.input[1] ?? '');
  const biasName = convolution.input[2] ?? '';
  const bias = numbers(biasName);
  if (!weight || !scale || !shift || !mean || !variance || (biasName !== '' && !bias)) return undefined;
  const epsilon = normalization.attribute.find(({ name }) => name === 'epsilon')?.f ?? 1e-5;
  return { weight, biasName, bias, scale, shift, mean, variance, epsilon };
}

function foldedValues(constants: Constants, names: FreeNames): readonly [TensorProto, TensorProto] {
  const { weight, biasName, bias, scale, shift, mean, variance, epsilon } = constants;
  const values = tensorValues(weight) as ArrayLike<number>;
  const channels = scale.length;
  const perChannel = values.length / channels;
  const folded = new Float32Array(values.length);
  const moved = new Float32Array(channels);
  for (let channel = 0; channel < channels; channel++) {
    const factor = scale[channel]! / Math.sqrt(variance[channel]! + epsilon);
    const end = (channel + 1) * perChannel;
    for (let index = channel * perChannel; index < end; index++) folded[index] = values[index]! * factor;
    moved[channel] = ((bias?.[channel] ?? 0) - mean[channel]!) * factor + shift[channel]!;
  }
  const name = names.take(`${weight.name}_folded`);
  return [
    floats(name, weight.dims.map(Number), folded),
    floats(names.take(biasName === '' ? `${name}_bias` : `${biasName}_folded`), [channels], moved),
  ];
}
