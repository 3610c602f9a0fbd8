// Gives tensors other names, so that a pass can use theirs for what it writes itself.
import { copyMessage, FreeNames, graphOf, type ModelProto, renamedGraph } from '#onnx';

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
