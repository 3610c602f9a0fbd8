// What every pass that takes nodes away ends with: nothing unread stays behind, and nothing read is missing.
import { ModelError } from '#core';
import { graphOf, withGraph } from '../graph.ts';
import type { GraphProto, ModelProto, NodeProto } from '../proto/onnx_pb.ts';

/** Names that a node reads, those that its sub-graphs (If, Loop) take from outside included. */
export function namesRead(node: NodeProto): readonly string[] {
  const inner = node.attribute.flatMap(({ g }) => (g ? namesReadInside(g) : []));
  return [...node.input, ...inner].filter((name) => name !== '');
}

function namesReadInside(graph: GraphProto): readonly string[] {
  return [...graph.node.flatMap(namesRead), ...graph.output.map(({ name }) => name)];
}

/**
 * The model without the nodes, initializers and value infos that no output depends on.
 * @throws ModelError when a node reads, or an output is, a tensor that nothing makes; the nodes must be in topological order
 */
export function prune(model: ModelProto): ModelProto {
  const graph = graphOf(model);
  const needed = new Set(graph.output.map(({ name }) => name));
  const kept: NodeProto[] = [];
  for (const node of graph.node.toReversed()) {
    if (!node.output.some((name) => needed.has(name))) continue;
    kept.push(node);
    for (const name of namesRead(node)) needed.add(name);
  }
  const node = kept.reverse();
  const initializer = graph.initializer.filter(({ name }) => needed.has(name));
  const made = new Set([...node.flatMap(({ output }) => output), ...initializer.map(({ name }) => name)]);
  for (const { name } of graph.input) made.add(name);
  for (const { values } of graph.sparseInitializer) made.add(values?.name ?? '');
  expectNothingMissing(node, made);
  const lost = graph.output.find(({ name }) => !made.has(name));
  if (lost) throw missing(`output ${lost.name} is`);
  return withGraph(model, {
    node,
    initializer,
    valueInfo: graph.valueInfo.filter(({ name }) => made.has(name)),
    quantizationAnnotation: graph.quantizationAnnotation.filter(({ tensorName }) => made.has(tensorName)),
  });
}

function expectNothingMissing(nodes: readonly NodeProto[], made: ReadonlySet<string>): void {
  for (const node of nodes) {
    // Names inside a sub-graph may be made there, so only the node's own inputs are judged.
    const lost = node.input.find((name) => name !== '' && !made.has(name));
    if (lost !== undefined) throw missing(`node ${nodeLabel(node)} reads ${lost}, which is`);
  }
}

function missing(what: string): ModelError {
  return new ModelError(`${what} not made by anything in the graph any more`, {
    hint: 'export the model again in float32, without quantisation',
  });
}

/** Operator and name, as messages show a node. */
export function nodeLabel({ name, opType, domain, output }: NodeProto): string {
  const operator = domain === '' ? opType : `${domain}.${opType}`;
  return `${name || output[0] || 'without a name'} (${operator})`;
}

/** Gives names that no tensor of the graph has. */
export class FreeNames {
  readonly #taken: Set<string>;

  constructor(graph: GraphProto) {
    this.#taken = new Set(
      [
        graph.initializer.map(({ name }) => name),
        graph.input.map(({ name }) => name),
        graph.node.flatMap(({ output, input }) => [...output, ...input]),
      ].flat(),
    );
  }

  /** The wanted name, with underscores behind it where it is taken. */
  take(wanted: string): string {
    let name = wanted;
    while (this.#taken.has(name)) name += '_';
    this.#taken.add(name);
    return name;
  }
}
