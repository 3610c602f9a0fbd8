// Every operator's gradient against central differences of a float64 interpreter, through the real engine.
import { describe, expect, it } from 'vitest';
import { floats, ints, node } from '#onnx';
import { openTfjsEngine } from '../../../training/engines/tfjs/engine.ts';
import { differences, makePart, makeTensors, type PartSpec, relativeError } from './parts.ts';

/** x·w, so that every input of the node under test depends on parameters and varies along all axes. */
const scaled = node('Mul', ['x', 'w'], ['h']);
const all = { w: [1, 3, 5, 4] };

/** One node between `h` and `y`. */
function one(
  opType: string,
  attributes = {},
  more: readonly string[] = [],
  rest: Partial<PartSpec> = {},
): PartSpec {
  return { nodes: [scaled, node(opType, ['h', ...more], ['y'], attributes)], parameters: all, ...rest };
}

function conv(
  weight: readonly number[],
  attributes = {},
  input: readonly number[] = [3, 5, 4],
  bias = false,
): PartSpec {
  const names = bias ? ['h', 'k', 'b'] : ['h', 'k'];
  return {
    nodes: [scaled, node('Conv', names, ['y'], attributes)],
    inputs: { x: input },
    parameters: { w: [1, ...input], k: weight, ...(bias ? { b: [weight[0]!] } : {}) },
  };
}

const pads = (...values: number[]) => ({ pads: values.map(BigInt) });
const stride = (...values: number[]) => ({ strides: values.map(BigInt) });
const kernel = (...values: number[]) => ({ kernel_shape: values.map(BigInt) });
const batchNorm = node('BatchNormalization', ['h', 'gamma', 'beta', 'm', 'v'], ['y'], { epsilon: 1e-3 });
const statistics = [floats('m', [3], [0.1, -0.2, 0.3]), floats('v', [3], [0.5, 1, 2])];
const withNorm = { w: [1, 3, 5, 4], gamma: [3], beta: [3] };
const silu = [node('Sigmoid', ['h'], ['s']), node('Mul', ['h', 's'], ['y'])];
const resize = (mode: string, nearest: string, scale = 2) =>
  one(
    'Resize',
    { mode: 'nearest', coordinate_transformation_mode: mode, nearest_mode: nearest },
    ['', 'scales'],
    { constants: [floats('scales', [4], [1, 1, scale, scale])] },
  );

