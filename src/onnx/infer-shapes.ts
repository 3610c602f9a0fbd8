// Every tensor's shape once the shapes of the inputs are numbers: what a gradient graph is written from.
import { ModelError } from '#core';
import { type GraphView, opsetVersion, viewGraph } from './graph.ts';
import type { ModelProto, NodeProto } from './proto/onnx_pb.ts';
import { integerRules } from './shape-arithmetic.ts';
import type { NodeShapes, Shape } from './shape-rules.ts';
import { shapeRules } from './shape-rules.ts';
import { ElementType, elementCount, isExternal, tensorNumbers } from './tensor.ts';

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
  return infer(model, inputShapes, (step) => step());
}

/** `inferGraph` as far as it goes: what lies behind a node whose shape cannot be told is left out. */
export function inferKnownShapes(model: ModelProto, inputShapes: Shapes): InferredGraph {
  return infer(model, inputShapes, (step) => {
    try {
      step();
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
    }
  });
}

function infer(model: ModelProto, inputShapes: Shapes, attempt: (step: () => void) => void): InferredGraph {
  const view = viewGraph(model);
  const opset = opsetVersion(model) || 1;
  const shapes = new Map<string, Shape>(inputShapes);
  for (const tensor of view.graph.initializer) shapes.set(tensor.name, tensor.dims.map(Number));
  const numbers = smallNumbers(view);
  for (const node of view.graph.node) {
    attempt(() => {
      const context = createContext(node, opset, shapes, numbers);
      const values = integerRules[node.opType]?.(context);
      if (values !== undefined) numbers.keep(node, values);
      const found = node.opType === 'Constant' ? constantShape(view, node) : shapesOf(node, context);
      node.output.forEach((name, index) => {
        const shape = found[index];
        if (name !== '' && shape?.every((size) => Number.isInteger(size) && size >= 0))
          shapes.set(name, shape);
      });
    });
  }
  return { shapes, integers: numbers.of };
}

/** Values of small tensors, constant or computed, and whether they are whole by type or only by chance. */
interface SmallNumbers {
  of(name: string): readonly number[] | undefined;
  isFloat(name: string): boolean;
  keep(node: NodeProto, values: readonly number[]): void;
}

const FLOATS: readonly number[] = [ElementType.FLOAT, ElementType.FLOAT16, ElementType.DOUBLE];

function smallNumbers(view: GraphView): SmallNumbers {
  const computed = new Map<string, readonly number[]>();
  const floats = new Set<string>();
  const isFloat = (name: string) =>
    floats.has(name) || FLOATS.includes(view.constant(name)?.dataType ?? ElementType.UNDEFINED);
  return {
    isFloat,
    of(name) {
      const known = computed.get(name);
      if (known !== undefined) return known;
      const constant = view.constant(name);
      if (!constant || isExternal(constant) || elementCount(constant) > LONGEST_SHAPE_TENSOR)
        return undefined;
      return tensorNumbers(constant);
    },
    keep({ opType, attribute, input, output }, values) {
      const to = attribute.find(({ name }) => name === 'to');
      const becomesFloat = opType === 'Cast' ? FLOATS.includes(Number(to?.i)) : input.some(isFloat);
      if (becomesFloat && opType !== 'Shape') floats.add(output[0] ?? '');
      computed.set(output[0] ?? '', values);
    },
  };
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

function createContext(node: NodeProto, opset: number, shapes: Shapes, numbers: SmallNumbers): NodeShapes {
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
    integers: (index) => numbers.of(node.input[index] ?? ''),
    isFloat: (index) => numbers.isFloat(node.input[index] ?? ''),
    int: (name, fallback) => Number(attribute(name)?.i ?? fallback),
    ints: (name) => attribute(name)?.ints.map(Number),
    text(name, fallback) {
      const found = attribute(name);
      return found === undefined ? fallback : new TextDecoder().decode(found.s);
    },
    fail: (why) => cannotTell(node, why),
  };
}
