// A float32 network in 8 bits: scales from measured ranges, placed as the runtime at hand wants them.
import { ModelError } from '#core';
import type { ModelProto } from '#onnx';
import { copyMessage, foldBatchNorm, graphOf, isQuantised, nodeLabel, viewGraph, withGraph } from '#onnx';
import { planForCpu } from './plan-cpu.ts';
import { planForTensorrt } from './plan-tensorrt.ts';
import { writeQdq } from './qdq-writer.ts';
import { depthwiseNote, type KeptConvolution, planContext } from './quantisation-plan.ts';
import { raiseOpset } from './raise-opset.ts';
import type { TensorRanges } from './ranges.ts';
import type { WeightBits } from './scales.ts';
import { withoutConstantNodes } from './to-half.ts';

/**
 * `cpu`: uint8 activations throughout, as ONNX Runtime's CPU kernels want them. `tensorrt`: int8 in front of
 * convolutions. One is slow, or refused, where the other belongs.
 */
export type Placement = 'cpu' | 'tensorrt';

export interface QuantiseOptions {
  readonly placement: Placement;
  /** Of the same model. */
  readonly ranges: TensorRanges;
  /**
   * On x86 processors without VNNI the sum of two products of bytes is cut at 16 bits, which 7-bit weights never reach.
   * Default: 7 for `cpu`, right on every processor; 8 for `tensorrt`.
   */
  readonly weightBits?: WeightBits;
  /** How `tensorrt` stores weights: `float` (default) for TensorRT 8 on, `int8` for 10 on and a quarter of the size. */
  readonly weightStorage?: 'float' | 'int8';
  /** Names of further convolutions that stay float32. */
  readonly keep?: readonly string[];
}

export interface QuantisedModel {
  readonly model: ModelProto;
  /** Convolutions that work on bytes. */
  readonly quantised: readonly string[];
  /** Convolutions that stay float32. */
  readonly keptFloat: readonly KeptConvolution[];
  /** For the user, in sentences: what may not pay, what was changed on the way. */
  readonly notes: readonly string[];
}

/**
 * The last convolution of every branch and what lies behind it stay float32 in both placements.
 * @param original float32; batch normalisations are folded, opsets below 13 raised to 17
 * @throws ModelError where the model is quantised already, a range is missing, or no convolution is left to quantise
 */
export function quantise(original: ModelProto, options: QuantiseOptions): QuantisedModel {
  const { placement, ranges, weightStorage = 'float', keep = [] } = options;
  if (isQuantised(original)) {
    throw new ModelError('the model is quantised already', { hint: 'dequantise it first' });
  }
  const model = prepared(original);
  const view = viewGraph(model);
  const isCpu = placement === 'cpu';
  const weightBits = options.weightBits ?? (isCpu ? 7 : 8);
  const types = new Set(isCpu ? ['Conv'] : ['Conv', 'ConvTranspose']);
  const context = planContext(view, ranges, new Set(keep), types);
  const plan = isCpu ? planForCpu(context) : planForTensorrt(context);
  if (plan.convolutions.size === 0) throw nothingToQuantise(plan.keptFloat);
  const form = {
    weightBits,
    activations: isCpu ? ('uint8' as const) : ('int8' as const),
    weights: isCpu ? ('int8' as const) : weightStorage,
    bias: isCpu ? ('int32' as const) : ('float' as const),
  };
  const written = writeQdq(model, plan, form, (name) => ranges.ranges.get(name)?.channelMeans);
  const depthwise = depthwiseNote(view);
  return {
    model: written,
    quantised: [...plan.convolutions].map(nodeLabel),
    keptFloat: plan.keptFloat,
    notes: [...(depthwise === undefined ? [] : [depthwise])],
  };
}

function prepared(original: ModelProto): ModelProto {
  const raised = raiseOpset(withoutConstantNodes(original));
  return withoutEmptyRegions(foldBatchNorm(raised).model);
}

/** A Resize on bytes with a region of no values is refused by the runtime; left out it means the same. */
function withoutEmptyRegions(model: ModelProto): ModelProto {
  const view = viewGraph(model);
  const isEmpty = (name: string) => view.constant(name)?.dims.some((dim) => dim === 0n) ?? false;
  const node = graphOf(model).node.map((made) => {
    if (made.opType !== 'Resize' || !isEmpty(made.input[1] ?? '')) return made;
    return copyMessage(made, { input: made.input.map((name, place) => (place === 1 ? '' : name)) });
  });
  return withGraph(model, { node });
}

function nothingToQuantise(kept: readonly KeptConvolution[]): ModelError {
  const [first] = kept;
  const why = first === undefined ? 'it has none' : `${first.node} ${first.because}`;
  return new ModelError(`no convolution of this network can work in 8 bits: ${why}`, {
    hint: 'export it with half or in float32',
  });
}
