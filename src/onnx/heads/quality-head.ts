// Gives a trained detector of ours another form of its quality: what made the old one goes, what makes the new one comes.
import { ModelError } from '#core';
import { node, valueInfo } from '../builder.ts';
import { attributeInt, type GraphView, graphOf, viewGraph, withGraph } from '../graph.ts';
import { ownFormat } from '../head-finder/own-format.ts';
import { readMetadata } from '../metadata.ts';
import { withMetadataEntry } from '../metadata-entry.ts';
import { prune } from '../passes/prune.ts';
import type { GraphProto, ModelProto } from '../proto/onnx_pb.ts';
import { subgraph } from '../subgraph.ts';
import { ElementType } from '../tensor.ts';
import { type CompactPlanes, compactTail } from './compact-tail.ts';
import { COMPACT_CHANNELS, type CompactQuality, type DenseLayer, type QualityLayer } from './quality-form.ts';
import { anchorsOf, TailBuilder } from './tail-builder.ts';
import type { HeadSpec } from './types.ts';

/** The quality layer of one level of a trained model. */
export interface QualitySite {
  /** What the layer reads, `[1, channels, rows, columns]`. */
  readonly features: string;
  readonly channels: number;
  /** What it gives, `[1, locations · bins, rows, columns]`. */
  readonly logits: string;
}

export interface QualitySites {
  readonly spec: HeadSpec;
  /** Name of the picture input. */
  readonly picture: string;
  readonly levels: readonly QualitySite[];
}

/**
 * Where a trained model of ours makes its law over bins.
 * @throws ModelError where the model is none of ours, has a compact form already, passes of MC dropout, or was rewritten
 */
export function findQuality(model: ModelProto): QualitySites {
  const own = ownFormat(readMetadata(model));
  if (own?.quality !== undefined) {
    throw new ModelError(`the quality of this model is ${own.quality} already: its law over bins is gone`, {
      hint: 'give the model that training wrote (best.onnx)',
    });
  }
  if (own?.head === undefined) {
    throw new ModelError('the model has no head of ours, whose quality could be said in another form', {
      hint: 'head= is for models that `edge-detect train` wrote; leave it away',
    });
  }
  const view = viewGraph(model);
  if (view.graph.output.some(({ name }) => name === 'quality_epistemic')) {
    throw new ModelError('the model has passes of MC dropout, whose spread a compact form cannot carry', {
      hint: 'leave head= away, or train with mc_passes=0',
    });
  }
  const { spec } = own.head;
  return {
    spec,
    picture: view.graph.input[0]?.name ?? '',
    levels: spec.levels.map(({ quality }) => siteAt(view, quality)),
  };
}

function siteAt(view: GraphView, logits: string): QualitySite {
  const layer = view.producer(logits);
  const weight = view.constant(layer?.input[1] ?? '');
  const plain =
    layer?.opType === 'Conv' &&
    weight?.dataType === ElementType.FLOAT &&
    weight.dims.length === 4 &&
    weight.dims[2] === 1n &&
    (attributeInt(layer, 'group') ?? 1) === 1;
  if (!plain) {
    throw new ModelError(`the model has no float32 1x1 convolution that makes ${logits}`, {
      hint: 'it was rewritten after training: give the model as training wrote it',
    });
  }
  return { features: layer.input[0] ?? '', channels: Number(weight.dims[1]), logits };
}

/** Picture in, what the compact form will read out: float32, batch 1. */
export function qualitySource(model: ModelProto, reads: 'logits' | 'features') {
  const { spec, picture, levels } = findQuality(model);
  const { width, height } = spec.input;
  const tensors = levels.flatMap(({ features, channels, logits }, index) => {
    const { rows = 0, columns = 0 } = spec.levels[index] ?? {};
    const map = (name: string, count: number) => ({ name, shape: [count, rows, columns] });
    return [
      map(logits, spec.locations * spec.bins),
      ...(reads === 'features' ? [map(features, channels)] : []),
    ];
  });
  const part = subgraph(model, {
    inputs: [{ name: picture, shape: [1, 3, height, width] }],
    outputs: tensors.map(({ name, shape }) => ({ name, shape: [1, ...shape] })),
  });
  return { spec, picture, levels, part, tensors };
}

export interface QualityChange {
  readonly form: CompactQuality;
  readonly layer: QualityLayer;
  /** Written into the metadata as `distilled`: from what, on what, how well. Must be JSON. */
  readonly record?: unknown;
}

const OLD_OUTPUTS = new Set(['quality', 'quality_bins', 'quality_mixture']);

/**
 * The model with `quality` (and `quality_mixture[1, A, 5]`) in the new form; with `plain` with `scores[1, A, C]` in their
 * place, which is the wire format of a model whose decoding is in the graph.
 * @throws ModelError as `findQuality`, and where the layer does not fit the model
 */
