// The tfjs engine computes what the onnx engine computes, and what differences in float64 say; it leaves no tensor behind.
import * as tensorflow from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import { floats, ints, node } from '#onnx';
import type { Engine, ParameterValues, Tensors } from '../../../training/engines/engine.ts';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { openTfjsEngine, type TfjsEngineOptions } from '../../../training/engines/tfjs/engine.ts';
import { differences, makePart, makeTensors, type PartSpec, relativeError } from './parts.ts';

// The package is CommonJS: which names an import of it has depends on the loader, its default does not.
const tf = tensorflow.default ?? tensorflow;

const ones = (...values: number[]) => values.map(BigInt);
const same = { pads: ones(1, 1, 1, 1) };
const silu = (x: string, y: string) => [node('Sigmoid', [x], [`${y}_s`]), node('Mul', [x, `${y}_s`], [y])];
const norm = (x: string, index: number, y: string) =>
  node('BatchNormalization', [x, `gamma${index}`, `beta${index}`, `m${index}`, `v${index}`], [y], {
    epsilon: 1e-3,
  });
const running = (index: number, channels: number) => [
  floats(`m${index}`, [channels], new Float32Array(channels).fill(0.1)),
  floats(`v${index}`, [channels], new Float32Array(channels).fill(1.2)),
];

/** Small nets that together hold every operator of a head, a neck and a backbone. */
const nets: Readonly<Record<string, PartSpec>> = {
  backbone: {
    inputs: { x: [3, 12, 16] },
    nodes: [
      node('Conv', ['x', 'k1'], ['c1'], { ...same, strides: ones(2, 2) }),
      norm('c1', 1, 'n1'),
      ...silu('n1', 'a1'),
      node('Conv', ['a1', 'k2', 'b2'], ['c2'], { ...same, group: 2n }),
      node('Relu', ['c2'], ['a2']),
      node('Conv', ['a2', 'k3'], ['c3'], { ...same, group: 8n, strides: ones(2, 2) }),
      norm('c3', 3, 'n3'),
      node('HardSwish', ['n3'], ['a3']),
      node('Conv', ['a3', 'k4', 'b4'], ['c4']),
      node('LeakyRelu', ['c4'], ['y'], { alpha: 0.1 }),
    ],
    parameters: {
      ...{ k1: [8, 3, 3, 3], gamma1: [8], beta1: [8], k2: [8, 4, 3, 3], b2: [8] },
      ...{ k3: [8, 1, 3, 3], gamma3: [8], beta3: [8], k4: [6, 8, 1, 1], b4: [6] },
    },
    constants: [...running(1, 8), ...running(3, 8)],
    normalizations: [
      ['m1', 'v1'],
      ['m3', 'v3'],
    ],
  },
  neck: {
    inputs: { small: [4, 4, 3], large: [6, 8, 6], mask: [4, 1, 1] },
    nodes: [
      node('Conv', ['small', 'k1', 'b1'], ['c1']),
      ...silu('c1', 'a1'),
      ...['a1', 'p1', 'p2'].map((from, index) =>
        node('MaxPool', [from], [`p${index + 1}`], { kernel_shape: ones(5, 5), pads: ones(2, 2, 2, 2) }),
      ),
      node('Concat', ['a1', 'p1', 'p2', 'p3'], ['sppf'], { axis: 1n }),
      node('Conv', ['sppf', 'k2'], ['c2']),
      node('Mul', ['c2', 'mask'], ['dropped']),
      node('Resize', ['dropped', '', 'scales'], ['up'], {
        mode: 'nearest',
        coordinate_transformation_mode: 'asymmetric',
        nearest_mode: 'floor',
      }),
      node('Concat', ['up', 'large'], ['joined'], { axis: 1n }),
      node('Conv', ['joined', 'k3'], ['c3'], same),
      norm('c3', 3, 'n3'),
      ...silu('n3', 'a3'),
      node('Split', ['a3', 'halves'], ['left', 'right'], { axis: 1n }),
      node('Conv', ['right', 'k4'], ['c4'], same),
      node('Add', ['c4', 'right'], ['residual']),
      node('Concat', ['left', 'residual'], ['y'], { axis: 1n }),
      node('Conv', ['y', 'k5'], ['z'], { ...same, strides: ones(2, 2) }),
    ],
    parameters: {
      ...{ k1: [4, 4, 1, 1], b1: [4], k2: [4, 16, 1, 1], k3: [8, 10, 3, 3], gamma3: [8], beta3: [8] },
      ...{ k4: [4, 4, 3, 3], k5: [4, 8, 3, 3] },
    },
    constants: [floats('scales', [4], [1, 1, 2, 2]), ints('halves', [4, 4]), ...running(3, 8)],
    normalizations: [['m3', 'v3']],
    outputs: ['y', 'z'],
  },
  head: {
    inputs: { x: [6, 5, 4] },
    nodes: [
      node('Conv', ['x', 'k1', 'b1'], ['c1'], { ...same, group: 6n }),
      node('HardSigmoid', ['c1'], ['gate']),
      node('Mul', ['c1', 'gate'], ['a1']),
      node('Conv', ['a1', 'k2', 'b2'], ['c2']),
      node('Reshape', ['c2', 'boxes'], ['sides']),
      node('Softmax', ['sides'], ['law'], { axis: 2n }),
      node('Transpose', ['law'], ['y'], { perm: ones(0, 3, 1, 2) }),
      node('Slice', ['c2', 'from', 'to', 'axes', 'steps'], ['thin']),
      node('Sigmoid', ['thin'], ['z']),
    ],
    parameters: { k1: [6, 1, 3, 3], b1: [6], k2: [12, 6, 1, 1], b2: [12] },
    constants: [
      ints('boxes', [0, 4, 3, 20]),
      ints('from', [-1, 1]),
      ints('to', [-100, 5]),
      ints('axes', [1, 2]),
      ints('steps', [-2, 2]),
    ],
    outputs: ['y', 'z'],
  },
};

