// A graph with static shapes in one dialect: opset 17, no Constant nodes, no aliases, every shape argument a number.
// Hosts come in many opsets; the rules of differentiation then know one form of each operator.
import { ModelError } from '#core';
import type { NodeProto, Shape, Shapes, TensorProto, TrainablePart } from '#onnx';
import {
  attributeInt,
  attributeInts,
  inferGraph,
  ints,
  node as makeNode,
  sliceParts,
  tensor,
  tensorValues,
  viewGraph,
} from '#onnx';
import { attributeNumber, attributesOf, attributeText } from './attributes.ts';

export interface CanonicalGraph {
  readonly nodes: readonly NodeProto[];
  readonly constants: ReadonlyMap<string, TensorProto>;
  readonly shapes: Shapes;
  /** What a constant of shapes, axes or indices holds. */
  integers(name: string): readonly number[] | undefined;
}

/** @throws ModelError naming node and operator where the graph has no static shapes */
export function canonicalGraph(part: TrainablePart, batch: number): CanonicalGraph {
  const inputShapes = new Map(part.inputs.map(({ name, shape }) => [name, [batch, ...shape]]));
  const inferred = inferGraph(part.model, inputShapes);
  const view = viewGraph(part.model);
  const opset = Number(part.model.opsetImport.find(({ domain }) => domain === '')?.version ?? 1n);
  const constants = new Map(view.graph.initializer.map((found) => [found.name, found]));
  const aliases = new Map<string, string>();
  const shapes = new Map(inferred.shapes);
  const outputs = new Set(view.graph.output.map(({ name }) => name));
  const integers = (name: string): readonly number[] | undefined => {
    const constant = constants.get(name);
    return constant === undefined ? inferred.integers(name) : Array.from(tensorValues(constant), Number);
  };
  const addConstant = (constant: TensorProto): string => {
    constants.set(constant.name, constant);
    shapes.set(constant.name, constant.dims.map(Number));
    return constant.name;
  };
  const nodes: NodeProto[] = [];
  for (const original of view.graph.node) {
    const inputs = original.input.map((name) => aliases.get(name) ?? name);
    const node = makeNode(original.opType, inputs, original.output, attributesOf(original));
    node.name = original.name;
    const name = node.output[0] ?? '';
    const constant = node.opType === 'Constant' ? view.constant(name) : undefined;
    if (constant !== undefined) {
      addConstant(tensor(name, constant.dims.map(Number), tensorValues(constant), constant.dataType));
    } else if ((node.opType === 'Identity' || node.opType === 'Dropout') && !outputs.has(name)) {
      aliases.set(name, inputs[0] ?? '');
    } else {
      nodes.push(canonicalNode(node, { opset, shapes, integers, addConstant }));
    }
  }
  return { nodes: reachable(nodes, outputs), constants, shapes, integers };
}

interface Dialect {
  readonly opset: number;
  readonly shapes: Shapes;
  integers(name: string): readonly number[] | undefined;
  addConstant(constant: TensorProto): string;
}

type Rewrite = (node: NodeProto, dialect: Dialect, shape: Shape) => NodeProto;

