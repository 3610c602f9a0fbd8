// Tensors of a graph under other names, wherever they are made, read or declared.
import { copyMessage } from './graph.ts';
import type { GraphProto, NodeProto } from './proto/onnx_pb.ts';

/** Graphs inside a node (If, Loop) read outer names too, so they are renamed all the way down. */
export function renamedGraph(graph: GraphProto, nameOf: (name: string) => string): GraphProto {
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

export function renamedNode(made: NodeProto, nameOf: (name: string) => string): NodeProto {
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
