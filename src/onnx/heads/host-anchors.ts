// The sizes of YOLOv5's anchors, which its files hold as factors of the decoded widths and heights.
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import type { TensorProto } from '../proto/onnx_pb.ts';
import { elementCount, tensorNumbers } from '../tensor.ts';
import type { Prediction, PredictionLevel } from './predictions.ts';

type Sizes = readonly (readonly [number, number])[];

/**
 * @returns `[level][location] = [width, height]` in input px
 * @throws ModelError where a level's factors are not found
 */
export function findAnchors(view: GraphView, levels: readonly PredictionLevel[]): readonly Sizes[] {
  return levels.map(({ predictions, stride }) => {
    const [prediction] = predictions;
    const sizes = prediction && anchorsBehind(view, prediction);
    if (sizes) return sizes;
    throw new ModelError(`the sizes of the anchors at stride ${stride} are not found in the graph`, {
      hint: 'expected constants of [1, 3, rows, columns, 2] that the squared widths and heights are multiplied with',
    });
  });
}

function anchorsBehind(view: GraphView, { output, level }: Prediction): Sizes | undefined {
  const seen = new Set<string>();
  const open = [output];
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const reader of view.consumers(name)) {
      const factor = reader.opType === 'Mul' ? constantOperand(view, reader.input) : undefined;
      const sizes = factor && sizesOf(factor, level.rows * level.columns);
      if (sizes && isSquared(view, name)) return sizes;
      // Where levels are joined, what follows belongs to all of them.
      if (reader.opType !== 'Concat') open.push(...reader.output);
    }
  }
  return undefined;
}

function constantOperand(view: GraphView, inputs: readonly string[]): TensorProto | undefined {
  return inputs.map((input) => view.constant(input)).find((constant) => constant !== undefined);
}

function isSquared(view: GraphView, name: string): boolean {
  const producer = view.producer(name);
  return (
    producer?.opType === 'Pow' || (producer?.opType === 'Mul' && producer.input[0] === producer.input[1])
  );
}

/** `[1, a, rows, columns, 2]`, or one cell that stands for all. */
function sizesOf(factor: TensorProto, cells: number): Sizes | undefined {
  const dims = factor.dims.map(Number);
  if (dims.length < 4 || dims.at(-1) !== 2) return undefined;
  const locations = dims.at(-4) ?? 0;
  const perLocation = elementCount(factor) / locations;
  if (perLocation !== 2 * cells && perLocation !== 2) return undefined;
  const values = tensorNumbers(factor);
  return Array.from({ length: locations }, (_, location): [number, number] => {
    const first = location * perLocation;
    return [values[first] ?? 0, values[first + 1] ?? 0];
  });
}
