// Our head on the towers of a detector: concat(class tower, box tower) → 1x1 adapter, SiLU → quality and classes; the
// box layer stays on its own tower as the host has it.
import { createRandom, deriveSeed, qualityBiasInit } from '#core';
import { node, tensor } from '../builder.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import type { LayerValues } from './predictions.ts';
import type { HeadLevel, HeadParameter } from './types.ts';

export interface HeadSite {
  readonly stride: number;
  readonly columns: number;
  readonly rows: number;
  readonly classTower: string;
  readonly boxTower: string;
  readonly classChannels: number;
  readonly boxChannels: number;
  /** First values of the box layer. */
  readonly box: LayerValues;
}

export interface HeadChoices {
  readonly bins: number;
  readonly classCount: number;
  readonly locations: number;
  /** Channels of the adapter; 0 is a linear head. */
  readonly adapter: number;
  /** Probability of dropping a channel; anything above 0 adds a mask input. */
  readonly dropout: number;
  readonly seed: number;
  /** Values that take the place of random ones where name and size agree (a head that was trained before). */
  readonly initial?: ReadonlyMap<string, Float32Array>;
}

export interface HeadPiece {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
  readonly parameters: readonly HeadParameter[];
  readonly level: HeadLevel;
  /** Name and width of the mask input. */
  readonly mask?: { readonly name: string; readonly channels: number };
}

/** Spread of the first weights of the prediction layers: small, so that the bias alone speaks at the start. */
const OUTPUT_SPREAD = 0.01;

/** Nodes and first values of the head of one level. */
export function buildHead(site: HeadSite, index: number, choices: HeadChoices): HeadPiece {
  const { bins, classCount, locations, adapter, dropout } = choices;
  const layers = new LayerSet(`head.${index}`, choices, index);
  const nodes: NodeProto[] = [];
  const single = site.classTower === site.boxTower;
  let features = single ? site.classTower : `head.${index}.towers`;
  let channels = single ? site.classChannels : site.classChannels + site.boxChannels;
  if (!single) nodes.push(node('Concat', [site.classTower, site.boxTower], [features], { axis: 1n }));
  if (adapter > 0) {
    const he = Math.sqrt(2 / channels);
    nodes.push(...adapterNodes(layers, features, channels, adapter, he));
    features = `${layers.prefix}.adapter`;
    channels = adapter;
  }
  const mask = dropout > 0 ? { name: `mask.${index}`, channels } : undefined;
  if (mask) {
    nodes.push(node('Mul', [features, mask.name], [`${layers.prefix}.dropped`]));
    features = `${layers.prefix}.dropped`;
  }
  const qualityBias = Float32Array.from(
    { length: locations * bins },
    (_, at) => qualityBiasInit(bins)[at % bins]!,
  );
  nodes.push(layers.random('quality', features, channels, locations * bins, OUTPUT_SPREAD, qualityBias));
  if (classCount > 1) {
    const zeros = new Float32Array(locations * classCount);
    nodes.push(layers.random('classes', features, channels, locations * classCount, OUTPUT_SPREAD, zeros));
  }
  nodes.push(layers.given('box', site.boxTower, site.box));
  return {
    nodes,
    initializers: layers.initializers,
    parameters: layers.parameters,
    level: {
      stride: site.stride,
      columns: site.columns,
      rows: site.rows,
      quality: `${layers.prefix}.quality`,
      ...(classCount > 1 ? { classes: `${layers.prefix}.classes` } : {}),
      box: `${layers.prefix}.box`,
    },
    ...(mask ? { mask } : {}),
  };
}

function adapterNodes(layers: LayerSet, features: string, channels: number, width: number, spread: number) {
  const { prefix } = layers;
  const convolution = layers.random(
    'adapter',
    features,
    channels,
    width,
    spread,
    new Float32Array(width),
    'adapter.raw',
  );
  return [
    convolution,
    node('Sigmoid', [`${prefix}.adapter.raw`], [`${prefix}.adapter.gate`]),
    node('Mul', [`${prefix}.adapter.raw`, `${prefix}.adapter.gate`], [`${prefix}.adapter`]),
  ];
}

/** Collects the layers of one level under one prefix; every layer draws from a generator of its own. */
class LayerSet {
  readonly prefix: string;
  readonly initializers: TensorProto[] = [];
  readonly parameters: HeadParameter[] = [];
  readonly #choices: HeadChoices;
  readonly #index: number;

  constructor(prefix: string, choices: HeadChoices, index: number) {
    this.prefix = prefix;
    this.#choices = choices;
    this.#index = index;
  }

  /** A 1x1 convolution with normal weights. */
  random(
    name: string,
    input: string,
    inputs: number,
    outputs: number,
    spread: number,
    bias: Float32Array,
    output = name,
  ): NodeProto {
    const random = createRandom(deriveSeed(this.#choices.seed, this.#index, this.parameters.length));
    const weight = Float32Array.from({ length: outputs * inputs }, () => spread * random.normal());
    return this.given(name, input, { dims: [outputs, inputs, 1, 1], weight, bias }, output);
  }

  /** A convolution with given values. */
  given(name: string, input: string, { dims, weight, bias }: LayerValues, output = name): NodeProto {
    const label = `${this.prefix}.${name}`;
    this.#add(`${label}.weight`, dims, weight, 'weight');
    this.#add(`${label}.bias`, [bias.length], bias, 'bias');
    const kernel = BigInt(dims[2] ?? 1);
    const pad = (kernel - 1n) / 2n;
    return node('Conv', [input, `${label}.weight`, `${label}.bias`], [`${this.prefix}.${output}`], {
      kernel_shape: [kernel, kernel],
      pads: [pad, pad, pad, pad],
    });
  }

  #add(name: string, shape: readonly number[], values: Float32Array, role: HeadParameter['role']): void {
    const kept = this.#choices.initial?.get(name);
    this.initializers.push(tensor(name, shape, kept?.length === values.length ? kept : values));
    this.parameters.push({ name, shape, role });
  }
}
