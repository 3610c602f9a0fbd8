// Reverse-mode differentiation of a graph: two ordinary graphs, one forward and one backward, and what passes between.
import type { ModelProto, NodeProto, Shape, TrainablePart } from '#onnx';
import { viewGraph } from '#onnx';
import { assembleBackward, assembleForward } from './assemble.ts';
import type { CanonicalGraph } from './canonical.ts';
import { canonicalGraph } from './canonical.ts';
import type { Emitter } from './emitter.ts';
import { createEmitter } from './emitter.ts';
import { withBatchStatistics } from './normalize.ts';
import type { Reverse } from './reverse.ts';
import { cannotDifferentiate } from './reverse.ts';
import { silu } from './rules/activations.ts';
import { rules } from './rules/index.ts';

export interface NamedShape {
  readonly name: string;
  readonly shape: Shape;
}

/** A tensor of ours and the name it has in a graph. */
export interface NamedTensor extends NamedShape {
  readonly tensor: string;
}

/** Forward and backward pass for one batch size, as ordinary ONNX graphs. */
export interface GradientProgram {
  readonly forward: ModelProto;
  /** Absent in mode `evaluate`. */
  readonly backward?: ModelProto;
  /** Inputs of the trainable part, axis N first. */
  readonly inputs: readonly NamedShape[];
  /** Parameters, and the running statistics in mode `evaluate`: inputs of the forward graph. */
  readonly values: readonly NamedShape[];
  readonly outputs: readonly NamedShape[];
  /** Outputs of the forward graph that are inputs of the backward graph. */
  readonly kept: readonly NamedShape[];
  /** Inputs and values that the backward graph reads. */
  readonly reread: readonly string[];
  /** Gradients that the backward graph takes, by output. */
  readonly outputGradients: readonly NamedTensor[];
  /** Gradients that the backward graph gives, by parameter; a parameter without influence is absent. */
  readonly parameterGradients: readonly NamedTensor[];
  /** Outputs of the forward graph that are statistics of the batch, by the name of the running statistic. */
  readonly statistics: readonly NamedTensor[];
}

export interface DifferentiateOptions {
  readonly batch: number;
  readonly mode: 'train' | 'evaluate';
  /** Writes batch normalisation in basic operators, for providers whose BatchNormalization cannot train (CUDA). */
  readonly composedNormalization: boolean;
}

/** @throws ModelError naming node and operator where a parameter lies behind what cannot be differentiated */
export function differentiate(part: TrainablePart, options: DifferentiateOptions): GradientProgram {
  const canonical = canonicalGraph(part, options.batch);
  const training = options.mode === 'train';
  const { graph, statistics } = training
    ? withBatchStatistics(canonical, part)
    : { graph: canonical, statistics: [] };
  const running = part.normalizations.flatMap(({ mean, variance }) => [mean, variance]);
  const parameters = part.parameters.map(({ name, shape }) => ({ name, shape }));
  const described = {
    inputs: part.inputs.map(({ name, shape }) => ({ name, shape: [options.batch, ...shape] })),
    values: training
      ? parameters
      : [...parameters, ...running.map((name) => ({ name, shape: graph.shapes.get(name) ?? [] }))],
    outputs: part.outputs.map(({ name, shape }) => ({ name, shape: [options.batch, ...shape] })),
  };
  if (!training) {
    return {
      ...described,
      ...{ kept: [], reread: [], outputGradients: [], parameterGradients: [], statistics },
      forward: assembleForward(graph, described, [], options.composedNormalization),
    };
  }
  const seeds = described.outputs.map((output) => ({ ...output, tensor: `gradient/of/${output.name}` }));
  const seedShapes = new Map(seeds.map(({ tensor, shape }) => [tensor, shape]));
  const write = createEmitter('gradient/', (name) => graph.shapes.get(name) ?? seedShapes.get(name));
  const gradients = reverseGraph(graph, part, seeds, write);
  const { model, kept, reread, gradientOutputs, read } = assembleBackward(graph, described, write, gradients);
  const shapesOf = (names: Iterable<string>) =>
    [...names].map((name) => ({ name, shape: graph.shapes.get(name) ?? [] }));
  const results = shapesOf(new Set([...kept, ...statistics.map(({ tensor }) => tensor)]));
  return {
    ...described,
    forward: assembleForward(graph, described, results, options.composedNormalization),
    backward: model,
    kept: shapesOf(kept),
    reread,
    outputGradients: read,
    parameterGradients: gradientOutputs,
    statistics,
  };
}

/** What the reverse pass found. */
export interface Gradients {
  /** Inputs of the backward graph: gradients of the outputs. */
  readonly seeds: readonly NamedTensor[];
  /** Tensor that holds the gradient of each parameter that has one. */
  readonly parameters: readonly NamedTensor[];
}

