// Quantised graphs small enough to dequantise by hand. Inputs lie on the 8-bit grid, so both graphs must agree.
import { describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import {
  dequantise,
  ElementType,
  floats,
  graph,
  ints,
  isQuantised,
  type ModelProto,
  model,
  node,
  tensor,
  tensorNumbers,
  valueInfo,
} from '#onnx';
import { initializerNames, operators, runGraph } from './run-graph.ts';

const scalar = (name: string, value: number) => floats(name, [], [value]);
const byte = (name: string, value: number) => tensor(name, [], Uint8Array.of(value));
const valuesOf = (made: ModelProto, name: string) => {
  const found = made.graph?.initializer.find((initializer) => initializer.name === name);
  if (!found) throw new Error(`no initializer ${name}; there are ${initializerNames(made)}`);
  return tensorNumbers(found);
};

/** Steps of 1 from 0 to 255, so that DynamicQuantizeLinear rounds nothing: 1x1x3x3 with a 0 and a 255. */
const GRID = [0, 10, 20, 30, 255, 50, 60, 70, 80];

/** ConvInteger as dynamic quantisation writes it: 2 filters 1x1x2x2. */
function dynamicConv({
  scale = floats('w_scale', [], [0.5]),
  biasShape = [1, -1, 1, 1],
  bias = floats('c.bias', [2], [100, -100]),
} = {}): ModelProto {
  return model(
    graph({
      nodes: [
        node('DynamicQuantizeLinear', ['x'], ['x_quantized', 'x_scale', 'x_zero_point']),
        node('Reshape', ['c.bias', 'bias_shape'], ['bias_reshaped']),
        node('Mul', ['x_scale', 'w_scale'], ['scales']),
        node('ConvInteger', ['x_quantized', 'c.weight_quantized', 'x_zero_point', 'w_zero'], ['sum'], {
          pads: [1n, 0n, 0n, 0n],
          strides: [1n, 2n],
        }),
        node('Cast', ['sum'], ['sum_float'], { to: BigInt(ElementType.FLOAT) }),
        node('Mul', ['sum_float', 'scales'], ['scaled']),
        node('Add', ['scaled', 'bias_reshaped'], ['y']),
      ],
      inputs: [valueInfo('x', ElementType.FLOAT, [1, 1, 3, 3])],
      outputs: [valueInfo('y', ElementType.FLOAT)],
      initializers: [
        tensor('c.weight_quantized', [2, 1, 2, 2], Uint8Array.of(128, 130, 126, 255, 0, 127, 129, 128)),
        byte('w_zero', 128),
        scale,
        bias,
        ints('bias_shape', biasShape),
      ],
    }),
  );
}

describe('an integer convolution with dynamic quantisation', () => {
  const made = dequantise(dynamicConv());

  it('becomes one Conv with real weights, its bias and its attributes', () => {
    expect(operators(made.model)).toEqual(['Conv']);
    const conv = made.model.graph?.node[0];
    expect(conv?.input).toEqual(['x', 'c.weight', 'c.bias']);
    expect(conv?.output).toEqual(['y']);
    expect(conv?.attribute.map(({ name, ints: values }) => [name, values.map(Number)])).toEqual([
      ['pads', [1, 0, 0, 0]],
      ['strides', [1, 2]],
    ]);
    expect(valuesOf(made.model, 'c.weight')).toEqual([0, 1, -1, 63.5, -64, -0.5, 0.5, 0]);
    expect(initializerNames(made.model).toSorted()).toEqual(['c.bias', 'c.weight']);
  });

  it('says what was done', () => {
    expect(made.replaced).toBe(2);
    expect(made.notes.join()).toMatch(/1 DynamicQuantizeLinear, 1 ConvInteger/);
    expect([isQuantised(dynamicConv()), isQuantised(made.model)]).toEqual([true, false]);
  });

  it('computes what the quantised graph computes', async () => {
    const expected = [
      // Filter 1 at row 0 (padding above): −0 + 63.5·10; then 1·10 − 30 + 63.5·255; then 255 − 60 + 63.5·70. Bias 100.
      100 + 63.5 * 10,
      100 + 10 - 30 + 63.5 * 255,
      100 + 255 - 60 + 63.5 * 70,
      -100 + 0,
      -100 - 0.5 * 10 + 0.5 * 30,
      -100 - 64 * 30 - 0.5 * 255 + 0.5 * 60,
    ];
    const float = await runGraph(made.model, [1, 1, 3, 3], GRID);
    const quantised = await runGraph(dynamicConv(), [1, 1, 3, 3], GRID);
    for (const [index, value] of expected.entries()) {
      expect(float[index]).toBeCloseTo(value, 3);
      expect(quantised[index]).toBeCloseTo(value, 2);
    }
  });

  it('takes one scale a channel', () => {
    const perChannel = dequantise(dynamicConv({ scale: floats('w_scale', [1, 2, 1, 1], [0.5, 2]) }));
    expect(valuesOf(perChannel.model, 'c.weight')).toEqual([0, 1, -1, 63.5, -256, -2, 2, 0]);
  });

  it('refuses a scale that is no factor of a channel', () => {
    const wrong = dynamicConv({ scale: floats('w_scale', [2, 1], [0.5, 2]) });
    expect(() => dequantise(wrong)).toThrow(ModelError);
    expect(() => dequantise(wrong)).toThrow(/ConvInteger_sum \(ConvInteger\) is scaled by w_scale/);
  });

  it('leaves an Add in place that differs from cell to cell', () => {
    const grid = dynamicConv({ bias: floats('c.bias', [2], [1, 2]), biasShape: [1, 1, 2, 1] });
    expect(operators(dequantise(grid).model)).toEqual(['Reshape', 'Conv', 'Add']);
  });
});

describe('an integer matrix product', () => {
  const product = (
    nodes: readonly ReturnType<typeof node>[],
    initializers: Parameters<typeof graph>[0]['initializers'] = [],
  ) =>
    model(
      graph({
        nodes: [node('DynamicQuantizeLinear', ['x'], ['xq', 'xs', 'xz']), ...nodes],
        inputs: [valueInfo('x', ElementType.FLOAT, [2, 2])],
        outputs: [valueInfo('y', ElementType.FLOAT)],
        initializers,
      }),
    );

  it('has one scale a column, and keeps its Add', async () => {
    const made = product(
      [
        node('MatMulInteger', ['xq', 'w_quantized', 'xz', 'wz'], ['sum']),
        node('Cast', ['sum'], ['float'], { to: BigInt(ElementType.FLOAT) }),
        node('Mul', ['xs', 'ws'], ['scales']),
        node('Mul', ['float', 'scales'], ['scaled']),
        node('Add', ['bias', 'scaled'], ['y']),
      ],
      [
        tensor('w_quantized', [2, 2], Int8Array.of(1, 2, -3, 4)),
        tensor('wz', [2], Int8Array.of(0, 1)),
        floats('ws', [2], [0.5, 2]),
        floats('bias', [2], [10, 20]),
      ],
    );
    const { model: float } = dequantise(made);
    expect(operators(float)).toEqual(['MatMul', 'Add']);
    expect(valuesOf(float, 'w')).toEqual([0.5, 2, -1.5, 6]);
    expect(await runGraph(float, [2, 2], [255, 0, 1, 2])).toEqual([137.5, 530, 7.5, 34]);
    expect(await runGraph(made, [2, 2], [255, 0, 1, 2])).toEqual([137.5, 530, 7.5, 34]);
  });

  it('of two computed operands keeps the constant factor behind it', async () => {
    const made = product(
      [
        node('Transpose', ['x'], ['t']),
        node('DynamicQuantizeLinear', ['t'], ['tq', 'ts', 'tz']),
        node('MatMulInteger', ['xq', 'tq', 'xz', 'tz'], ['sum']),
        node('Cast', ['sum'], ['float'], { to: BigInt(ElementType.FLOAT) }),
        node('Mul', ['xs', 'ts'], ['scales']),
        node('Mul', ['float', 'scales'], ['scaled']),
        node('Mul', ['scaled', 'quarter'], ['y']),
      ],
      [scalar('quarter', 0.25)],
    );
    const { model: float } = dequantise(made);
    expect(operators(float)).toEqual(['Transpose', 'MatMul', 'Mul']);
    const expected = [255 * 255, 255, 255, 5].map((value) => value / 4);
    expect(await runGraph(float, [2, 2], [255, 0, 1, 2])).toEqual(expected);
    expect(await runGraph(made, [2, 2], [255, 0, 1, 2])).toEqual(expected);
  });
});

/** x → quantise → dequantise → Conv(dequantised weights and bias) → quantise → dequantise. */
function pairs({ outputZero = 0 } = {}): ModelProto {
  return model(
    graph({
      nodes: [
        node('QuantizeLinear', ['x', 'xs', 'xz'], ['xq']),
        node('DequantizeLinear', ['xq', 'xs', 'xz'], ['xd']),
        node('DequantizeLinear', ['w_quantized', 'ws', 'wz'], ['wd'], { axis: 0n }),
        node('DequantizeLinear', ['b_quantized', 'bs'], ['bd'], { axis: 0n }),
        node('Conv', ['xd', 'wd', 'bd'], ['c'], { kernel_shape: [1n, 1n] }),
        node('QuantizeLinear', ['c', 'cs', 'cz'], ['cq']),
        node('MaxPool', ['cq'], ['mq'], { kernel_shape: [1n, 1n] }),
        node('DequantizeLinear', ['mq', 'cs', 'cz'], ['y']),
      ],
      inputs: [valueInfo('x', ElementType.FLOAT, [1, 1, 1, 2])],
      outputs: [valueInfo('y', ElementType.FLOAT)],
      initializers: [
        scalar('xs', 0.5),
        byte('xz', 0),
        tensor('w_quantized', [2, 1, 1, 1], Int8Array.of(4, -4)),
        floats('ws', [2], [0.25, 0.5]),
        tensor('wz', [2], Int8Array.of(0, 0)),
        tensor('b_quantized', [2], Int32Array.of(8, 16)),
        floats('bs', [2], [0.125, 0.25]),
        scalar('cs', 0.5),
        byte('cz', outputZero),
      ],
    }),
  );
}

describe('pairs of QuantizeLinear and DequantizeLinear', () => {
  it('go, and their constants are real again', () => {
    const { model: float, replaced } = dequantise(pairs({ outputZero: 128 }));
    expect(operators(float)).toEqual(['Conv', 'MaxPool']);
    expect([valuesOf(float, 'w'), valuesOf(float, 'b')]).toEqual([
      [1, -2],
      [1, 4],
    ]);
    expect(replaced).toBe(6);
  });

  it('leave the Relu that the quantised range stood for', async () => {
    const { model: float, notes } = dequantise(pairs());
    expect(operators(float)).toEqual(['Conv', 'Relu', 'MaxPool']);
    expect(notes.join()).toMatch(/1 quantised tensor.*Relu/);
    // Channel 1: x + 1; channel 2: 4 − 2x, never below 0.
    expect(await runGraph(float, [1, 1, 1, 2], [1, 5])).toEqual([2, 6, 2, 0]);
    expect(await runGraph(pairs(), [1, 1, 1, 2], [1, 5])).toEqual([2, 6, 2, 0]);
  });
});

describe('QLinearConv', () => {
  const made = model(
    graph({
      nodes: [
        node('QuantizeLinear', ['x', 'xs', 'xz'], ['xq']),
        node('QLinearConv', ['xq', 'xs', 'xz', 'w_quantized', 'ws', 'wz', 'cs', 'cz', 'b_quantized'], ['cq']),
        node('DequantizeLinear', ['cq', 'cs', 'cz'], ['y']),
      ],
      inputs: [valueInfo('x', ElementType.FLOAT, [1, 1, 1, 2])],
      outputs: [valueInfo('y', ElementType.FLOAT)],
      initializers: [
        scalar('xs', 0.5),
        byte('xz', 100),
        tensor('w_quantized', [2, 1, 1, 1], Int8Array.of(4, -4)),
        floats('ws', [2], [0.25, 0.5]),
        tensor('wz', [2], Int8Array.of(0, 0)),
        tensor('b_quantized', [2], Int32Array.of(8, 16)),
        scalar('cs', 0.5),
        byte('cz', 128),
      ],
    }),
  );

  it('becomes Conv with its bias in real numbers', async () => {
    const { model: float } = dequantise(made);
    expect(operators(float)).toEqual(['Conv']);
    expect(valuesOf(float, 'b')).toEqual([1, 4]);
    expect(await runGraph(float, [1, 1, 1, 2], [1, 5])).toEqual([2, 6, 2, -6]);
    expect(await runGraph(made, [1, 1, 1, 2], [1, 5])).toEqual([2, 6, 2, -6]);
  });
});

describe('what cannot be taken back', () => {
  const refused = (nodes: readonly ReturnType<typeof node>[]) => () =>
    dequantise(
      model(
        graph({
          nodes: [node('DynamicQuantizeLinear', ['x'], ['xq', 'xs', 'xz']), ...nodes],
          inputs: [valueInfo('x', ElementType.FLOAT, [2, 2])],
          outputs: [valueInfo('y', ElementType.FLOAT)],
          initializers: [tensor('w', [2, 2], Int8Array.of(1, 2, 3, 4)), scalar('s', 1)],
        }),
      ),
    );

  it('is named with its operator', () => {
    const fused = node('DynamicQuantizeMatMul', ['x', 'w', 's'], ['y']);
    fused.domain = 'com.microsoft';
    expect(refused([fused])).toThrow(/DynamicQuantizeMatMul_y \(com\.microsoft\.DynamicQuantizeMatMul\)/);
  });

  it('is an integer product without its scales', () => {
    expect(refused([node('MatMulInteger', ['xq', 'w', 'xz'], ['y'])])).toThrow(
      /MatMulInteger_y \(MatMulInteger\) is not followed by a Cast/,
    );
  });

  it('is an operator on the integers themselves', () => {
    expect(refused([node('Cast', ['xq'], ['y'], { to: BigInt(ElementType.FLOAT) })])).toThrow(
      /Cast_y \(Cast\) works on quantised numbers/,
    );
  });

  it('is a scale that the network reads', () => {
    expect(refused([node('Mul', ['xs', 's'], ['y'])])).toThrow(/Mul_y \(Mul\) reads xs, which is not made/);
  });
});

it('gives a float model back as it is', () => {
  const float = dequantise(pairs()).model;
  const again = dequantise(float);
  expect(again.model).toBe(float);
  expect([again.replaced, again.notes]).toEqual([0, []]);
});
