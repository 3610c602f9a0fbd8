// The two networks of the training benchmark: a small whole detector with batch normalisation, and three head levels
// on cached features without it.
import type { NodeProto, TensorProto, TrainablePart } from '#onnx';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import { createRandom } from '../../src/core/random.ts';
import type { ParameterValues } from '../../training/engines/engine.ts';

export type NetKind = 'whole' | 'head';

export const BINS = 16;
export const CLASSES = 4;
export const CHANNELS = 4 * BINS + CLASSES;
const EPSILON = 1e-5;

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
  net.conv(x, 'out', [128, CHANNELS, 1, 1], true);
  return finish(net, { x: [3, 160, 160] }, { out: [CHANNELS, 10, 10] });
}

function headNet(): Net {
  const net = createNet();
  const levels = [
    [64, 20],
    [128, 10],
    [256, 5],
  ] as const;
  for (const [width] of levels) {
    const first = net.silu(net.conv(`f${width}`, `a${width}`, [width, 64, 3, 1], true));
    const second = net.silu(net.conv(first, `b${width}`, [64, 64, 3, 1], true));
    net.conv(second, `out${width}`, [64, CHANNELS, 1, 1], true);
  }
  return finish(
    net,
    Object.fromEntries(levels.map(([width, size]) => [`f${width}`, [width, size, size]])),
    Object.fromEntries(levels.map(([width, size]) => [`out${width}`, [CHANNELS, size, size]])),
  );
}

export function benchNet(kind: NetKind): Net {
  return kind === 'whole' ? wholeNet() : headNet();
}