function reverseGraph(
  graph: CanonicalGraph,
  part: TrainablePart,
  outputs: readonly NamedTensor[],
  write: Emitter,
): Gradients {
  const wanted = behindParameters(
    graph.nodes,
    part.parameters.map(({ name }) => name),
  );
  const terms = new Map<string, string[]>();
  const summed = new Map<string, string>();
  const seeds = outputs.filter(({ name }) => wanted.has(name));
  for (const { name, tensor } of seeds) terms.set(name, [tensor]);
  const gradient = (name: string): string | undefined => {
    const known = summed.get(name);
    if (known !== undefined) return known;
    const parts = terms.get(name);
    if (parts === undefined) return undefined;
    const total = parts.reduce((a, b) => write.emit('Add', [a, b], write.shape(a)));
    summed.set(name, total);
    return total;
  };
  const reverse: Reverse = {
    write,
    wants: (name) => wanted.has(name),
    gradient,
    accumulate(name, added) {
      if (!wanted.has(name)) return;
      const parts = terms.get(name);
      if (parts === undefined) terms.set(name, [added]);
      else parts.push(added);
    },
    numbers: graph.integers,
  };
  const sigmoids = siluInputs(graph.nodes);
  for (const node of [...graph.nodes].reverse()) {
    if (node.output.some((name) => wanted.has(name))) reverseNode(node, reverse, sigmoids);
  }
  const parameters = part.parameters.flatMap(({ name, shape }) => {
    const tensor = gradient(name);
    return tensor === undefined ? [] : [{ name, shape, tensor }];
  });
  return { seeds, parameters };
}

function reverseNode(node: NodeProto, reverse: Reverse, sigmoids: ReadonlyMap<NodeProto, Sigmoid>): void {
  const gradients = node.output.map((name) => reverse.gradient(name));
  const dy = gradients.find((gradient) => gradient !== undefined);
  if (dy === undefined) return;
  const sigmoid = sigmoids.get(node);
  if (sigmoid !== undefined) {
    silu({ ...sigmoid, y: node.output[0] ?? '' }, dy, reverse);
    return;
  }
  const rule = ruleOf(node);
  if (rule === undefined) throw cannotDifferentiate(node, 'there is no gradient for this operator here');
  rule(node, dy, reverse);
}

function ruleOf(node: NodeProto) {
  return node.domain === '' || node.domain === 'ai.onnx' ? rules[node.opType] : undefined;
}

interface Sigmoid {
  readonly x: string;
  readonly s: string;
}

/** Products x · Sigmoid(x): their gradient is shorter as one expression. */
function siluInputs(nodes: readonly NodeProto[]): ReadonlyMap<NodeProto, Sigmoid> {
  const sources = new Map(
    nodes
      .filter(({ opType }) => opType === 'Sigmoid')
      .map(({ input, output }) => [output[0], input[0] ?? '']),
  );
  const found = new Map<NodeProto, Sigmoid>();
  for (const node of nodes) {
    const [a = '', b = ''] = node.opType === 'Mul' ? node.input : [];
    if (sources.get(b) === a && a !== '') found.set(node, { x: a, s: b });
    else if (sources.get(a) === b && b !== '') found.set(node, { x: b, s: a });
  }
  return found;
}

/** Tensors that depend on a parameter, the parameters themselves included. */
function behindParameters(nodes: readonly NodeProto[], parameters: readonly string[]): ReadonlySet<string> {
  const wanted = new Set(parameters);
  for (const node of nodes) {
    if (!node.input.some((name) => wanted.has(name))) continue;
    // Of a BatchNormalization only the first output is data; the statistics are by-products.
    for (const name of node.opType === 'BatchNormalization' ? node.output.slice(0, 1) : node.output) {
      wanted.add(name);
    }
  }
  return wanted;
}

/** A node between a parameter and an output whose operator has no gradient here. */
export interface UnsupportedNode {
  readonly name: string;
  readonly opType: string;
  readonly output: string;
}

/** Nodes that would keep a part from being trained, in file order; whether a form of an operator works shows later. */
export function unsupportedNodes(
  model: ModelProto,
  parameterNames: readonly string[],
): readonly UnsupportedNode[] {
  const accepted = new Set([...Object.keys(rules), 'Dropout', 'Flatten', 'Squeeze', 'Unsqueeze', 'Upsample']);
  const { node: nodes } = viewGraph(model).graph;
  const wanted = behindParameters(nodes, parameterNames);
  return nodes
    .filter((node) => node.output.some((name) => wanted.has(name)))
    .filter((node) => !accepted.has(node.opType) || (node.domain !== '' && node.domain !== 'ai.onnx'))
    .map((node) => ({ name: node.name, opType: node.opType, output: node.output[0] ?? '' }));
}
