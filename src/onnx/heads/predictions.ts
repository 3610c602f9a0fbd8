// The last convolutions of a detector: what predicts boxes, classes and objectness, level by level.
import type { Level, Size } from '#core';
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { attributeInt } from '../graph.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { ElementType, elementCount, elementTypeName, tensorNumbers } from '../tensor.ts';

/** One of the last convolutions. */
export interface Prediction {
  readonly node: NodeProto;
  /** The map that it reads: the end of a tower. */
  readonly tower: string;
  readonly output: string;
  /** Output channels. */
  readonly channels: number;
  readonly level: Level;
}

/** Predictions of one level, in the order in which the graph's outputs reach them. */
export interface PredictionLevel extends Level {
  readonly predictions: readonly Prediction[];
}

/**
 * @param convolutions of `lastConvolutions`
 * @param shapes static shapes of the feature maps
 * @returns levels, the finest first
 * @throws ModelError where a last map is no picture-like map
 */
export function predictionLevels(
  convolutions: readonly NodeProto[],
  shapes: ReadonlyMap<string, readonly number[]>,
  input: Size,
): readonly PredictionLevel[] {
  const levels = new Map<number, Prediction[]>();
  for (const node of convolutions) {
    const output = node.output[0] ?? '';
    const shape = shapes.get(output);
    if (shape?.length !== 4) throw sizeUnknown(node);
    const [, channels = 0, rows = 0, columns = 0] = shape;
    const level = { stride: Math.round(input.width / columns), columns, rows };
    const prediction = { node, tower: node.input[0] ?? '', output, channels, level };
    const others = levels.get(level.stride);
    if (others) others.push(prediction);
    else levels.set(level.stride, [prediction]);
  }
  return [...levels.values()]
    .flatMap((predictions) => (predictions[0] ? [{ ...predictions[0].level, predictions }] : []))
    .sort((a, b) => a.stride - b.stride);
}

function sizeUnknown(node: NodeProto): ModelError {
  return new ModelError(`the size of the map of node ${node.name} (${node.opType}) cannot be worked out`, {
    hint: 'export the model with a fixed input size (dynamic=False simplify=True)',
  });
}

/** Walks back from the outputs to the first convolutions; the expectation of a box distribution is none of them. */
export function lastConvolutions(view: GraphView): readonly NodeProto[] {
  const found: NodeProto[] = [];
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const node = view.producer(name);
    if (!node) return;
    if (node.opType === 'Conv' && !isExpectation(view, node)) {
      if (!found.includes(node)) found.push(node);
      return;
    }
    for (const input of node.input) visit(input);
  };
  for (const output of view.graph.output) visit(output.name);
  return found;
}

/** A 1x1 convolution with the weights 0, 1, ... n-1: the mean of a box distribution. */
function isExpectation(view: GraphView, node: NodeProto): boolean {
  const weight = view.constant(node.input[1] ?? '');
  if (!weight || Number(weight.dims[0]) !== 1 || elementCount(weight) < 4) return false;
  const values = tensorNumbers(weight);
  const step = (values.at(-1) ?? 0) / (values.length - 1);
  return (
    step > 0 && values.every((value, bin) => Math.abs(value - bin * step) <= 0.02 * step * values.length)
  );
}

/** Operators that move values without changing what they mean. */
const PASSING = new Set([
  'Reshape',
  'Transpose',
  'Concat',
  'Split',
  'Slice',
  'Flatten',
  'Identity',
  'Unsqueeze',
  'Squeeze',
]);

/** The operators that first compute with a tensor, looked at through joins, cuts and reshapes. */
export function usesOf(view: GraphView, tensor: string): ReadonlySet<string> {
  const uses = new Set<string>();
  const seen = new Set<string>();
  const open = [tensor];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const reader of view.consumers(name)) {
      if (PASSING.has(reader.opType)) open.push(...reader.output);
      else uses.add(reader.opType);
    }
  }
  return uses;
}

/** Weight and bias of a prediction layer, copied. */
export interface LayerValues {
  /** `[out, in, kernel, kernel]` */
  readonly dims: readonly number[];
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/**
 * @throws ModelError where the layer is grouped or not float32
 */
export function layerValues(view: GraphView, node: NodeProto): LayerValues {
  const weight = view.constant(node.input[1] ?? '');
  if (!weight || weight.dataType !== ElementType.FLOAT) {
    const found = weight ? elementTypeName(weight.dataType) : 'computed';
    throw new ModelError(`the weights of node ${node.name} (${node.opType}) are ${found}, expected float32`, {
      hint: 'dequantise the model first (half precision: convert it to float32)',
    });
  }
  const dims = weight.dims.map(Number);
  const [out = 0, , height = 1, width = 1] = dims;
  if ((attributeInt(node, 'group') ?? 1) !== 1 || height !== width) {
    throw new ModelError(`node ${node.name} predicts with a grouped or uneven kernel [${dims.join(', ')}]`, {
      hint: 'expected an ordinary convolution as prediction layer',
    });
  }
  const bias = view.constant(node.input[2] ?? '');
  return {
    dims,
    weight: floatValues(weight),
    bias: bias ? floatValues(bias) : new Float32Array(out),
  };
}

/** Rows `[first, first + count)` of a layer. */
export function layerRows({ dims, weight, bias }: LayerValues, first: number, count: number): LayerValues {
  const size = weight.length / (dims[0] ?? 1);
  return {
    dims: dims.with(0, count),
    weight: weight.slice(first * size, (first + count) * size),
    bias: bias.slice(first, first + count),
  };
}

function floatValues(tensor: TensorProto): Float32Array {
  return Float32Array.from(tensorNumbers(tensor));
}
