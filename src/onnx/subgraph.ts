// Cuts a graph at any tensors: what lies between them becomes a model of its own.
import { ModelError } from '#core';
import { graph, valueInfo } from './builder.ts';
import type { Axis, GraphView } from './graph.ts';
import { copyMessage, viewGraph } from './graph.ts';
import type { ModelProto, NodeProto, TensorProto } from './proto/onnx_pb.ts';
import { ElementType } from './tensor.ts';

/** A tensor where a graph is cut; without a shape even its rank is left open. */
export interface CutTensor {
  readonly name: string;
  readonly shape?: readonly Axis[];
}

export interface Cut {
  /** Tensors that become inputs, float32. Inputs of the whole graph that are needed must be among them. */
  readonly inputs: readonly CutTensor[];
  /** Tensors that become outputs, float32. */
  readonly outputs: readonly CutTensor[];
}

/**
 * The nodes between `inputs` and `outputs`, with the constants that they read; Constant nodes become initializers.
 * Opset and IR version are the model's; its metadata stays behind.
 * @throws ModelError where an output does not exist, or needs an input of the graph that was not named
 */
export function subgraph(model: ModelProto, { inputs, outputs }: Cut): ModelProto {
  const view = viewGraph(model);
  const entries = new Set(inputs.map(({ name }) => name));
  const { nodes, constants } = collect(
    view,
    entries,
    outputs.map(({ name }) => name),
  );
  return copyMessage(model, {
    graph: graph({
      name: view.graph.name || 'part',
      nodes: view.graph.node.filter((node) => nodes.has(node)),
      inputs: inputs.map(info),
      outputs: outputs.map(info),
      initializers: [...constants.values()],
    }),
    metadataProps: [],
  });
}

function info({ name, shape }: CutTensor) {
  return valueInfo(name, ElementType.FLOAT, shape);
}

function collect(view: GraphView, entries: ReadonlySet<string>, outputs: readonly string[]) {
  const nodes = new Set<NodeProto>();
  const constants = new Map<string, TensorProto>();
  const seen = new Set(entries);
  const open = [...outputs];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === '' || seen.has(name)) continue;
    seen.add(name);
    const constant = view.constant(name);
    if (constant) {
      constants.set(name, constant.name === name ? constant : copyMessage(constant, { name }));
      continue;
    }
    const producer = view.producer(name);
    if (!producer) throw missing(view, name, entries);
    refuseInnerGraphs(producer);
    nodes.add(producer);
    open.push(...producer.input);
  }
  return { nodes, constants };
}

function missing(view: GraphView, name: string, entries: ReadonlySet<string>): ModelError {
  const isInput = view.graph.input.some((input) => input.name === name);
  return new ModelError(
    isInput
      ? `the cut at ${[...entries].join(', ')} does not separate the graph: its input ${name} is still needed`
      : `the graph has no tensor named ${name}`,
    { hint: 'name tensors that every path to the outputs goes through; `inspect` lists the graph' },
  );
}

/** Graphs inside a node read outer tensors without naming them as inputs, so nobody can say what they need. */
function refuseInnerGraphs(producer: NodeProto): void {
  if (producer.attribute.every((attribute) => attribute.g === undefined && attribute.graphs.length === 0)) {
    return;
  }
  throw new ModelError(`node ${producer.name} (${producer.opType}) holds a graph of its own`, {
    hint: 'export the model without control flow (If, Loop, Scan)',
  });
}