/** Sum of squares to a target, over the pictures. */
function lossOf(outputs: Tensors, targets: Tensors) {
  let value = 0;
  const gradients = new Map(
    [...outputs].map(([name, { shape, data }]) => {
      const target = targets.get(name)!.data;
      const scale = 1 / shape[0]!;
      const gradient = data.map((found, index) => {
        const apart = found - target[index]!;
        value += 0.5 * scale * apart * apart;
        return scale * apart;
      });
      return [name, { shape, data: gradient }] as const;
    }),
  );
  return { value, gradients };
}

async function descend(engine: Engine, spec: PartSpec, batches: readonly number[]) {
  const { part, values } = makePart(spec, 1);
  const current = new Map([...values].map(([name, data]) => [name, data.slice()]));
  const losses: number[] = [];
  const results: { gradients: ParameterValues; statistics: ParameterValues }[] = [];
  for (const [index, batch] of batches.entries()) {
    const inputs = makeTensors(part.inputs, batch, 20 + (index % 2));
    const targets = makeTensors(part.outputs, batch, 40);
    const { outputs, state } = await engine.forward(inputs, current, { mode: 'train' });
    const { value, gradients } = lossOf(outputs, targets);
    losses.push(value);
    const result = await engine.backward(state!, gradients);
    results.push(result);
    for (const [name, data] of current) {
      const slope = result.gradients.get(name)!;
      data.forEach((old, at) => {
        data[at] = old - 0.003 * slope[at]!;
      });
    }
  }
  return { losses, results, values: current };
}

/** A native binding built elsewhere can be held to the same: a file beside its `node_modules`. */
const bindingFrom = process.env['EDGE_DETECT_TFJS_NODE_FROM'];
const backends: readonly { readonly name: string; readonly options?: TfjsEngineOptions }[] = [
  { name: 'wasm', options: { backend: 'wasm' } },
  {
    name: 'tfjs-node (EDGE_DETECT_TFJS_NODE_FROM says beside which file it is installed)',
    ...(bindingFrom && { options: { backend: 'tfjs-node', searchFrom: bindingFrom } }),
  },
];

