// Bytes in a small network: what the runtime makes of them, what stays float, and how far the numbers move.
import { beforeAll, describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import type { ModelProto } from '#onnx';
import { attributeInt, ElementType, floats, ints, node, tensorNumbers, valueInfo, viewGraph } from '#onnx';
import { type QuantisedModel, quantise } from '../../../export/precision/quantise.ts';
import { measureRanges, type TensorRanges } from '../../../export/precision/ranges.ts';
import { operators } from '../../onnx/passes/run-graph.ts';
import { around, CHANNELS, convolution, noise, SIDE, silu, tinyDetector, weights } from './nets.ts';
import { difference, executed, run } from './run-both.ts';

const LENGTH = 3 * SIDE * SIDE;
const pictures = noise(12, LENGTH, 3);
const [fresh] = noise(1, LENGTH, 99) as [Float32Array<ArrayBuffer>];
const seen = pictures[0] as Float32Array<ArrayBuffer>;
const detector = tinyDetector();

/** Inputs of a QLinearConv that the profile counts where a bias is among them; 7 where there is none (tested below). */
const WITH_BIAS = 8;

/** Root of the mean square error over that of the mean square. */
function relativeError(before: Float32Array, after: Float32Array): number {
  const square = (values: Iterable<number>) => [...values].reduce((sum, value) => sum + value * value, 0);
  return Math.sqrt(square(before.map((value, index) => value - after[index]!)) / square(before));
}

function withoutMeans(measured: TensorRanges): TensorRanges {
  const ranges = [...measured.ranges].map(([name, { low, high, lowest, highest }]) => {
    return [name, { low, high, lowest, highest }] as const;
  });
  return { ...measured, ranges: new Map(ranges) };
}

function initializer(model: ModelProto, ending: string) {
  const found = model.graph?.initializer.find(({ name }) => name.endsWith(ending));
  if (!found) throw new Error(`no initializer ends in ${ending}`);
  return found;
}

describe('placement cpu', () => {
  let ranges: TensorRanges;
  let made: QuantisedModel;
  beforeAll(async () => {
    ranges = await measureRanges(detector, pictures, { method: 'min-max' });
    made = quantise(detector, { placement: 'cpu', ranges });
  });

  it('makes the runtime fuse every convolution before the last ones, biases inside', async () => {
    const ran = await executed(made.model, fresh);
    expect(ran.get('QLinearConv')).toEqual([WITH_BIAS, WITH_BIAS]);
    expect(ran.get('QLinearAdd')).toHaveLength(1);
    expect(ran.get('QLinearConcat')).toHaveLength(1);
    expect(ran.get('QLinearSigmoid')).toHaveLength(2);
    expect(ran.get('QLinearMul')).toHaveLength(2);
    expect(ran.get('QuantizeLinear')).toHaveLength(1); // behind the first layer
  });

  it('keeps the last convolutions, the mean of the distribution and what follows in float', async () => {
    expect(made.quantised).toEqual(['Conv_inner (Conv)', 'Conv_fuse (Conv)']);
    expect(made.keptFloat).toEqual([
      { node: 'Conv_stem (Conv)', because: 'reads 3 channels, too few to gain from bytes' },
      { node: 'Conv_sides (Conv)', because: 'is the last convolution of its branch' },
      { node: 'Conv_classes (Conv)', because: 'is the last convolution of its branch' },
      { node: 'Conv_means (Conv)', because: 'is part of the arithmetic behind the head' },
    ]);
    const view = viewGraph(made.model);
    for (const name of ['law', 'distances', 'scores']) {
      expect(view.consumers(name).map(({ opType }) => opType)).not.toContain('QuantizeLinear');
    }
  });

  it('answers nearly as the float network', async () => {
    const [[before], [after]] = [await run(detector, fresh), await run(made.model, fresh)];
    const cells = SIDE * SIDE;
    const worst = (from: number, to: number) =>
      Math.max(
        ...Array.from(before!.slice(from, to), (value, index) => Math.abs(value - after![from + index]!)),
      );
    expect(worst(0, 4 * cells)).toBeLessThan(200 * 0.05); // boxes reach 600
    expect(worst(4 * cells, 7 * cells)).toBeLessThan(0.03);
  });

  it('stores weights as int8 with a scale per output channel, biases as int32', () => {
    const view = viewGraph(made.model);
    const conv = view.graph.node.find(({ name }) => name === 'Conv_inner');
    const [, weightReader, biasReader] = (conv?.input ?? []).map((name) => view.producer(name));
    expect(attributeInt(weightReader!, 'axis')).toBe(0);
    const stored = view.constant(weightReader?.input[0] ?? '');
    expect(stored?.dataType).toBe(ElementType.INT8);
    expect(view.constant(weightReader?.input[1] ?? '')?.dims).toEqual([BigInt(CHANNELS)]);
    expect(view.constant(biasReader?.input[0] ?? '')?.dataType).toBe(ElementType.INT32);
    const step = tensorNumbers(view.constant(biasReader?.input[1] ?? '')!);
    const weightScale = tensorNumbers(view.constant(weightReader?.input[1] ?? '')!);
    const inputScale = tensorNumbers(initializer(made.model, 'a_scale'))[0]!;
    const ratios = step.map((value, channel) => value / (inputScale * weightScale[channel]!));
    for (const ratio of ratios) expect(ratio).toBeCloseTo(1, 5);
  });

  it('is nearer on average for the biases that take the shift of rounded weights away', async () => {
    const shiftOf = async (model: ModelProto) => {
      const stem = async (of: ModelProto) => {
        const output = [...(of.graph?.output ?? []), valueInfo('inner', ElementType.FLOAT)];
        const [, values] = await run({ ...of, graph: { ...of.graph!, output } }, seen);
        return values!;
      };
      const [before, after] = [await stem(detector), await stem(model)];
      const cells = SIDE * SIDE;
      return Array.from({ length: CHANNELS }, (_, channel) => {
        let sum = 0;
        for (let at = channel * cells; at < (channel + 1) * cells; at++) sum += after[at]! - before[at]!;
        return Math.abs(sum / cells);
      }).reduce((sum, value) => sum + value, 0);
    };
    const plain = quantise(detector, { placement: 'cpu', ranges: withoutMeans(ranges) });
    expect(await shiftOf(made.model)).toBeLessThan(0.8 * (await shiftOf(plain.model)));
  });

  it('has 7-bit weights, which no processor cuts off, unless 8 bits are asked for', () => {
    const largest = (model: ModelProto) =>
      Math.max(...tensorNumbers(initializer(model, 'inner.w_quantised')).map(Math.abs));
    expect(largest(made.model)).toBe(63);
    expect(largest(quantise(detector, { placement: 'cpu', ranges, weightBits: 8 }).model)).toBe(127);
  });

  it('spends no levels on what SiLU sends to 0', async () => {
    const wide = {
      ...ranges,
      ranges: new Map(ranges.ranges).set('fuse', { low: -100, high: 10, lowest: -100, highest: 10 }),
    };
    const { model } = quantise(detector, { placement: 'cpu', ranges: wide });
    expect(tensorNumbers(initializer(model, 'fuse_scale'))[0]).toBeCloseTo(18 / 255, 6);
  });

  it('leaves a convolution float that is named', () => {
    const kept = quantise(detector, { placement: 'cpu', ranges, keep: ['Conv_fuse'] }).keptFloat;
    expect(kept[1]).toEqual({ node: 'Conv_fuse (Conv)', because: 'was asked for' });
  });

  it('refuses ranges of another graph, a quantised model, and one without a convolution to quantise', async () => {
    const none = { ...ranges, ranges: new Map() };
    expect(() => quantise(detector, { placement: 'cpu', ranges: none })).toThrow(
      /no range was measured for tensor a/,
    );
    expect(() => quantise(made.model, { placement: 'cpu', ranges })).toThrow(ModelError);
    const layer = convolution('images', 'output0', [4, 3, 1, 1], 1);
    const single = around(layer.nodes, layer.initializers, [1, 3, 8, 8]);
    expect(() => quantise(single, { placement: 'cpu', ranges })).toThrow(
      /output0 \(Conv\) is the last convolution/,
    );
  });
});

describe('placement cpu, operator by operator', () => {
  const wide = noise(12, CHANNELS * SIDE * SIDE, 3);
  const seen = wide[0] as Float32Array<ArrayBuffer>;
  const last = convolution('end', 'output0', [4, CHANNELS, 1, 1], 50);
  const first = convolution('images', 'first', [CHANNELS, CHANNELS, 3, 3], 40);
  const second = (from: string) => convolution(from, 'second', [CHANNELS, CHANNELS, 3, 3], 44);

  async function between(
    nodes: Parameters<typeof around>[0],
    constants: Parameters<typeof around>[1] = [],
    { from = 'x', opset = 17, layer = second(from), means = true } = {},
  ) {
    const net = around(
      [...first.nodes, ...nodes, ...layer.nodes, node('Relu', ['second'], ['end']), ...last.nodes],
      [...first.initializers, ...layer.initializers, ...last.initializers, ...constants],
      [1, CHANNELS, SIDE, SIDE],
      opset,
    );
    const measured = await measureRanges(net, wide, { method: 'min-max' });
    const ranges = means ? measured : withoutMeans(measured);
    const made = quantise(net, { placement: 'cpu', ranges });
    const [[before], [after]] = [await run(net, seen), await run(made.model, seen)];
    return { ran: await executed(made.model, seen), error: relativeError(before!, after!), made };
  }

  it.each([
    ['Relu', [node('Relu', ['first'], ['x'])], []],
    [
      'Clip',
      [node('Clip', ['first', 'low', 'high'], ['x'])],
      [floats('low', [], [0]), floats('high', [], [6])],
    ],
  ])('lets the bytes of the convolution before it be the bounds of %s', async (name, nodes, constants) => {
    const { ran, error } = await between(nodes, constants);
    expect(ran.get('QLinearConv')).toHaveLength(2);
    expect(ran.has(name)).toBe(false);
    expect(error).toBeLessThan(0.03);
  });

  it.each([
    ['NhwcMaxPool', node('MaxPool', ['first'], ['x'], { kernel_shape: [5n, 5n], pads: [2n, 2n, 2n, 2n] })],
    ['Resize', node('Resize', ['first', 'region', 'twice'], ['x'], { mode: 'nearest' })],
    ['Slice', node('Slice', ['first', 'starts', 'ends', 'axes'], ['x'])],
    ['Transpose', node('Transpose', ['first'], ['x'], { perm: [0n, 1n, 3n, 2n] })],
  ])('moves bytes through %s', async (name, moving) => {
    const { ran, error } = await between(
      [moving],
      [
        floats('region', [0], []),
        floats('twice', [4], [1, 1, 2, 2]),
        ints('starts', [2]),
        ints('ends', [14]),
        ints('axes', [2]),
      ],
    );
    expect(ran.get('QLinearConv')).toHaveLength(2);
    expect(ran.has(name)).toBe(true);
    expect(ran.get('QuantizeLinear')).toHaveLength(1);
    expect(error).toBeLessThan(0.03);
  });

  it('splits bytes and joins them again', async () => {
    const { ran, error } = await between([
      node('Split', ['first'], ['p', 'q'], { axis: 1n }),
      node('Concat', ['q', 'p'], ['x'], { axis: 1n }),
    ]);
    expect(ran.get('QuantizeLinear')).toHaveLength(1);
    expect(ran.get('QLinearConcat')).toHaveLength(1);
    expect(error).toBeLessThan(0.03);
  });

  it('quantises a convolution without a bias', async () => {
    const whole = second('first');
    const [biased] = whole.nodes;
    const layer = {
      ...whole,
      nodes: [node('Conv', ['x', 'second.w'], ['second'], { pads: [1n, 1n, 1n, 1n] })],
    };
    expect(biased?.input).toHaveLength(3);
    const { ran, error } = await between(silu('first', 'x'), [], { layer });
    // It gets one, which takes away what the rounding of its weights adds on average.
    expect(ran.get('QLinearConv')).toEqual([WITH_BIAS, WITH_BIAS]);
    const { ran: bare } = await between(silu('first', 'x'), [], { layer, means: false });
    expect(bare.get('QLinearConv')).toEqual([WITH_BIAS, WITH_BIAS - 1]);
    expect(error).toBeLessThan(0.03);
  });

  it('gives a depthwise convolution a scale per channel', async () => {
    const layer = convolution('x', 'second', [CHANNELS, 1, 3, 3], 44, CHANNELS);
    const { ran, error, made } = await between(silu('first', 'x'), [], { layer });
    expect(ran.get('QLinearConv')).toEqual([WITH_BIAS, WITH_BIAS]);
    expect(initializer(made.model, 'second.w_scale').dims).toEqual([BigInt(CHANNELS)]);
    expect(error).toBeLessThan(0.03);
    expect(made.notes).toEqual([expect.stringContaining('1 of 3 convolutions are depthwise')]);
  });

  it('raises an old opset and folds batch normalisation', async () => {
    const statistics = ['scale', 'shift', 'mean', 'variance'].map((name, index) =>
      floats(
        name,
        [CHANNELS],
        Array.from({ length: CHANNELS }, (_, channel) => 0.5 + ((channel + index) % 3)),
      ),
    );
    const { ran, error, made } = await between(
      [
        node('BatchNormalization', ['first', 'scale', 'shift', 'mean', 'variance'], ['normal']),
        node('Relu', ['normal'], ['cut']),
        node('Slice', ['cut'], ['x'], { starts: [1n], ends: [15n], axes: [2n] }),
      ],
      statistics,
      { opset: 9 },
    );
    expect(made.model.opsetImport[0]?.version).toBe(17n);
    expect(ran.get('QLinearConv')).toHaveLength(2);
    expect(operators(made.model)).not.toContain('BatchNormalization');
    expect(error).toBeLessThan(0.03);
  });

  it('leaves an operator float that has no 8-bit form, and goes on behind it', async () => {
    const { ran, error } = await between([node('HardSwish', ['first'], ['x'])]);
    expect(ran.get('QLinearConv')).toHaveLength(2);
    expect(ran.get('QuantizeLinear')).toHaveLength(2);
    expect(error).toBeLessThan(0.03);
  });
});

describe('placement tensorrt', () => {
  let ranges: TensorRanges;
  let made: QuantisedModel;
  beforeAll(async () => {
    ranges = await measureRanges(detector, pictures, { method: 'min-max' });
    made = quantise(detector, { placement: 'tensorrt', ranges });
  });

  it('puts scales in front of convolutions and of the shortcut, and nowhere else', () => {
    const view = viewGraph(made.model);
    const quantised = view.graph.node
      .filter(
        ({ opType, input }) => opType === 'QuantizeLinear' && view.constant(input[0] ?? '') === undefined,
      )
      .map(({ input }) => input[0]);
    expect(quantised).toEqual(['images', 'a', 'joined']);
    expect(view.graph.node.find(({ name }) => name === 'Add_sum')?.input).toEqual(['a_dequantised', 'b']);
    expect(view.graph.node.find(({ name }) => name === 'Concat_joined')?.input).toEqual(['a', 'sum']);
    expect(view.graph.node.find(({ name }) => name === 'Conv_inner')?.output).toEqual(['inner']);
  });

  it('stores int8 activations with zero point 0, float weights behind Q and DQ, float biases', () => {
    const view = viewGraph(made.model);
    for (const { opType, input } of view.graph.node) {
      if (opType !== 'QuantizeLinear' && opType !== 'DequantizeLinear') continue;
      const zero = view.constant(input[2] ?? '');
      expect(zero?.dataType).toBe(ElementType.INT8);
      expect(tensorNumbers(zero!).every((value) => value === 0)).toBe(true);
    }
    const conv = view.graph.node.find(({ name }) => name === 'Conv_inner');
    const reader = view.producer(conv?.input[1] ?? '');
    const maker = view.producer(reader?.input[0] ?? '');
    expect([reader?.opType, maker?.opType]).toEqual(['DequantizeLinear', 'QuantizeLinear']);
    expect(view.constant(maker?.input[0] ?? '')?.dataType).toBe(ElementType.FLOAT);
    expect(view.constant(conv?.input[2] ?? '')?.dataType).toBe(ElementType.FLOAT);
  });

  it('stores int8 weights where they are asked for, and answers the same', async () => {
    const small = quantise(detector, { placement: 'tensorrt', ranges, weightStorage: 'int8' });
    expect(operators(small.model).filter((name) => name === 'QuantizeLinear')).toHaveLength(3);
    expect(await difference(made.model, small.model, fresh)).toBeLessThan(1e-3);
  });

  it('gives a concatenation and those of its inputs that are quantised one scale', () => {
    const { graph } = made.model;
    const view = viewGraph(made.model);
    const scaleOf = (name: string) =>
      tensorNumbers(
        view.constant(
          graph?.node.find(({ opType, input }) => opType === 'QuantizeLinear' && input[0] === name)
            ?.input[1] ?? '',
        )!,
      )[0];
    expect(scaleOf('a')).toBe(scaleOf('joined'));
  });

  it('leaves convolutions of few channels float', async () => {
    const layers = [
      convolution('images', 'odd', [10, 3, 3, 3], 1),
      convolution('odd', 'narrow', [CHANNELS, 10, 1, 1], 3),
      convolution('narrow', 'output0', [4, CHANNELS, 1, 1], 5),
    ];
    const net = around(
      layers.flatMap(({ nodes }) => nodes),
      layers.flatMap(({ initializers }) => initializers),
      [1, 3, SIDE, SIDE],
    );
    const { keptFloat, quantised } = quantise(net, {
      placement: 'tensorrt',
      ranges: await measureRanges(net, pictures, { method: 'min-max' }),
    });
    expect(keptFloat[0]).toEqual({
      node: 'Conv_odd (Conv)',
      because: expect.stringContaining('too few channels'),
    });
    expect(quantised).toEqual(['Conv_narrow (Conv)']);
  });

  it('scales a transposed convolution along its second axis', async () => {
    const [first, last] = [
      convolution('images', 'first', [CHANNELS, 3, 3, 3], 1),
      convolution('up', 'output0', [4, 24, 1, 1], 5),
    ];
    const net = around(
      [
        ...first.nodes,
        node('ConvTranspose', ['first', 'up.w'], ['up'], { kernel_shape: [2n, 2n], strides: [2n, 2n] }),
        ...last.nodes,
      ],
      [...first.initializers, weights('up.w', [CHANNELS, 24, 2, 2], 8), ...last.initializers],
      [1, 3, SIDE, SIDE],
    );
    const ranges = await measureRanges(net, pictures, { method: 'min-max' });
    // 7 bits, since the CPU that stands in for the GPU may take pairs of Q and DQ for 8-bit layers of its own.
    const { model, quantised } = quantise(net, { placement: 'tensorrt', ranges, weightBits: 7 });
    expect(quantised).toContain('ConvTranspose_up (ConvTranspose)');
    const view = viewGraph(model);
    const up = view.graph.node.find(({ opType }) => opType === 'ConvTranspose');
    const reader = view.producer(up?.input[1] ?? '');
    expect(attributeInt(reader!, 'axis')).toBe(1);
    expect(view.constant(reader?.input[1] ?? '')?.dims).toEqual([24n]);
    const [[before], [after]] = [await run(net, seen), await run(model, seen)];
    expect(relativeError(before!, after!)).toBeLessThan(0.03);
  });
});