export function withQualityForm(model: ModelProto, { form, layer, record }: QualityChange): ModelProto {
  const { spec, levels } = findQuality(model);
  expectFitting(spec, levels, form, layer);
  const tail = new TailBuilder('tail.compact.');
  const planes = compactTail(tail, spec, { form, layer }, (level) => levels[level]?.features ?? '');
  const plain = form === 'plain';
  const outputs = plain ? scoreOutput(tail, spec, planes) : qualityOutputs(tail, spec, planes);
  const graph = graphOf(model);
  const isOld = (name: string) => OLD_OUTPUTS.has(name) || (plain && name === 'class_probs');
  const changed = withGraph(model, {
    node: [
      ...graph.node.filter(({ output }) => !output.some((name) => OLD_OUTPUTS.has(name))),
      ...tail.nodes,
    ],
    initializer: [...graph.initializer, ...tail.initializers],
    output: ordered([
      ...graph.output.filter(({ name }) => !isOld(name)),
      ...outputs.map(({ name, shape }) => valueInfo(name, ElementType.FLOAT, shape)),
    ]),
  });
  return prune(withRecord(changed, form, record));
}

/** As `train` writes them: boxes, classes, quality, the law, the variance of the boxes. */
const ORDER = ['boxes', 'class_probs', 'scores', 'quality', 'quality_mixture', 'box_var'];

function ordered(outputs: GraphProto['output']): GraphProto['output'] {
  return outputs.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
}

interface TailOutput {
  readonly name: string;
  readonly shape: readonly number[];
}

function qualityOutputs(tail: TailBuilder, spec: HeadSpec, planes: CompactPlanes): readonly TailOutput[] {
  const anchors = anchorsOf(spec);
  const { mean, variance = '', mixture } = planes;
  const moments = tail.add('Concat', [mean, variance], 'moments', { axis: 1n }); // [1, 2, A]
  turned(tail, moments, 'quality');
  if (mixture === undefined) return [{ name: 'quality', shape: [1, anchors, 2] }];
  turned(tail, mixture, 'quality_mixture');
  return [
    { name: 'quality', shape: [1, anchors, 2] },
    { name: 'quality_mixture', shape: [1, anchors, 5] },
  ];
}

/** p_c · E, or E alone at one class. */
function scoreOutput(tail: TailBuilder, spec: HeadSpec, { mean }: CompactPlanes): readonly TailOutput[] {
  const [anchors, classes] = [anchorsOf(spec), spec.classNames.length];
  const column = tail.ints('column', [1, anchors, 1]);
  if (classes === 1) tail.nodes.push(node('Reshape', [mean, column], ['scores']));
  else {
    const quality = tail.add('Reshape', [mean, column], 'mean_column');
    tail.nodes.push(node('Mul', ['class_probs', quality], ['scores']));
  }
  return [{ name: 'scores', shape: [1, anchors, classes] }];
}

/** `[1, n, A]` → the output `[1, A, n]`. */
function turned(tail: TailBuilder, planes: string, name: string): void {
  tail.nodes.push(node('Transpose', [planes], [name], { perm: [0n, 2n, 1n] }));
}

function expectFitting(
  spec: HeadSpec,
  levels: readonly QualitySite[],
  form: CompactQuality,
  layer: QualityLayer,
): void {
  const channels = COMPACT_CHANNELS[form];
  if (layer.reads === 'law') {
    if (form !== 'two-gaussian') return;
    throw unfitting('no layer at all', 'one that was distilled: two Gaussians cannot be read off a law');
  }
  if (layer.reads === 'logits') {
    expectShape(layer.hidden, 'hidden layer', spec.bins, layer.hidden.outputs);
    expectShape(layer.output, 'output layer', layer.hidden.outputs, channels);
    return;
  }
  levels.forEach((site, level) => {
    const given = layer.levels[level];
    if (given === undefined) throw unfitting(`no layer for level ${level}`, `${levels.length} layers`);
    expectShape(given, `layer of level ${level}`, site.channels, spec.locations * channels);
  });
}

function expectShape(layer: DenseLayer, name: string, inputs: number, outputs: number): void {
  const { weight, bias } = layer;
  const right =
    layer.inputs === inputs &&
    layer.outputs === outputs &&
    weight.length === inputs * outputs &&
    bias.length === outputs;
  if (right) return;
  throw unfitting(
    `a ${name} from ${layer.inputs} to ${layer.outputs} channels with ${weight.length} weights`,
    `from ${inputs} to ${outputs}`,
  );
}

function unfitting(found: string, expected: string): ModelError {
  return new ModelError(`the quality layer does not fit the model: found ${found}, expected ${expected}`, {
    hint: 'distil it from this model',
  });
}

function withRecord(model: ModelProto, form: CompactQuality, record: unknown): ModelProto {
  const before = JSON.parse(readMetadata(model).edgeDetect ?? '{}') as Record<string, unknown>;
  const { head, cuts, ...others } = before;
  const own = {
    ...others,
    // A plain model is one of the many whose graph decodes: what was a head of ours cannot be found in it again.
    ...(form === 'plain'
      ? { decoded: true, head: { quality: form } }
      : { head: { ...(head as object), quality: form }, cuts }),
    ...(record === undefined ? {} : { distilled: record }),
  };
  return withMetadataEntry(model, 'edge_detect', JSON.stringify(own));
}