describe.each(backends)('the tfjs engine on $name', ({ options }) => {
  describe.skipIf(options === undefined)('computes what the onnx engine computes', () => {
    it.each(Object.keys(nets))('%s: five steps of descent', async (name) => {
      const spec = nets[name]!;
      const engines = [
        await openTfjsEngine(makePart(spec, 1).part, options),
        await openOnnxEngine(makePart(spec, 1).part),
      ];
      const [ours, theirs] = await Promise.all(
        engines.map((engine) => descend(engine, spec, [2, 2, 3, 1, 2])),
      );
      for (const [step, loss] of ours!.losses.entries()) {
        expect(Math.abs(loss / theirs!.losses[step]! - 1), `loss ${step}`).toBeLessThan(1e-5);
      }
      expect(ours!.losses[4]).toBeLessThan(ours!.losses[0]!);
      const [first, other] = [ours!.results[0]!, theirs!.results[0]!];
      for (const [parameter, gradient] of other.gradients) {
        expect(relativeError(first.gradients.get(parameter)!, gradient), parameter).toBeLessThan(1e-5);
      }
      expect([...first.statistics.keys()]).toEqual([...other.statistics.keys()]);
      for (const [statistic, values] of other.statistics) {
        expect(relativeError(first.statistics.get(statistic)!, values), statistic).toBeLessThan(1e-5);
      }
      await Promise.all(engines.map((engine) => engine.close()));
    });

    it.each(Object.keys(nets))('%s: evaluation with running statistics, one picture', async (name) => {
      const { part, values } = makePart(nets[name]!, 1);
      const given = new Map(values);
      for (const { mean, variance } of part.normalizations) {
        const channels = part.parameters.find(({ name }) => name === mean.replace('m', 'gamma'))!.shape[0]!;
        given.set(
          mean,
          Float32Array.from({ length: channels }, (_, index) => Math.sin(index)),
        );
        given.set(
          variance,
          Float32Array.from({ length: channels }, (_, index) => 1.5 + Math.cos(index)),
        );
      }
      const inputs = makeTensors(part.inputs, 1, 5);
      const engines = [await openTfjsEngine(part, options), await openOnnxEngine(part)];
      const [ours, theirs] = await Promise.all(
        engines.map((engine) => engine.forward(inputs, given, { mode: 'evaluate' })),
      );
      expect(ours!.state).toBeUndefined();
      for (const [output, { shape, data }] of theirs!.outputs) {
        expect(ours!.outputs.get(output)!.shape).toEqual(shape);
        expect(relativeError(ours!.outputs.get(output)!.data, data), output).toBeLessThan(1e-5);
      }
      await Promise.all(engines.map((engine) => engine.close()));
    });
  });
});

const scaled = node('Mul', ['x', 'w'], ['h']);
const one = (
  opType: string,
  attributes = {},
  more: string[] = [],
  rest: Partial<PartSpec> = {},
): PartSpec => ({
  nodes: [scaled, node(opType, ['h', ...more], ['y'], attributes)],
  parameters: { w: [1, 3, 5, 4] },
  ...rest,
});
const conv = (weight: number[], attributes: object, input: number[]): PartSpec => ({
  nodes: [scaled, node('Conv', ['h', 'k'], ['y'], { ...attributes })],
  inputs: { x: input },
  parameters: { w: [1, ...input], k: weight },
});

