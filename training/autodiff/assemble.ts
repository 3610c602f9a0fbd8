// Puts the nodes of the two passes into models, and decides what is kept between them and what is computed again.
import type { ModelProto, NodeProto, TensorProto } from '#onnx';
import {
  ElementType,
  graph as makeGraph,
  model as makeModel,
  node as makeNode,
  OWN_OPSET,
  valueInfo,
} from '#onnx';
import type { CanonicalGraph } from './canonical.ts';
import { reachable } from './canonical.ts';
import type { Gradients, NamedShape, NamedTensor } from './differentiate.ts';
import type { Emitter } from './emitter.ts';
import { composedNodes, isTraining, normalizeWith } from './normalize.ts';

interface Interface {
  readonly inputs: readonly NamedShape[];
  readonly values: readonly NamedShape[];
  readonly outputs: readonly NamedShape[];
}

/**
 * One pass over the memory or less: to compute them again costs no more than to carry their results from one graph to
 * the other, and they need not be held meanwhile.
 */
const CHEAP = new Set([
  ...['Add', 'Sub', 'Mul', 'Div', 'Sigmoid', 'Relu', 'LeakyRelu', 'HardSwish', 'HardSigmoid', 'Clip', 'Tanh'],
  ...[
    'BatchNormalization',
    'Reshape',
    'Transpose',
    'Concat',
    'Slice',
    'Split',
    'Identity',
    'Resize',
    'Pad',
    'Sum',
  ],
]);

export function assembleForward(
  graph: CanonicalGraph,
  { inputs, values, outputs }: Interface,
  kept: readonly NamedShape[],
  composed: boolean,
): ModelProto {
  const results = [...outputs, ...kept.filter(({ name }) => !outputs.some((output) => output.name === name))];
  const wanted = new Set(results.map(({ name }) => name));
  const nodes: NodeProto[] = [];
  const constants = new Map(graph.constants);
  for (const node of reachable(graph.nodes, wanted)) {
    if (!composed || !isTraining(node)) {
      nodes.push(node);
      continue;
    }
    const written = composedNodes(node, graph);
    nodes.push(...written.nodes);
    for (const constant of written.constants) constants.set(constant.name, constant);
  }
  return asModel(nodes, constants, [...inputs, ...values], results);
}

interface Backward {
  readonly model: ModelProto;
  readonly kept: readonly string[];
  readonly reread: readonly string[];
  readonly gradientOutputs: readonly NamedTensor[];
  /** Gradients of outputs that the graph reads. */
  readonly read: readonly NamedTensor[];
}

export function assembleBackward(
  graph: CanonicalGraph,
  { inputs, values }: Interface,
  write: Emitter,
  gradients: Gradients,
): Backward {
  const given = new Map([...inputs, ...values].map((tensor) => [tensor.name, tensor]));
  const seeds = new Map(gradients.seeds.map((seed) => [seed.tensor, seed]));
  const results = gradients.parameters.map((result) => ({ ...result, output: `gradient/to/${result.name}` }));
  const closing = results.map(({ tensor, output }) => makeNode('Identity', [tensor], [output]));
  const nodes = reachable([...write.nodes, ...closing], new Set(results.map(({ output }) => output)));
  const constants = new Map([...graph.constants, ...write.constants]);
  const source = createSource(graph, (name) => given.has(name) || seeds.has(name) || constants.has(name));
  const own = new Set(nodes.flatMap((node) => node.output));
  for (const node of nodes) {
    for (const name of node.input) if (name !== '' && !own.has(name)) source.need(name);
  }
  const again = graph.nodes.filter((node) => source.again.has(node));
  const all = [...again.map((node) => (isTraining(node) ? normalizeWith(node) : node)), ...nodes];
  const read = new Set(all.flatMap((node) => node.input));
  const kept = [...source.kept];
  const keptShapes = kept.map((name) => ({ name, shape: graph.shapes.get(name) ?? [] }));
  const reread = [...given.values()].filter(({ name }) => read.has(name));
  const readSeeds = gradients.seeds.filter(({ tensor }) => read.has(tensor));
  const seedInputs = readSeeds.map(({ tensor, shape }) => ({ name: tensor, shape }));
  const outputs = results.map(({ output, shape }) => ({ name: output, shape }));
  return {
    model: asModel(all, constants, [...reread, ...keptShapes, ...seedInputs], outputs),
    kept,
    read: readSeeds,
    reread: reread.map(({ name }) => name),
    gradientOutputs: results.map(({ name, shape, output }) => ({ name, shape, tensor: output })),
  };
}

/** Where the backward graph takes a tensor of the forward graph from. */
function createSource(graph: CanonicalGraph, isGiven: (name: string) => boolean) {
  const producers = new Map(graph.nodes.flatMap((node) => node.output.map((name) => [name, node] as const)));
  const again = new Set<NodeProto>();
  const kept = new Set<string>();
  const need = (name: string): void => {
    const node = producers.get(name);
    if (isGiven(name) || node === undefined || kept.has(name)) return;
    if (isTraining(node) && name !== node.output[0]) {
      kept.add(name);
    } else if (CHEAP.has(node.opType)) {
      if (again.has(node)) return;
      again.add(node);
      const inputs = isTraining(node) ? [...node.input.slice(0, 3), ...node.output.slice(1)] : node.input;
      for (const input of inputs) if (input !== '') need(input);
    } else {
      kept.add(name);
    }
  };
  return { again, kept, need };
}

function asModel(
  nodes: readonly NodeProto[],
  constants: ReadonlyMap<string, TensorProto>,
  inputs: readonly NamedShape[],
  outputs: readonly NamedShape[],
): ModelProto {
  const fed = new Set(inputs.map(({ name }) => name));
  const read = new Set(nodes.flatMap((node) => node.input));
  const infos = (tensors: readonly NamedShape[]) =>
    tensors.map(({ name, shape }) => valueInfo(name, ElementType.FLOAT, shape));
  const graph = makeGraph({
    nodes,
    inputs: infos(inputs),
    outputs: infos(outputs),
    initializers: [...constants.values()].filter(({ name }) => read.has(name) && !fed.has(name)),
  });
  return makeModel(graph, { opset: OWN_OPSET });
}
