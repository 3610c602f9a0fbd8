// Compact forms of the quality as graph nodes: raw channels → moments in closed form that no law could refuse.
import { node, tensor } from '../builder.ts';
import type { CompactQuality, DenseLayer, QualityLayer } from './quality-form.ts';
import { COMPACT_CHANNELS } from './quality-form.ts';
import type { TailBuilder } from './tail-builder.ts';
import { anchorsOf } from './tail-builder.ts';
import type { HeadLevel, HeadSpec } from './types.ts';

/**
 * Maps `[1, locations · channels, rows, columns]` of all levels side by side, `[channels, A]`, in the order of the anchors.
 * Channels stay in front: nothing has to be transposed, and each is one piece of memory afterwards.
 */
function planesOf(
  tail: TailBuilder,
  { levels, locations }: Pick<HeadSpec, 'levels' | 'locations'>,
  channels: number,
  mapOf: (level: HeadLevel, index: number) => string,
): string {
  const parts = levels.map((level, index) => {
    const cells = level.columns * level.rows;
    const map = mapOf(level, index);
    const flat = tail.ints(`planes.${index}.shape`, [channels, locations * cells]);
    if (locations === 1) return tail.add('Reshape', [map, flat], `planes.${index}`);
    const split = tail.ints(`planes.${index}.split`, [locations, channels, cells]);
    const apart = tail.add('Reshape', [map, split], `planes.${index}.apart`); // [L, channels, cells]
    const turned = tail.add('Transpose', [apart], `planes.${index}.turned`, { perm: [1n, 0n, 2n] });
    return tail.add('Reshape', [turned, flat], `planes.${index}`);
  });
  return parts.length === 1 ? (parts[0] ?? '') : tail.add('Concat', parts, 'planes', { axis: 1n }); // [channels, A]
}

/** What a form hands out, each `[1, 1, A]`; the mixture `[1, 5, A]`. */
export interface CompactPlanes {
  readonly mean: string;
  readonly variance?: string;
  readonly mixture?: string;
}

/** @param featuresOf name of what the trained quality layer of a level reads */
export function compactTail(
  tail: TailBuilder,
  spec: HeadSpec,
  { form, layer }: { readonly form: CompactQuality; readonly layer: QualityLayer },
  featuresOf: (level: number) => string,
): CompactPlanes {
  if (layer.reads === 'law') return lawMoments(tail, spec, form !== 'plain');
  return compactPlanes(tail, form, rawQuality(tail, spec, { form, layer }, featuresOf));
}

/** E = Σ p_i a_i and Var = Σ p_i (a_i − E)² over the anchors a_i = i / (bins − 1). */
function lawMoments(tail: TailBuilder, spec: HeadSpec, withVariance: boolean): CompactPlanes {
  const { bins } = spec;
  const anchors = anchorsOf(spec);
  const places = Array.from({ length: bins }, (_, bin) => bin / (bins - 1));
  const logits = planesOf(tail, spec, bins, ({ quality }) => quality); // [bins, A]
  const law = tail.add('Softmax', [logits], 'law', { axis: 0n });
  const expectation = tail.add('MatMul', [tail.floats('places', [1, bins], places), law], 'expectation'); // [1, A]
  const plane = tail.ints('plane', [1, 1, anchors]);
  const mean = tail.add('Reshape', [expectation, plane], 'mean');
  if (!withVariance) return { mean };
  const column = tail.floats('place_column', [bins, 1], places);
  const deviation = tail.add('Sub', [column, expectation], 'deviation'); // [bins, A]
  const squared = tail.add('Mul', [deviation, deviation], 'squared');
  const weighted = tail.add('Mul', [squared, law], 'weighted');
  const spread = tail.add('ReduceSum', [weighted, tail.ints('bins_axis', [0])], 'spread', { keepdims: 1n });
  return { mean, variance: tail.add('Reshape', [spread, plane], 'variance') };
}

type LearntLayer = Exclude<QualityLayer, { reads: 'law' }>;

/** Raw channels of a compact form, `[1, channels, A]`. */
function rawQuality(
  tail: TailBuilder,
  spec: HeadSpec,
  { form, layer }: { readonly form: CompactQuality; readonly layer: LearntLayer },
  featuresOf: (level: number) => string,
): string {
  const channels = COMPACT_CHANNELS[form];
  const planes =
    layer.reads === 'logits'
      ? smallNetwork(
          tail,
          planesOf(tail, spec, spec.bins, ({ quality }) => quality),
          layer,
        )
      : planesOf(tail, spec, channels, (_, level) =>
          convolution(tail, featuresOf(level), `head.${level}.${form}`, layer.levels[level] as DenseLayer),
        );
  return tail.add('Reshape', [planes, tail.ints('raw.shape', [1, channels, anchorsOf(spec)])], 'raw');
}

