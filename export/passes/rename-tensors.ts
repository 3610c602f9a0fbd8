// Gives tensors other names, so that a pass can use theirs for what it writes itself.
import { copyMessage, FreeNames, type GraphProto, graphOf, type ModelProto, type NodeProto } from '#onnx';

interface Renamed {
  readonly model: ModelProto;
  /** The name that a tensor has now. */
  readonly nameOf: (name: string) => string;
}

/** Frees these names: a tensor that has one of them gets another, wherever it is made, read or declared. */
export function freeTensorNames(model: ModelProto, wanted: readonly string[]): Renamed {
  const graph = graphOf(model);
  const free = new FreeNames(graph);
  const taken = new Set([
    ...[...graph.input, ...graph.initializer].map(({ name }) => name),
    ...graph.node.flatMap(({ output }) => output),
  ]);
  const names = new Map(
    wanted.filter((name) => taken.has(name)).map((name) => [name, free.take(`${name}_inner`)]),
  );
  const nameOf = (name: string) => names.get(name) ?? name;
  if (names.size === 0) return { model, nameOf };
  return { model: copyMessage(model, { graph: renamedGraph(graph, nameOf) }), nameOf };
}

/** Graphs inside a node (If, Loop) read outer names too, so they are renamed all the way down. */
function renamedGraph(graph: GraphProto, nameOf: (name: string) => string): GraphProto {
  const named = <T extends { name: string }>(items: readonly T[]): T[] =>
    items.map((item) => copyMessage(item, { name: nameOf(item.name) } as Partial<T>));
  return copyMessage(graph, {
    node: graph.node.map((made) => renamedNode(made, nameOf)),
    initializer: named(graph.initializer),
    input: named(graph.input),
    output: named(graph.output),
    valueInfo: named(graph.valueInfo),
    quantizationAnnotation: graph.quantizationAnnotation.map((annotation) =>
      copyMessage(annotation, { tensorName: nameOf(annotation.tensorName) }),
    ),
  });
}

function renamedNode(made: NodeProto, nameOf: (name: string) => string): NodeProto {
  return copyMessage(made, {
    input: made.input.map(nameOf),
    output: made.output.map(nameOf),
    attribute: made.attribute.map((attribute) =>
      attribute.g === undefined
        ? attribute
        : copyMessage(attribute, { g: renamedGraph(attribute.g, nameOf) }),
    ),
  });
}