/** Forms whose geometry the kernels could get wrong. */
const cases: Readonly<Record<string, PartSpec>> = {
  'Conv 3x3 stride 2, odd size': conv([4, 3, 3, 3], { ...same, strides: ones(2, 2) }, [3, 7, 5]),
  'Conv 3x3 stride 3 that leaves a border': conv([2, 2, 3, 3], { strides: ones(3, 3) }, [2, 8, 7]),
  'Conv 1x1 stride 2': conv([4, 3, 1, 1], { strides: ones(2, 2) }, [3, 5, 4]),
  'Conv 5x3, unequal pads and strides': conv(
    [2, 2, 5, 3],
    { pads: ones(2, 0, 1, 2), strides: ones(1, 2) },
    [2, 6, 6],
  ),
  'Conv 1x1, pads wider than the kernel': conv([2, 3, 1, 1], { pads: ones(1, 2, 0, 1) }, [3, 5, 4]),
  'Conv depthwise 5x5 stride 2': conv(
    [3, 1, 5, 5],
    { group: 3n, pads: ones(2, 2, 2, 2), strides: ones(2, 2) },
    [3, 7, 6],
  ),
  'Conv depthwise with multiplier': conv([6, 1, 3, 3], { group: 3n, ...same }, [3, 5, 4]),
  'Conv depthwise, unequal strides': conv([3, 1, 3, 3], { group: 3n, strides: ones(1, 2) }, [3, 5, 4]),
  'BatchNormalization frozen': {
    nodes: [scaled, norm('h', 1, 'y')],
    parameters: { w: [1, 3, 5, 4], gamma1: [3], beta1: [3] },
    constants: running(1, 3),
  },
  'MaxPool 2x2 stride 2, windows without a positive value': one('MaxPool', {
    kernel_shape: ones(2, 2),
    strides: ones(2, 2),
  }),
  'MaxPool 3x3 stride 2 ceil': one('MaxPool', {
    kernel_shape: ones(3, 3),
    strides: ones(2, 2),
    ceil_mode: 1n,
  }),
  'AveragePool 3x3 with pads': one('AveragePool', { kernel_shape: ones(3, 3), ...same }),
  'Resize by 3': one(
    'Resize',
    { mode: 'nearest', coordinate_transformation_mode: 'half_pixel', nearest_mode: 'round_prefer_ceil' },
    ['', 'scales'],
    { constants: [floats('scales', [4], [1, 1, 3, 3])] },
  ),
  'Softmax over channels': one('Softmax', { axis: 1n }),
  'Clip of opset 6': one('Clip', { min: -0.2, max: 0.4 }, [], { opset: 10 }),
  'Add with a channel vector': {
    nodes: [scaled, node('Conv', ['h', 'k'], ['c']), node('Add', ['c', 'b'], ['y'])],
    parameters: { w: [1, 3, 5, 4], k: [3, 3, 1, 1], b: [3, 1, 1] },
  },
};

describe('gradients of the tfjs engine against differences in float64', () => {
  it.each(Object.keys(cases))('%s', async (name) => {
    const { part, values } = makePart(cases[name]!, 2);
    const inputs = makeTensors(part.inputs, 2, 11);
    const weights = makeTensors(part.outputs, 2, 12);
    const engine = await openTfjsEngine(part);
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    const { gradients } = await engine.backward(state!, weights);
    for (const [parameter, expected] of differences(part, inputs, values, weights)) {
      expect(relativeError(gradients.get(parameter)!, expected), parameter).toBeLessThan(1e-5);
    }
    await engine.close();
  });
});

