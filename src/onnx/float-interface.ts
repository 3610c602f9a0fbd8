// Half-precision inputs and outputs become float32 at the edge of the graph, by Cast nodes inside it. JavaScript of
// Node 20 has no half floats, and Cast is far faster than a loop here; on the CPU it even falls away, since float16
// graphs run in float32 there.
import { create } from '@bufbuild/protobuf';
import { node } from './builder.ts';
import { copyMessage, withGraph } from './graph.ts';
import type { ModelProto, NodeProto, ValueInfoProto } from './proto/onnx_pb.ts';
import { TypeProtoSchema } from './proto/onnx_pb.ts';
import { renamedNode } from './renamed-graph.ts';
import { ElementType } from './tensor.ts';

/** The model with float32 in the place of every float16 or double input and output; names stay. */
export function withFloatInterface(model: ModelProto): ModelProto {
  const graph = model.graph;
  if (graph === undefined) return model;
  const inputs = graph.input.filter(isOtherFloat).map(({ name }) => name);
  const outputs = graph.output.filter(isOtherFloat).map(({ name }) => name);
  if (inputs.length === 0 && outputs.length === 0) return model;
  const taken = new Set(graph.node.flatMap(({ name, output }) => [name, ...output]).concat(inputs));
  const inner = new Map([...inputs, ...outputs].map((name) => [name, freeName(name, taken)]));
  const rename = (name: string) => inner.get(name) ?? name;
  const renamed = graph.node.map((original) => renamedNode(original, rename));
  const typeOf = new Map([...graph.input, ...graph.output].map((value) => [value.name, elementType(value)]));
  const entering = inputs.map((name) =>
    cast(name, rename(name), typeOf.get(name) ?? ElementType.FLOAT16, taken),
  );
  const leaving = outputs.map((name) => cast(rename(name), name, ElementType.FLOAT, taken));
  return withGraph(model, {
    node: [...entering, ...renamed, ...leaving],
    input: graph.input.map(asFloat),
    output: graph.output.map(asFloat),
  });
}

/** Named anew: the runtime refuses graphs in which two nodes have one name. */
function cast(from: string, to: string, elementType: number, taken: Set<string>): NodeProto {
  const made = node('Cast', [from], [to], { to: BigInt(elementType) });
  made.name = freeName(`${from}_to_${to}`, taken);
  return made;
}

function freeName(name: string, taken: Set<string>): string {
  let candidate = `${name}_inner`;
  while (taken.has(candidate)) candidate += '_';
  taken.add(candidate);
  return candidate;
}

function elementType({ type }: ValueInfoProto): number | undefined {
  return type?.value.case === 'tensorType' ? type.value.value.elemType : undefined;
}

function isOtherFloat(value: ValueInfoProto): boolean {
  const type = elementType(value);
  return type === ElementType.FLOAT16 || type === ElementType.DOUBLE;
}

function asFloat(value: ValueInfoProto): ValueInfoProto {
  if (!isOtherFloat(value) || value.type?.value.case !== 'tensorType') return value;
  const tensorType = copyMessage(value.type.value.value, { elemType: ElementType.FLOAT });
  return copyMessage(value, {
    type: create(TypeProtoSchema, { value: { case: 'tensorType', value: tensorType } }),
  });
}
