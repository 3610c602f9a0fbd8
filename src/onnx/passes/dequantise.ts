// A quantised network back to float32, so that it can be differentiated, converted and compared: the weights are the
// rounded ones, the rounding of the activations is gone.
import { ModelError } from '#core';
import { graphOf, viewGraph, withGraph } from '../graph.ts';
import type { ModelProto, NodeProto } from '../proto/onnx_pb.ts';
import { Dequantiser } from './dequantiser.ts';
import { nodeLabel, prune } from './prune.ts';

export interface Dequantised {
  readonly model: ModelProto;
  /** Quantised operators that are gone; 0 where the model had none. */
  readonly replaced: number;
  /** What was done and what it changes, for the user. */
  readonly notes: readonly string[];
}

/** Whether any node, those of sub-graphs included, works on quantised numbers. */
export function isQuantised(model: ModelProto): boolean {
  return allNodes(graphOf(model).node).some(isQuantisedNode);
}

/**
 * ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul and quantise/dequantise pairs become Conv and MatMul with
 * weights (q − zero point) · scale. The names of the tensors between the layers stay.
 * @throws ModelError naming node and operator where one is quantised in another way
 */
export function dequantise(model: ModelProto): Dequantised {
  const graph = graphOf(model);
  if (!isQuantised(model)) return { model, replaced: 0, notes: [] };
  const view = viewGraph(model);
  const work = new Dequantiser(view);
  for (const node of graph.node) work.take(node);
  const node = work.finish();
  const initializer = [...graph.initializer, ...work.initializers];
  // A quantised tensor whose name lives on would keep its old type in the value infos.
  const valueInfo = graph.valueInfo.filter(({ name }) => !work.wasQuantised(name));
  const changed = prune(withGraph(model, { node, initializer, valueInfo, quantizationAnnotation: [] }));
  const before = graph.node.filter(isQuantisedNode);
  const left = allNodes(graphOf(changed).node).find(isQuantisedNode);
  if (left) throw unknownOperator(left);
  return { model: changed, replaced: before.length, notes: [summary(before), ...work.notes] };
}

function summary(nodes: readonly NodeProto[]): string {
  const counts = new Map<string, number>();
  for (const { opType } of nodes) counts.set(opType, (counts.get(opType) ?? 0) + 1);
  const parts = Array.from(counts, ([opType, count]) => `${count} ${opType}`);
  return `dequantised: float32 in the place of ${parts.join(', ')}; activations are no longer rounded to 8 bit`;
}

const QUANTISED = new Set([
  'ConvInteger',
  'MatMulInteger',
  'DynamicQuantizeLinear',
  'QuantizeLinear',
  'DequantizeLinear',
  'MatMulIntegerToFloat',
  'DynamicQuantizeMatMul',
  'DynamicQuantizeLSTM',
  'MatMulNBits',
  'MatMulBnb4',
  'GatherBlockQuantized',
]);

function isQuantisedNode({ opType }: NodeProto): boolean {
  return QUANTISED.has(opType) || /^(QLinear|QAttention|QGemm|QEmbed|QOrdered|QMoE)/.test(opType);
}

function allNodes(nodes: readonly NodeProto[]): readonly NodeProto[] {
  return nodes.flatMap((node) => [node, ...allNodes(node.attribute.flatMap(({ g }) => (g ? g.node : [])))]);
}

function unknownOperator(node: NodeProto): ModelError {
  return new ModelError(`node ${nodeLabel(node)} is quantised in a way that cannot be taken back here`, {
    hint: 'export the model again in float32; known are ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul and QuantizeLinear/DequantizeLinear',
  });
}
