// Batch normalisation in training: with the statistics of the batch, which are outputs of the node.
import type { NodeProto, TrainablePart } from '#onnx';
import { attributeInt, node as makeNode } from '#onnx';
import type { CanonicalGraph } from './canonical.ts';
import type { NamedTensor } from './differentiate.ts';
import { createEmitter } from './emitter.ts';
import { epsilonOf } from './rules/normalization.ts';

/**
 * Only nodes whose running statistics belong to the part change; others stay frozen, as pretrained ones may be.
 * The momentum of 0 makes the second and third output the mean and the biased variance of the batch alone.
 */
export function withBatchStatistics(
  graph: CanonicalGraph,
  part: TrainablePart,
): { graph: CanonicalGraph; statistics: readonly NamedTensor[] } {
  const own = new Set(part.normalizations.map(({ mean }) => mean));
  const shapes = new Map(graph.shapes);
  const statistics: NamedTensor[] = [];
  const nodes = graph.nodes.map((node) => {
    const [, gamma = '', , mean = '', variance = ''] = node.input;
    if (node.opType !== 'BatchNormalization' || !own.has(mean)) return node;
    const output = node.output[0] ?? '';
    const [batchMean, batchVariance] = [`${output}/batch_mean`, `${output}/batch_variance`];
    const shape = shapes.get(gamma) ?? [];
    shapes.set(batchMean, shape);
    shapes.set(batchVariance, shape);
    statistics.push({ name: mean, tensor: batchMean, shape });
    statistics.push({ name: variance, tensor: batchVariance, shape });
    return makeNode('BatchNormalization', node.input, [output, batchMean, batchVariance], {
      epsilon: epsilonOf(node),
      momentum: 0,
      training_mode: 1n,
    });
  });
  return { graph: { ...graph, nodes, shapes }, statistics };
}

export function isTraining(node: NodeProto): boolean {
  return node.opType === 'BatchNormalization' && attributeInt(node, 'training_mode') === 1;
}

/** The same normalisation once mean and variance are known. */
export function normalizeWith(node: NodeProto): NodeProto {
  const [x = '', gamma = '', beta = ''] = node.input;
  const [y = '', mean = '', variance = ''] = node.output;
  return makeNode('BatchNormalization', [x, gamma, beta, mean, variance], [y], { epsilon: epsilonOf(node) });
}

/** Mean and variance in basic operators, then the normalisation. */
export function composedNodes(node: NodeProto, graph: CanonicalGraph) {
  const [x = ''] = node.input;
  const [y = '', mean = '', variance = ''] = node.output;
  const write = createEmitter(`${y}/`, (name) => graph.shapes.get(name));
  const shape = write.shape(x);
  const [, channels = 1] = shape;
  const axes = shape.map((_, axis) => axis).filter((axis) => axis !== 1);
  const narrow = shape.map((size, axis) => (axis === 1 ? size : 1));
  const attributes = { axes: axes.map(BigInt), keepdims: 1n };
  const wideMean = write.emit('ReduceMean', [x], narrow, attributes);
  const centred = write.emit('Sub', [x, wideMean], shape);
  const wideVariance = write.emit(
    'ReduceMean',
    [write.emit('Mul', [centred, centred], shape)],
    narrow,
    attributes,
  );
  const flat = write.ints([channels]);
  const named = [
    makeNode('Reshape', [wideMean, flat], [mean]),
    makeNode('Reshape', [wideVariance, flat], [variance]),
  ];
  return { nodes: [...write.nodes, ...named, normalizeWith(node)], constants: [...write.constants.values()] };
}
