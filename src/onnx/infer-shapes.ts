// Every tensor's shape once the shapes of the inputs are numbers: what a gradient graph is written from.
import { ModelError } from '#core';
import { viewGraph } from './graph.ts';
import type { ModelProto, NodeProto } from './proto/onnx_pb.ts';
import { integerRules } from './shape-arithmetic.ts';
import type { NodeShapes, Shape } from './shape-rules.ts';
import { shapeRules } from './shape-rules.ts';
import { elementCount, tensorNumbers } from './tensor.ts';

/** Shapes by tensor name. */
export type Shapes = ReadonlyMap<string, Shape>;

/** Longer integer tensors are data and not shapes. */
const LONGEST_SHAPE_TENSOR = 64;

/**
 * @param inputShapes a shape without open axes for every input of the graph
 * @returns shapes of all inputs, initializers and node outputs that are tensors
 * @throws ModelError naming node and operator where a shape cannot be told
 */
export function inferShapes(model: ModelProto, inputShapes: Shapes): Shapes {
  return inferGraph(model, inputShapes).shapes;
}

export interface InferredGraph {
  readonly shapes: Shapes;
  /** Values of small integer tensors, given or computed from shapes; undefined where they are not known. */
  integers(name: string): readonly number[] | undefined;
}

/** `inferShapes`, and the integers that it met on its way. */
export function inferGraph(model: ModelProto, inputShapes: Shapes): InferredGraph {
  const view = viewGraph(model);
  const opset = Number(model.opsetImport.find(({ domain }) => domain === '')?.version ?? 1n);
  const shapes = new Map<string, Shape>(inputShapes);
  for (const tensor of view.graph.initializer) shapes.set(tensor.name, tensor.dims.map(Number));
  const computed = new Map<string, readonly number[]>();
  const integers = (name: string): readonly number[] | undefined => {
    const known = computed.get(name);
    if (known !== undefined) return known;
    const constant = view.constant(name);
    if (constant === undefined || elementCount(constant) > LONGEST_SHAPE_TENSOR) return undefined;
    return tensorNumbers(constant);
  };
  for (const node of view.graph.node) {
    const context = createContext(node, opset, shapes, integers);
    const values = integerRules[node.opType]?.(context);
    if (values !== undefined) computed.set(node.output[0] ?? '', values);
    const found = node.opType === 'Constant' ? constantShape(view, node) : shapesOf(node, context);
    node.output.forEach((name, index) => {
      const shape = found[index];
      if (name !== '' && shape !== undefined) shapes.set(name, shape);
    });
  }
  return { shapes, integers };
}

function constantShape(view: ReturnType<typeof viewGraph>, node: NodeProto): readonly Shape[] {
  const constant = view.constant(node.output[0] ?? '');
  if (constant === undefined) throw cannotTell(node, 'it holds no tensor');
  return [constant.dims.map(Number)];
}

function shapesOf(node: NodeProto, context: NodeShapes): readonly Shape[] {
  const rule = shapeRules[node.opType];
  if (rule === undefined || (node.domain !== '' && node.domain !== 'ai.onnx')) {
    throw cannotTell(node, 'there is no shape rule for this operator');
  }
  return rule(context);
}

function cannotTell(node: NodeProto, why: string): ModelError {
  return new ModelError(`the shape of node ${nameOf(node)} (${node.opType}) cannot be told: ${why}`, {
    hint: 'export the model again with static shapes, or simplify it',
  });
}

function nameOf(node: NodeProto): string {
  return node.name === '' ? `that makes ${node.output[0] ?? 'nothing'}` : node.name;
}

function createContext(
  node: NodeProto,
  opset: number,
  shapes: Shapes,
  integers: (name: string) => readonly number[] | undefined,
): NodeShapes {
  const attribute = (name: string) => node.attribute.find((candidate) => candidate.name === name);
  return {
    node,
    opset,
    has: (index) => (node.input[index] ?? '') !== '',
    input(index) {
      const shape = shapes.get(node.input[index] ?? '');
      if (shape === undefined)
        throw cannotTell(node, `input ${node.input[index] ?? index} has no known shape`);
      return shape;
    },
    integers: (index) => integers(node.input[index] ?? ''),
    int: (name, fallback) => Number(attribute(name)?.i ?? fallback),
    ints: (name) => attribute(name)?.ints.map(Number),
    text(name, fallback) {
      const found = attribute(name);
      return found === undefined ? fallback : new TextDecoder().decode(found.s);
    },
    fail: (why) => cannotTell(node, why),
  };
}
