// One graph for one batch size, and its evaluation node by node, each tensor released after its last reader.
import { ModelError } from '#core';
import type { NodeProto, TensorProto, TrainablePart } from '#onnx';
import { node as makeNode, tensorValues } from '#onnx';
import type { CanonicalGraph } from '../../autodiff/canonical.ts';
import { canonicalGraph, reachable } from '../../autodiff/canonical.ts';
import type { NamedTensor } from '../../autodiff/differentiate.ts';
import { withBatchStatistics } from '../../autodiff/normalize.ts';
import type { ForwardOptions } from '../engine.ts';
import type { Scope } from './lowering/index.ts';
import { lowerings, SILU } from './lowering/index.ts';
import type { Tensor, Tensorflow } from './tensorflow.ts';
import type { Value } from './value.ts';
import { channelsLastTensor, plainTensor, plainValue } from './value.ts';

export interface Program {
  readonly graph: CanonicalGraph;
  readonly nodes: readonly NodeProto[];
  readonly outputs: readonly string[];
  /** Tensors that hold the statistics of the batch, by the name of the running statistic. */
  readonly statistics: readonly NamedTensor[];
}

/** @throws ModelError naming node and operator where there is no such operator here */
export function planProgram(part: TrainablePart, batch: number, mode: ForwardOptions['mode']): Program {
  const canonical = canonicalGraph(part, batch);
  const { graph, statistics } =
    mode === 'train' ? withBatchStatistics(canonical, part) : { graph: canonical, statistics: [] };
  const outputs = part.outputs.map(({ name }) => name);
  const nodes = withSilu(graph.nodes, outputs);
  const unknown = nodes.find(({ opType }) => lowerings[opType] === undefined);
  if (unknown !== undefined) {
    throw new ModelError(`node ${unknown.name} (${unknown.opType}) has no counterpart in the tfjs engine`, {
      hint: 'use engine=onnx, or freeze=towers, which keeps it in the frozen part',
    });
  }
  return { graph, nodes, outputs, statistics };
}

/** Products x · Sigmoid(x) as one node; a sigmoid that nobody else reads goes. */
function withSilu(nodes: readonly NodeProto[], outputs: readonly string[]): readonly NodeProto[] {
  const sigmoids = new Map(
    nodes.filter(({ opType }) => opType === 'Sigmoid').map(({ input, output }) => [output[0], input[0]]),
  );
  const joined = nodes.map((node) => {
    if (node.opType !== 'Mul') return node;
    const [a = '', b = ''] = node.input;
    const x = sigmoids.get(b) === a ? a : sigmoids.get(a) === b ? b : undefined;
    return x === undefined ? node : makeNode(SILU, [x], node.output);
  });
  return reachable(joined, new Set(outputs));
}

/** Tensors of the graph by name; owned by whoever made them. */
export type Feed = ReadonlyMap<string, Value>;

/** @returns outputs and batch statistics by name, in the scope of the caller's `tidy` */
export function evaluate(
  tf: Tensorflow,
  program: Program,
  feed: Feed,
  constant: (name: string) => Value,
): Map<string, Value> {
  const kept = new Set([...program.outputs, ...program.statistics.map(({ tensor }) => tensor)]);
  const readers = readersOf(program.nodes);
  const made = new Map<string, Value>();
  const value = (name: string) => made.get(name) ?? feed.get(name) ?? constant(name);
  const { graph } = program;
  const scope: Scope = {
    tf,
    shape: (name) => graph.shapes.get(name) ?? [],
    value,
    plain: (name) => plainTensor(tf, value(name)),
    channelsLast: (name) => channelsLastTensor(tf, value(name)),
    numbers: (name) => graph.integers(name),
  };
  const release = (name: string) => {
    if (kept.has(name)) return;
    made.get(name)?.tensor.dispose();
    made.delete(name);
  };
  for (const node of program.nodes) {
    const results = tf.tidy(() => [...(lowerings[node.opType]?.(node, scope) ?? [])]);
    node.output.forEach((name, index) => {
      const result = results[index];
      if (result !== undefined) made.set(name, result);
      if (name !== '' && !readers.has(name)) release(name);
    });
    for (const name of node.input) {
      const left = (readers.get(name) ?? 0) - 1;
      readers.set(name, left);
      if (left === 0) release(name);
    }
  }
  return new Map([...kept].map((name) => [name, value(name)]));
}

function readersOf(nodes: readonly NodeProto[]): Map<string, number> {
  const readers = new Map<string, number>();
  for (const name of nodes.flatMap(({ input }) => input)) readers.set(name, (readers.get(name) ?? 0) + 1);
  return readers;
}

/** Initializers that do not train, uploaded when first read. */
export function createConstants(tf: Tensorflow) {
  const uploaded = new Map<string, Value>();
  return {
    get(name: string, constants: ReadonlyMap<string, TensorProto>): Value {
      const known = uploaded.get(name);
      if (known !== undefined) return known;
      const found = constants.get(name);
      if (found === undefined) throw new Error(`no values were given for ${name}`);
      const values = Float32Array.from(tensorValues(found) as ArrayLike<number>);
      const tensor: Tensor = tf.keep(tf.tensor(values, found.dims.map(Number), 'float32'));
      uploaded.set(name, plainValue(tensor));
      return plainValue(tensor);
    },
    release() {
      for (const { tensor } of uploaded.values()) tensor.dispose();
      uploaded.clear();
    },
  };
}