const rewrites: Readonly<Record<string, Rewrite>> = {
  Reshape: toReshape,
  Flatten: toReshape,
  Squeeze: toReshape,
  Unsqueeze: toReshape,
  Identity: (node) => node,
  Dropout: (node) => makeNode('Identity', node.input.slice(0, 1), node.output.slice(0, 1)),
  Slice(node, dialect, shape) {
    const [data = '', starts = '', ends = '', axes = '', steps = ''] = node.input;
    const parts = sliceParts(shape, {
      starts: attributeInts(node, 'starts') ?? dialect.integers(starts) ?? [],
      ends: attributeInts(node, 'ends') ?? dialect.integers(ends) ?? [],
      axes: attributeInts(node, 'axes') ?? dialect.integers(axes),
      steps: dialect.integers(steps),
    });
    const stop = ({ axis, start, count, step }: (typeof parts)[number]) => {
      const end = start + count * step;
      return end < 0 ? -(shape[axis] ?? 0) - 1 : end;
    };
    const given = { starts: parts.map(({ start }) => start), ends: parts.map(stop) };
    const rest = { axes: parts.map(({ axis }) => axis), steps: parts.map(({ step }) => step) };
    const names = Object.entries({ ...given, ...rest }).map(([role, values]) =>
      dialect.addConstant(ints(`${node.output[0]}/${role}`, values)),
    );
    return makeNode('Slice', [data, ...names], node.output);
  },
  Split(node, dialect, shape) {
    const axis = wrapAxis(attributeInt(node, 'axis') ?? 0, shape);
    const sizes = node.output.map((name) => dialect.shapes.get(name)?.[axis] ?? 0);
    const split = dialect.addConstant(ints(`${node.output[0]}/split`, sizes));
    return makeNode('Split', [node.input[0] ?? '', split], node.output, { axis: BigInt(axis) });
  },
  Softmax(node, { opset }, shape) {
    const axis = wrapAxis(attributeInt(node, 'axis') ?? (opset < 13 ? 1 : -1), shape);
    if (opset < 13 && shape.slice(axis + 1).some((size) => size !== 1)) {
      throw refuse(node, 'before opset 13 it normalises over all axes from `axis` on');
    }
    return makeNode('Softmax', node.input, node.output, { axis: BigInt(axis) });
  },
  Resize: toResize,
  Upsample: toResize,
  ReduceMean: toReduction,
  ReduceSum: toReduction,
  Clip(node, { addConstant }) {
    const [low, high] = [attributeNumber(node, 'min'), attributeNumber(node, 'max')];
    if (low === undefined && high === undefined) return node;
    const bounds = [low, high].map((bound, index) =>
      bound === undefined
        ? ''
        : addConstant(tensor(`${node.output[0]}/${index}`, [], Float32Array.of(bound))),
    );
    return makeNode('Clip', [node.input[0] ?? '', ...bounds], node.output);
  },
};

function canonicalNode(node: NodeProto, dialect: Dialect): NodeProto {
  const rewrite = rewrites[node.opType];
  if (rewrite === undefined) return node;
  const written = rewrite(node, dialect, dialect.shapes.get(node.input[0] ?? '') ?? []);
  written.name = node.name;
  return written;
}

function toReshape(node: NodeProto, dialect: Dialect): NodeProto {
  const output = node.output[0] ?? '';
  const shape = dialect.addConstant(ints(`${output}/shape`, dialect.shapes.get(output) ?? []));
  return makeNode('Reshape', [node.input[0] ?? '', shape], [output]);
}

function toResize(node: NodeProto, { opset, shapes, addConstant }: Dialect, shape: Shape): NodeProto {
  const output = node.output[0] ?? '';
  const target = shapes.get(output) ?? [];
  const scales = Float32Array.from(target, (size, axis) => size / (shape[axis] ?? 1));
  const name = addConstant(tensor(`${output}/scales`, [scales.length], scales));
  const old = node.opType === 'Upsample' || opset < 11;
  return makeNode('Resize', [node.input[0] ?? '', '', name], [output], {
    mode: attributeText(node, 'mode') ?? 'nearest',
    coordinate_transformation_mode:
      attributeText(node, 'coordinate_transformation_mode') ?? (old ? 'asymmetric' : 'half_pixel'),
    nearest_mode: attributeText(node, 'nearest_mode') ?? (old ? 'floor' : 'round_prefer_floor'),
  });
}

function toReduction(node: NodeProto, dialect: Dialect, shape: Shape): NodeProto {
  const [data = '', given = ''] = node.input;
  const axes = attributeInts(node, 'axes') ?? dialect.integers(given) ?? shape.map((_, axis) => axis);
  const positive = axes.map((axis) => BigInt(wrapAxis(axis, shape)));
  const keepdims = BigInt(attributeInt(node, 'keepdims') ?? 1);
  if (node.opType === 'ReduceMean') {
    return makeNode('ReduceMean', [data], node.output, { axes: positive, keepdims });
  }
  const name = dialect.addConstant(ints(`${node.output[0]}/axes`, positive.map(Number)));
  return makeNode('ReduceSum', [data, name], node.output, { keepdims });
}

export function wrapAxis(axis: number, shape: Shape): number {
  return axis < 0 ? axis + shape.length : axis;
}

function refuse(node: NodeProto, why: string): ModelError {
  return new ModelError(`node ${node.name} (${node.opType}) cannot be differentiated: ${why}`, {
    hint: 'freeze=towers keeps it in the frozen part',
  });
}

/** The nodes that the wanted tensors need, in their order. */
export function reachable(nodes: readonly NodeProto[], wanted: ReadonlySet<string>): readonly NodeProto[] {
  const needed = new Set(wanted);
  const kept = [...nodes].reverse().filter((node) => {
    if (!node.output.some((name) => needed.has(name))) return false;
    for (const input of node.input) needed.add(input);
    return true;
  });
  return kept.reverse();
}
