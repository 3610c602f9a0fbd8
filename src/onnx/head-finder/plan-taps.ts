// Finds the distribution over box sides that YOLOv8-like heads compute and throw away all but the mean of.
// Not every Softmax is one: attention has them too. The one looked for is multiplied with the numbers 0, 1, ... bins-1.

import type { GraphView } from '../graph.ts';
import { attributeInt, graphOf, viewGraph } from '../graph.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { elementCount, isExternal, tensorNumbers } from '../tensor.ts';
import { ownFormat } from './own-format.ts';
import type { DistributionTap, TapPlan } from './types.ts';

/**
 * What must be read from a graph besides its outputs. Reads the graph only: no shapes are needed, so it can run before a
 * session exists.
 */
export function planTaps(model: ModelProto): TapPlan {
  const own = ownFormat(readMetadata(model));
  // The law of our quality is a Softmax with a ramp behind it too, and what there is of the boxes is an output already.
  if (own && (own.decoded !== false || own.rows)) {
    return { outputs: [], notes: ['the outputs of an edge-detect model say all that it knows of its boxes'] };
  }
  return findDistribution(model);
}

/** `planTaps` by the structure of the graph alone, whatever its metadata says. */
export function findDistribution(model: ModelProto): TapPlan {
  const view = viewGraph(model);
  const softmaxes = graphOf(model).node.filter((node) => node.opType === 'Softmax');
  const taps = softmaxes.flatMap((softmax) => distributionAt(model, view, softmax) ?? []);
  const [tap] = taps;
  if (!tap) {
    const others = softmaxes.length > 0 ? ` (its ${softmaxes.length} Softmax are attention or classes)` : '';
    return { outputs: [], notes: [`no distribution over box sides in the graph${others}`] };
  }
  if (taps.length > 1) {
    return {
      outputs: [],
      notes: [
        `${taps.length} distributions over box sides in the graph: which belongs to the boxes is not known`,
      ],
    };
  }
  return {
    boxDistribution: tap,
    outputs: [tap.tensor],
    notes: [
      `box distribution: Softmax ${tap.tensor} over ${tap.bins} bins, weighted with 0..${tap.bins - 1} behind it`,
    ],
  };
}

function distributionAt(model: ModelProto, view: GraphView, softmax: NodeProto): DistributionTap | undefined {
  const tensor = softmax.output[0] ?? '';
  const bins = expectationBins(view, tensor, 0);
  if (bins === undefined) return undefined;
  return { tensor, bins, axis: attributeInt(softmax, 'axis') ?? defaultAxis(model) };
}

/** Softmax worked on axis 1 before opset 13 unless told otherwise. */
function defaultAxis(model: ModelProto): number {
  const version =
    model.opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version ?? 13n;
  return version < 13n ? 1 : -1;
}

const PASSING = new Set([
  'Transpose',
  'Reshape',
  'Cast',
  'Identity',
  'Squeeze',
  'Unsqueeze',
  'DynamicQuantizeLinear',
  'QuantizeLinear',
  'DequantizeLinear',
]);

/** Place of the weights among the inputs of operators that can take an expectation. */
const WEIGHT_INPUTS: Readonly<Record<string, readonly number[]>> = {
  Conv: [1],
  ConvInteger: [1],
  QLinearConv: [3],
  MatMul: [0, 1],
  MatMulInteger: [0, 1],
  QLinearMatMul: [0, 3],
  Gemm: [1],
  Mul: [0, 1],
  Einsum: [0, 1],
};

const MAX_DEPTH = 8;

function expectationBins(view: GraphView, name: string, depth: number): number | undefined {
  if (depth > MAX_DEPTH) return undefined;
  for (const reader of view.consumers(name)) {
    if (PASSING.has(reader.opType)) {
      // Only the values go on: the scale and zero point of a quantisation do not.
      const bins =
        reader.input[0] === name ? expectationBins(view, reader.output[0] ?? '', depth + 1) : undefined;
      if (bins !== undefined) return bins;
      continue;
    }
    for (const place of WEIGHT_INPUTS[reader.opType] ?? []) {
      const weights = constantBehind(view, reader.input[place] ?? '');
      if (weights && isRamp(weights)) return elementCount(weights);
    }
  }
  return undefined;
}

function constantBehind(view: GraphView, name: string): TensorProto | undefined {
  let at = name;
  for (let step = 0; step < MAX_DEPTH; step++) {
    const constant = view.constant(at);
    if (constant) return constant;
    const node = view.producer(at);
    if (!node || !PASSING.has(node.opType)) return undefined;
    at = node.input[0] ?? '';
  }
  return undefined;
}

/** A DFL has 4 bins at the very least in practice 8 or 16; two equal steps would be a coincidence. */
const MIN_BINS = 4;
const MAX_BINS = 256;

/**
 * Whether the weights are 0, 1, ... n-1 up to scale and shift. Quantised weights keep that shape within half a step of
 * their rounding.
 */
function isRamp(weights: TensorProto): boolean {
  const count = elementCount(weights);
  if (count < MIN_BINS || count > MAX_BINS || isExternal(weights)) return false;
  // All values along one axis: a 4x4 matrix is no ramp, even if its values rise.
  if (weights.dims.filter((dim) => dim > 1n).length > 1) return false;
  const values = tensorNumbers(weights);
  const first = values[0] ?? 0;
  const step = ((values[count - 1] ?? 0) - first) / (count - 1);
  const wholeNumbers = values.every(Number.isInteger);
  const tolerance = wholeNumbers && step !== 1 ? 0.75 : Math.abs(step) * 0.02;
  return step > 0 && values.every((value, bin) => Math.abs(value - first - bin * step) <= tolerance);
}