/**
 * As Gemm, not as convolutions: passes that keep the arithmetic behind the last convolutions in float32 then keep this
 * too, and the trained layer in front of it stays the last convolution that it was.
 */
function smallNetwork(
  tail: TailBuilder,
  planes: string,
  { hidden, output }: Extract<QualityLayer, { reads: 'logits' }>,
): string {
  const units = gemm(tail, planes, 'hidden', hidden);
  return gemm(tail, tail.add('Relu', [units], 'hidden.active'), 'output', output); // [channels, A]
}

function gemm(tail: TailBuilder, planes: string, name: string, layer: DenseLayer): string {
  const { inputs, outputs, weight, bias } = layer;
  const matrix = tail.floats(`${name}.weight`, [outputs, inputs], weight);
  return tail.add('Gemm', [matrix, planes, tail.floats(`${name}.bias`, [outputs, 1], bias)], name);
}

function convolution(tail: TailBuilder, features: string, name: string, layer: DenseLayer): string {
  const { inputs, outputs, weight, bias } = layer;
  tail.initializers.push(
    tensor(`${name}.weight`, [outputs, inputs, 1, 1], weight),
    tensor(`${name}.bias`, [outputs], bias),
  );
  tail.nodes.push(
    node('Conv', [features, `${name}.weight`, `${name}.bias`], [name], { kernel_shape: [1n, 1n] }),
  );
  return name;
}

/** @param raw `[1, channels, A]` */
function compactPlanes(tail: TailBuilder, form: CompactQuality, raw: string): CompactPlanes {
  const gates = tail.add('Sigmoid', [raw], 'gates');
  switch (form) {
    case 'plain':
      return { mean: gates };
    case 'mean-variance':
      return meanVariance(tail, gates);
    case 'two-gaussian':
      return twoGaussian(tail, gates);
    default:
      return form satisfies never;
  }
}

/** m, v = s m (1 − m). */
function meanVariance(tail: TailBuilder, gates: string): CompactPlanes {
  const [mean = '', share = ''] = split(tail, gates, [1, 1]);
  const most = tail.add('Mul', [mean, oneMinus(tail, mean, 'rest')], 'most');
  return { mean, variance: tail.add('Mul', [share, most], 'variance') };
}

/**
 * E = μ1 + (1 − w)(μ2 − μ1); Var = w v1 + (1 − w) v2 + w (1 − w)(μ2 − μ1)² by the law of total variance. With
 * v_k ≤ μ_k (1 − μ_k), E[Q²] ≤ E[Q], so Var ≤ E (1 − E) whatever the raw channels are.
 */
function twoGaussian(tail: TailBuilder, gates: string): CompactPlanes {
  const [weight = '', low = '', step = '', shares = ''] = split(tail, gates, [1, 1, 1, 2]);
  const apart = tail.add('Mul', [oneMinus(tail, low, 'room'), step], 'apart'); // μ2 − μ1
  const high = tail.add('Add', [low, apart], 'high');
  const means = tail.add('Concat', [low, high], 'means', { axis: 1n }); // [1, 2, A]
  const most = tail.add('Mul', [means, oneMinus(tail, means, 'rests')], 'most');
  const variances = tail.add('Mul', [shares, most], 'variances'); // [1, 2, A]
  const other = oneMinus(tail, weight, 'other');
  const weights = tail.add('Concat', [weight, other], 'weights', { axis: 1n });
  const moved = tail.add('Mul', [other, apart], 'moved'); // (1 − w)(μ2 − μ1)
  const mean = tail.add('Add', [low, moved], 'mean');
  const weighted = tail.add('Mul', [weights, variances], 'weighted');
  const within = tail.add('ReduceSum', [weighted, tail.ints('parts_axis', [1])], 'within', { keepdims: 1n });
  const between = tail.add('Mul', [moved, tail.add('Mul', [weight, apart], 'pulled')], 'between');
  const variance = tail.add('Add', [within, between], 'variance');
  const mixture = tail.add('Concat', [weight, means, variances], 'mixture', { axis: 1n }); // [1, 5, A]
  return { mean, variance, mixture };
}

function split(tail: TailBuilder, gates: string, sizes: readonly number[]): readonly string[] {
  const names = sizes.map((_, part) => tail.label(`gates.${part}`));
  tail.nodes.push(node('Split', [gates, tail.ints('gates.sizes', sizes)], names, { axis: 1n }));
  return names;
}

function oneMinus(tail: TailBuilder, values: string, name: string): string {
  const one = tail.label('one');
  if (!tail.initializers.some((constant) => constant.name === one)) tail.floats('one', [], [1]);
  return tail.add('Sub', [one, values], name);
}
