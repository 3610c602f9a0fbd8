// The two networks of the training benchmark: a small whole detector with batch normalisation, and three head levels
// on cached features without it.
import type { NodeProto, TensorProto, TrainablePart } from '#onnx';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import { createRandom } from '../../src/core/random.ts';
import type { ParameterValues } from '../../training/engines/engine.ts';

export type NetKind = 'whole' | 'head';

/** Bins of a box side. */
export const BINS = 16;
/** Bins of the score's law. */
export const SCORE_BINS = 10;
export const IMAGE_PX = 160;
const EPSILON = 1e-5;

interface NetLevel {
  readonly stride: number;
  /** Outputs. */
  readonly box: string;
  readonly quality: string;
}

const level = (stride: number): NetLevel => ({ stride, box: `box${stride}`, quality: `quality${stride}` });

export const LEVELS: Readonly<Record<NetKind, readonly NetLevel[]>> = {
  whole: [level(16)],
  head: [level(8), level(16), level(32)],
};

interface Net {
  readonly part: TrainablePart;
  readonly values: ParameterValues;
}

/** Collects nodes and parameters; He's initialisation (2015). */
function createNet() {
  const nodes: NodeProto[] = [];
  const initializers: TensorProto[] = [];
  const parameters: TrainablePart['parameters'][number][] = [];
  const values = new Map<string, Float32Array<ArrayBuffer>>();
  const normalizations: { mean: string; variance: string }[] = [];
  const random = createRandom(1);
  const fill = (count: number, value: () => number) => Float32Array.from({ length: count }, value);
  const add = (
    name: string,
    shape: number[],
    role: 'weight' | 'bias' | 'scale' | 'shift',
    value: () => number,
  ) => {
    const data = fill(
      shape.reduce((product, size) => product * size, 1),
      value,
    );
    initializers.push(floats(name, shape, data));
    parameters.push({ name, shape, role });
    values.set(name, data);
  };
  const conv = (
    x: string,
    name: string,
    [inputs, outputs, size, stride]: readonly number[],
    bias: boolean,
  ) => {
    const [i = 1, o = 1, k = 1, s = 1] = [inputs, outputs, size, stride];
    const scale = Math.sqrt(2 / (i * k * k));
    add(`${name}.weight`, [o, i, k, k], 'weight', () => random.normal() * scale);
    if (bias) add(`${name}.bias`, [o], 'bias', () => 0);
    const pad = BigInt((k - 1) / 2);
    nodes.push(
      node('Conv', [x, `${name}.weight`, ...(bias ? [`${name}.bias`] : [])], [name], {
        strides: [BigInt(s), BigInt(s)],
        pads: [pad, pad, pad, pad],
      }),
    );
    return name;
  };
  const silu = (x: string) => {
    nodes.push(node('Sigmoid', [x], [`${x}/s`]), node('Mul', [x, `${x}/s`], [`${x}/y`]));
    return `${x}/y`;
  };
  const normalise = (x: string, channels: number) => {
    add(`${x}.gamma`, [channels], 'scale', () => 1);
    add(`${x}.beta`, [channels], 'shift', () => 0);
    const [mean, variance] = [`${x}.mean`, `${x}.variance`];
    initializers.push(
      floats(
        mean,
        [channels],
        fill(channels, () => 0),
      ),
    );
    initializers.push(
      floats(
        variance,
        [channels],
        fill(channels, () => 1),
      ),
    );
    normalizations.push({ mean, variance });
    const names = [x, `${x}.gamma`, `${x}.beta`, mean, variance];
    nodes.push(node('BatchNormalization', names, [`${x}/n`], { epsilon: EPSILON }));
    return `${x}/n`;
  };
  return { nodes, initializers, parameters, values, normalizations, conv, silu, normalise };
}

type Building = ReturnType<typeof createNet>;

/** The two 1x1 convolutions that end a level, and the shapes of their outputs. */
function predict(net: Building, x: string, channels: number, { stride, box, quality }: NetLevel) {
  const size = IMAGE_PX / stride;
  net.conv(x, box, [channels, 4 * BINS, 1, 1], true);
  net.conv(x, quality, [channels, SCORE_BINS, 1, 1], true);
  return { [box]: [4 * BINS, size, size], [quality]: [SCORE_BINS, size, size] };
}

function finish(net: Building, inputs: Record<string, number[]>, outputs: Record<string, number[]>): Net {
  const infos = (tensors: Record<string, number[]>) =>
    Object.entries(tensors).map(([name, shape]) => valueInfo(name, ElementType.FLOAT, ['N', ...shape]));
  const { nodes, initializers, parameters, normalizations, values } = net;
  const named = (tensors: Record<string, number[]>) =>
    Object.entries(tensors).map(([name, shape]) => ({ name, shape, kind: 'features' as const }));
  return {
    values,
    part: {
      model: model(graph({ nodes, initializers, inputs: infos(inputs), outputs: infos(outputs) })),
      inputs: named(inputs),
      outputs: named(outputs),
      parameters,
      normalizations,
    },
  };
}

function wholeNet(): Net {
  const net = createNet();
  let x = 'x';
  [
    [3, 16, 3, 2],
    [16, 32, 3, 2],
    [32, 32, 3, 1],
    [32, 64, 3, 2],
    [64, 64, 3, 1],
    [64, 128, 3, 2],
    [128, 128, 3, 1],
  ].forEach((layer, index) => {
    x = net.silu(net.normalise(net.conv(x, `c${index}`, layer, false), layer[1]!));
  });
  const [only] = LEVELS.whole;
  const outputs = predict(net, x, 128, only!);
  return finish(net, { x: [3, IMAGE_PX, IMAGE_PX] }, outputs);
}

function headNet(): Net {
  const net = createNet();
  const inputs: Record<string, number[]> = {};
  const outputs: Record<string, number[]> = {};
  for (const [index, width] of [64, 128, 256].entries()) {
    const level = LEVELS.head[index]!;
    const size = IMAGE_PX / level.stride;
    inputs[`f${width}`] = [width, size, size];
    const first = net.silu(net.conv(`f${width}`, `a${width}`, [width, 64, 3, 1], true));
    const second = net.silu(net.conv(first, `b${width}`, [64, 64, 3, 1], true));
    Object.assign(outputs, predict(net, second, 64, level));
  }
  return finish(net, inputs, outputs);
}

export function benchNet(kind: NetKind): Net {
  return kind === 'whole' ? wholeNet() : headNet();
}