const cases: Readonly<Record<string, PartSpec>> = {
  'Conv 3x3 pad 1': conv([4, 3, 3, 3], pads(1, 1, 1, 1)),
  'Conv 3x3 with bias': conv([4, 3, 3, 3], pads(1, 1, 1, 1), [3, 5, 4], true),
  'Conv 1x1': conv([4, 3, 1, 1]),
  'Conv 1x1 stride 2': conv([4, 3, 1, 1], stride(2, 2)),
  'Conv 3x3 stride 2 odd size': conv([4, 3, 3, 3], { ...pads(1, 1, 1, 1), ...stride(2, 2) }, [3, 7, 5]),
  'Conv 3x3 stride 2 even size': conv([4, 3, 3, 3], { ...pads(1, 1, 1, 1), ...stride(2, 2) }, [3, 6, 8]),
  'Conv 3x3 stride 3 that leaves a border': conv([2, 2, 3, 3], stride(3, 3), [2, 8, 7]),
  'Conv 2x2 stride 2 that leaves a row': conv([2, 2, 2, 2], stride(2, 2), [2, 5, 7]),
  'Conv 5x3 unequal strides': conv([2, 2, 5, 3], { ...pads(2, 0, 1, 2), ...stride(1, 2) }, [2, 6, 6]),
  'Conv pads asymmetric': conv([4, 3, 3, 3], pads(0, 2, 1, 0)),
  'Conv pads wider than the kernel': conv([2, 3, 1, 1], pads(1, 2, 0, 1)),
  'Conv auto_pad SAME_UPPER stride 2': conv(
    [2, 3, 3, 3],
    { auto_pad: 'SAME_UPPER', ...stride(2, 2) },
    [3, 6, 5],
  ),
  'Conv auto_pad SAME_LOWER stride 2': conv(
    [2, 3, 3, 3],
    { auto_pad: 'SAME_LOWER', ...stride(2, 2) },
    [3, 6, 5],
  ),
  'Conv grouped': conv([6, 2, 3, 3], { group: 2n, ...pads(1, 1, 1, 1) }, [4, 5, 4]),
  'Conv grouped stride 2': conv([6, 2, 3, 3], { group: 2n, ...pads(1, 1, 1, 1), ...stride(2, 2) }, [4, 5, 4]),
  'Conv depthwise': conv([3, 1, 3, 3], { group: 3n, ...pads(1, 1, 1, 1) }),
  'Conv depthwise with multiplier': conv([6, 1, 3, 3], { group: 3n, ...pads(1, 1, 1, 1) }),
  'Conv depthwise 5x5 stride 2': conv(
    [3, 1, 5, 5],
    { group: 3n, ...pads(2, 2, 2, 2), ...stride(2, 2) },
    [3, 7, 6],
  ),
  'BatchNormalization of the batch': {
    nodes: [scaled, batchNorm],
    parameters: withNorm,
    constants: statistics,
    normalizations: [['m', 'v']],
  },
  'BatchNormalization frozen': { nodes: [scaled, batchNorm], parameters: withNorm, constants: statistics },
  SiLU: { nodes: [scaled, ...silu], parameters: all },
  'SiLU written the other way round': {
    nodes: [scaled, node('Sigmoid', ['h'], ['s']), node('Mul', ['s', 'h'], ['y'])],
    parameters: all,
  },
  'SiLU whose sigmoid is read elsewhere too': {
    nodes: [
      scaled,
      node('Sigmoid', ['h'], ['s']),
      node('Mul', ['h', 's'], ['p']),
      node('Add', ['p', 's'], ['y']),
    ],
    parameters: all,
  },
  Relu: one('Relu'),
  LeakyRelu: one('LeakyRelu', { alpha: 0.1 }),
  'LeakyRelu by default': one('LeakyRelu'),
  HardSwish: one('HardSwish'),
  'HardSwish by parts': {
    nodes: [scaled, node('HardSigmoid', ['h'], ['s'], { alpha: 1 / 6 }), node('Mul', ['h', 's'], ['y'])],
    parameters: all,
  },
  HardSigmoid: one('HardSigmoid', { alpha: 0.3, beta: 0.4 }),
  Sigmoid: one('Sigmoid'),
  Tanh: one('Tanh'),
  Softplus: one('Softplus'),
  Exp: one('Exp'),
  Clip: one('Clip', {}, ['low', 'high'], {
    constants: [floats('low', [], [-0.4]), floats('high', [], [0.3])],
  }),
  'Clip of opset 6': one('Clip', { min: -0.2, max: 0.4 }, [], { opset: 10 }),
  'Softmax over channels': one('Softmax', { axis: 1n }),
  'Softmax over the last axis': one('Softmax', { axis: -1n }),
  'Add of itself': { nodes: [scaled, node('Add', ['h', 'h'], ['y'])], parameters: all },
  'Add with a channel vector': one('Add', {}, ['b'], { parameters: { ...all, b: [3, 1, 1] } }),
  'Sub both sides': one('Sub', {}, ['b'], { parameters: { ...all, b: [1, 5, 1] } }),
  'Mul by a mask': {
    nodes: [scaled, node('Mul', ['h', 'mask'], ['y'])],
    inputs: { x: [3, 5, 4], mask: [3, 1, 1] },
    parameters: all,
  },
  'Mul by a scalar parameter': one('Mul', {}, ['b'], { parameters: { ...all, b: [] } }),
  'Div both sides': one('Div', {}, ['gamma'], { parameters: { ...all, gamma: [3, 1, 4] } }),
  'Concat of channels': {
    nodes: [scaled, node('Concat', ['h', 'x', 'h'], ['c'], { axis: 1n }), node('Relu', ['c'], ['y'])],
    parameters: all,
  },
  'Concat of the last axis': {
    nodes: [scaled, node('Tanh', ['h'], ['t']), node('Concat', ['h', 't'], ['y'], { axis: -1n })],
    parameters: all,
  },
  'Split, one part unused': {
    nodes: [scaled, node('Split', ['h', 'sizes'], ['a', 'b'], { axis: 1n }), node('Tanh', ['b'], ['y'])],
    parameters: all,
    constants: [ints('sizes', [1, 2])],
  },
  'Split of opset 11': {
    nodes: [
      scaled,
      node('Split', ['h'], ['y', 'b'], { axis: 3n, split: [1n, 3n] }),
      node('Tanh', ['b'], ['z']),
    ],
    parameters: all,
    outputs: ['y', 'z'],
    opset: 11,
  },
  Slice: one('Slice', {}, ['from', 'to', 'axes'], {
    constants: [ints('from', [1, -3]), ints('to', [1000, -1]), ints('axes', [1, 2])],
  }),
  'Slice with steps': one('Slice', {}, ['from', 'to', 'axes', 'steps'], {
    constants: [ints('from', [0, 1]), ints('to', [5, 4]), ints('axes', [2, 3]), ints('steps', [2, 2])],
  }),
  'Slice backwards': one('Slice', {}, ['from', 'to', 'axes', 'steps'], {
    constants: [ints('from', [-1, 3]), ints('to', [-100, 0]), ints('axes', [2, 3]), ints('steps', [-2, -1])],
  }),
  Pad: one('Pad', {}, ['pads'], { constants: [ints('pads', [0, 0, 1, 2, 0, 0, 0, 1])] }),
  'Reshape and Transpose': {
    nodes: [
      scaled,
      node('Reshape', ['h', 'to'], ['r']),
      node('Transpose', ['r'], ['t'], { perm: [0n, 2n, 1n] }),
      node('Tanh', ['t'], ['y']),
    ],
    parameters: all,
    constants: [ints('to', [0, 3, -1])],
  },
  Flatten: one('Flatten', { axis: 1n }),
  'Unsqueeze and Squeeze of opset 11': {
    nodes: [
      scaled,
      node('Unsqueeze', ['h'], ['u'], { axes: [1n] }),
      node('Tanh', ['u'], ['t']),
      node('Squeeze', ['t'], ['y'], { axes: [1n] }),
    ],
    parameters: all,
    opset: 11,
  },
  'Resize asymmetric floor': resize('asymmetric', 'floor'),
  'Resize half_pixel round_prefer_floor': resize('half_pixel', 'round_prefer_floor'),
  'Resize by 3': resize('half_pixel', 'round_prefer_ceil', 3),
  'MaxPool 2x2 stride 2': one('MaxPool', { ...kernel(2, 2), ...stride(2, 2) }),
  'MaxPool 5x5 stride 1 as in SPPF': one('MaxPool', { ...kernel(5, 5), ...pads(2, 2, 2, 2) }),
  'MaxPool 3x3 stride 2 ceil': one('MaxPool', { ...kernel(3, 3), ...stride(2, 2), ceil_mode: 1n }),
  'AveragePool 2x2': one('AveragePool', { ...kernel(2, 2), ...stride(2, 2) }),
  'AveragePool 3x3 with pads': one('AveragePool', { ...kernel(3, 3), ...pads(1, 1, 1, 1) }),
  'AveragePool 3x3 counting pads': one('AveragePool', {
    ...kernel(3, 3),
    ...pads(1, 1, 1, 1),
    count_include_pad: 1n,
  }),
  GlobalAveragePool: one('GlobalAveragePool'),
  ReduceMean: one('ReduceMean', { axes: [2n, 3n], keepdims: 0n }),
  ReduceSum: one('ReduceSum', { keepdims: 1n }, ['axes'], { constants: [ints('axes', [1])] }),
  'Identity and Dropout': {
    nodes: [
      scaled,
      node('Identity', ['h'], ['i']),
      node('Dropout', ['i'], ['d']),
      node('Tanh', ['d'], ['y']),
    ],
    parameters: all,
  },
  'an output that is read on': {
    nodes: [scaled, node('Tanh', ['h'], ['y']), node('Sigmoid', ['y'], ['z'])],
    parameters: all,
    outputs: ['y', 'z'],
  },
};

async function compare(spec: PartSpec, batch: number): Promise<Record<string, number>> {
  const { part, values } = makePart(spec, batch);
  const inputs = makeTensors(part.inputs, batch, 11);
  const weights = makeTensors(part.outputs, batch, 12);
  const engine = await openTfjsEngine(part, JSON.parse(process.env.TFJS_OPT ?? '{"backend":"wasm"}'));
  try {
    const { state } = await engine.forward(inputs, values, { mode: 'train' });
    const { gradients } = await engine.backward(state!, weights);
    const expected = differences(part, inputs, values, weights);
    return Object.fromEntries(
      [...expected].map(([name, gradient]) => [name, relativeError(gradients.get(name)!, gradient)]),
    );
  } finally {
    await engine.close();
  }
}

describe('gradients against differences in float64', () => {
  for (const [name, spec] of Object.entries(cases)) {
    const batches = /Conv|Batch/.test(name) ? [1, 3] : [2];
    it.each(batches)(`${name}, batch %i`, async (batch) => {
      const errors = await compare(spec, batch);
      for (const [parameter, error] of Object.entries(errors)) expect(error, parameter).toBeLessThan(1e-5);
    });
  }
});