describe('what the tfjs engine promises beside right numbers', () => {
  const spec = nets['neck']!;
  let engine: Engine;
  beforeAll(async () => {
    engine = await openTfjsEngine(makePart(spec, 1).part);
  });
  afterAll(() => engine.close());

  it('leaves no tensor behind, whether a pass is used, discarded, evaluated or wrong', async () => {
    const { part, values } = makePart(spec, 2);
    const before = tf.memory().numTensors;
    const own = await openTfjsEngine(part);
    const inputs = makeTensors(part.inputs, 2, 1);
    const gradients = makeTensors(part.outputs, 2, 2);
    const step = async () => {
      const { state } = await own.forward(inputs, values, { mode: 'train' });
      await own.backward(state!, gradients);
    };
    await step(); // uploads the constants, which stay
    const flat = tf.memory().numTensors;
    for (let count = 0; count < 5; count++) await step();
    expect(tf.memory().numTensors).toBe(flat);
    const { state } = await own.forward(inputs, values, { mode: 'train' });
    expect(tf.memory().numTensors).toBeGreaterThan(flat);
    own.discard(state!);
    const statistics = new Map([
      ['m3', new Float32Array(8)],
      ['v3', new Float32Array(8).fill(1)],
    ]);
    await own.forward(inputs, new Map([...values, ...statistics]), { mode: 'evaluate' });
    await expect(own.forward(inputs, new Map(), { mode: 'train' })).rejects.toThrow('no values were given');
    const again = await own.forward(inputs, values, { mode: 'train' });
    const short = new Map([['y', { shape: [1], data: new Float32Array(1) }]]);
    await expect(own.backward(again.state!, short)).rejects.toThrow('y has 1 values, expected [2, 8, 8, 6]');
    expect(tf.memory().numTensors).toBe(flat);
    await own.close();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('gives the same bits for the same steps', async () => {
    const bits = async () => {
      const { values } = await descend(engine, spec, [2, 1, 2]);
      return [...values.values()].map((data) => Buffer.from(data.buffer).toString('hex'));
    };
    expect(await bits()).toEqual(await bits());
  });

  it('reads the parameters at the forward pass, whatever becomes of the arrays until the backward pass', async () => {
    const { part, values } = makePart(spec, 2);
    const inputs = makeTensors(part.inputs, 2, 1);
    const weights = makeTensors(part.outputs, 2, 2);
    const run = async (spoil: boolean) => {
      const current = new Map([...values].map(([name, data]) => [name, data.slice()]));
      const { state } = await engine.forward(inputs, current, { mode: 'train' });
      if (spoil) for (const data of current.values()) data.fill(9);
      return (await engine.backward(state!, weights)).gradients;
    };
    expect(await run(true)).toEqual(await run(false));
  });

  it('counts a missing output gradient as zero, and a parameter without influence has none', async () => {
    const { part, values } = makePart(
      {
        nodes: [node('Mul', ['x', 'w'], ['y']), node('Mul', ['x', 'u'], ['z'])],
        parameters: { w: [3, 1, 1], u: [3, 1, 1], idle: [2] },
        outputs: ['y', 'z'],
      },
      2,
    );
    const own = await openTfjsEngine(part);
    const { state } = await own.forward(makeTensors(part.inputs, 2, 1), values, { mode: 'train' });
    const weights = makeTensors(part.outputs, 2, 2);
    const { gradients } = await own.backward(state!, new Map([['y', weights.get('y')!]]));
    expect(gradients.get('u')).toEqual(new Float32Array(3));
    expect(gradients.get('idle')).toEqual(new Float32Array(2));
    expect(Math.hypot(...gradients.get('w')!)).toBeGreaterThan(0.1);
    await own.close();
  });

  it('refuses a forward pass that was used already, and inputs of another shape', async () => {
    const { part, values } = makePart(spec, 1);
    const inputs = makeTensors(part.inputs, 1, 1);
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    engine.discard(state!);
    await expect(engine.backward(state!, new Map())).rejects.toThrow('was used already');
    const wrong = new Map([...inputs, ...makeTensors([{ name: 'large', shape: [6, 8, 5] }], 1, 1)]);
    await expect(engine.forward(wrong, values, { mode: 'train' })).rejects.toThrow(
      'input large of the trainable part is [1, 6, 8, 6], found [1, 6, 8, 5]',
    );
    const uneven = new Map([...inputs, ...makeTensors([{ name: 'large', shape: [6, 8, 6] }], 2, 1)]);
    await expect(engine.forward(uneven, values, { mode: 'train' })).rejects.toThrow('found [2, 6, 8, 6]');
  });

  it('says which node and operator cannot be differentiated, in the words of the onnx engine', async () => {
    const { part } = makePart(
      { nodes: [scaled, node('Erf', ['h'], ['y'])], parameters: { w: [3, 1, 1] } },
      1,
    );
    await expect(openTfjsEngine(part)).rejects.toThrow(ModelError);
    await expect(openTfjsEngine(part)).rejects.toThrow('node Erf_y (Erf) cannot be differentiated');
  });
});
