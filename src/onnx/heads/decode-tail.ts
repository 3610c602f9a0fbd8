// The end of a detector of ours as graph nodes: raw maps of all levels → boxes in input px, class probabilities, the law
// of the quality with its moments, and the variance of the box sides.
import { node } from '../builder.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { boxChannels } from './box-channels.ts';
import { boxTail } from './box-tail.ts';
import { anchorsOf, rowsOf, TailBuilder } from './tail-builder.ts';
import type { HeadSpec } from './types.ts';

/** Nodes, constants and outputs (with shapes) of a tail. */
export interface TailPiece {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
  readonly outputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

export interface TailOptions {
  /** Passes of MC dropout that quality and classes come in, as their first axis; 1 without. */
  readonly passes: number;
  /** Whether the law itself is an output, not its moments alone. */
  readonly qualityBins: boolean;
}

/** Wire format: `boxes`, `class_probs`, `quality`, `quality_bins`, `box_var`, `quality_epistemic`. */
export function decodeTail(spec: HeadSpec, { passes, qualityBins }: TailOptions): TailPiece {
  const tail = new TailBuilder();
  const anchors = anchorsOf(spec);
  const { bins, classNames, boxCode } = spec;
  const outputs = [{ name: 'boxes', shape: [1, anchors, 4] }];
  boxTail(
    tail,
    spec,
    rowsOf(tail, spec, { name: 'box', channels: boxChannels(boxCode), passes: 1 }, ({ box }) => box),
  );
  if (classNames.length > 1) {
    classTail(tail, spec, passes);
    outputs.push({ name: 'class_probs', shape: [1, anchors, classNames.length] });
  }
  qualityTail(tail, spec, passes, qualityBins);
  outputs.push({ name: 'quality', shape: [1, anchors, 2] });
  if (qualityBins) outputs.push({ name: 'quality_bins', shape: [1, anchors, bins] });
  if (boxCode.kind === 'dfl') outputs.push({ name: 'box_var', shape: [1, anchors, 4] });
  if (passes > 1) outputs.push({ name: 'quality_epistemic', shape: [1, anchors, 1] });
  return { nodes: tail.nodes, initializers: tail.initializers, outputs };
}

function classTail(tail: TailBuilder, spec: HeadSpec, passes: number): void {
  const part = { name: 'classes', channels: spec.classNames.length, passes };
  const logits = rowsOf(tail, spec, part, (level) => level.classes ?? '');
  const law =
    spec.classLaw === 'softmax'
      ? { operator: 'Softmax', attributes: { axis: -1n } }
      : { operator: 'Sigmoid', attributes: {} };
  const probabilities = tail.add(law.operator, [logits], 'classes.probabilities', law.attributes);
  tail.output(meanOverPasses(tail, probabilities, 'classes.mean', passes), 'class_probs');
}

/** Mean over the first axis: `[T, A, n]` → `[1, A, n]`. */
function meanOverPasses(tail: TailBuilder, values: string, name: string, passes: number): string {
  if (passes === 1) return values;
  const axis = tail.ints(`${name}.axis`, [0]);
  const count = tail.floats(`${name}.passes`, [], [passes]);
  const sum = tail.add('ReduceSum', [values, axis], `${name}.sum`, { keepdims: 1n });
  return tail.add('Div', [sum, count], name);
}

/**
 * Moments of the law over the anchors i / (bins − 1). Over passes: the variance splits into the mean of the variances
 * (aleatoric, the second column of `quality`) and the variance of the means (`quality_epistemic`); readers add the two.
 */
function qualityTail(tail: TailBuilder, spec: HeadSpec, passes: number, withBins: boolean): void {
  const { bins } = spec;
  const logits = rowsOf(tail, spec, { name: 'quality', channels: bins, passes }, ({ quality }) => quality);
  const law = tail.add('Softmax', [logits], 'quality.law', { axis: -1n }); // [T, A, bins]
  const places = Array.from({ length: bins }, (_, bin) => bin / (bins - 1));
  const column = tail.floats('quality.anchor_column', [bins, 1], places);
  const row = tail.floats('quality.anchor_row', [1, 1, bins], places);
  const last = tail.ints('quality.last_axis', [-1]);
  const mean = tail.add('MatMul', [law, column], 'quality.mean'); // [T, A, 1]
  const deviation = tail.add('Sub', [row, mean], 'quality.deviation');
  const squared = tail.add('Mul', [deviation, deviation], 'quality.squared');
  const weighted = tail.add('Mul', [squared, law], 'quality.weighted');
  const variance = tail.add('ReduceSum', [weighted, last], 'quality.variance', { keepdims: 1n }); // [T, A, 1]
  const expectation = meanOverPasses(tail, mean, 'quality.expectation', passes);
  const aleatoric = meanOverPasses(tail, variance, 'quality.aleatoric', passes);
  tail.nodes.push(node('Concat', [expectation, aleatoric], ['quality'], { axis: -1n }));
  if (withBins) tail.output(meanOverPasses(tail, law, 'quality.mean_law', passes), 'quality_bins');
  if (passes === 1) return;
  const spread = tail.add('Sub', [mean, expectation], 'quality.spread');
  const spreadSquared = tail.add('Mul', [spread, spread], 'quality.spread_squared');
  tail.output(meanOverPasses(tail, spreadSquared, 'quality.epistemic', passes), 'quality_epistemic');
}
