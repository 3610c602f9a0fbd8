// Half precision on small graphs: rounding of constants, where Casts stand, what stays float32 and why.
import { describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import type { ModelProto } from '#onnx';
import { ElementType, floats, graph, ints, model, node, tensor, valueInfo, viewGraph } from '#onnx';
import { clampedHalfBits, halfTensor, vanishesInHalf } from '../../../export/precision/half-values.ts';
import type { TensorRanges } from '../../../export/precision/ranges.ts';
import { toHalf } from '../../../export/precision/to-half.ts';
import { around, convolution, noise, SIDE, silu, tinyDetector } from './nets.ts';
import { difference, run } from './run-both.ts';

const [picture] = noise(1, 3 * SIDE * SIDE, 5) as [Float32Array<ArrayBuffer>];

const because = (made: ReturnType<typeof toHalf>, name: string) =>
  made.keptFloat.find(({ node: label }) => label.startsWith(name))?.because;

function ranging(values: Readonly<Record<string, number>>): TensorRanges {
  const ranges = Object.entries(values).map(
    ([name, high]) => [name, { low: 0, high, lowest: 0, highest: high }] as const,
  );
  return { ranges: new Map(ranges), method: 'min-max', pictures: 9, warnings: [] };
}

/** Two layers; what stands between them is up to the test. */
function between(
  nodes: Parameters<typeof around>[0],
  constants: Parameters<typeof around>[1] = [],
): ModelProto {
  const layers = [
    convolution('images', 'first', [8, 3, 3, 3], 1),
    convolution('x', 'output0', [4, 8, 1, 1], 3),
  ];
  return around(
    [...(layers[0]?.nodes ?? []), ...nodes, ...(layers[1]?.nodes ?? [])],
    [...layers.flatMap(({ initializers }) => initializers), ...constants],
    [1, 3, SIDE, SIDE],
  );
}

describe('constants in half precision', () => {
  it.each([
    [1 + 2 ** -11, 0x3c00], // a tie goes to the even neighbour, below
    [1 + 3 * 2 ** -11, 0x3c02], // and above
    [65504, 0x7bff],
    [70000, 0x7bff],
    [Number.NEGATIVE_INFINITY, 0xfbff],
    [2 ** -24, 0x0001], // the smallest half there is
    [2 ** -26, 0x0000],
    [-(2 ** -15), 0x8200],
  ])('stores %d as the bits %d', (value, bits) => {
    expect(clampedHalfBits(value)).toBe(bits);
  });

  it('keeps name, shape and order', () => {
    const made = halfTensor('w', floats('v', [2, 1], [0.5, -2]));
    expect([made.name, made.dims, made.dataType]).toEqual(['w', [2n, 1n], ElementType.FLOAT16]);
    expect([...new Uint16Array(made.rawData.slice().buffer)]).toEqual([0x3800, 0xc000]);
  });

  it('knows a single number that would vanish', () => {
    expect(vanishesInHalf(floats('epsilon', [], [1e-12]))).toBe(true);
    expect(vanishesInHalf(floats('tenth', [], [0.1]))).toBe(false);
    expect(vanishesInHalf(floats('many', [2], [1e-12, 1]))).toBe(false);
  });
});

describe('a detector in half precision', () => {
  const whole = tinyDetector();
  const made = toHalf(whole);

  it('keeps float32 at its edge and behind the last convolutions', () => {
    const view = viewGraph(made.model);
    expect([...view.graph.input, ...view.graph.output].map(({ name }) => view.elementType(name))).toEqual([
      ElementType.FLOAT,
      ElementType.FLOAT,
    ]);
    expect(made.keptFloat.map(({ node: label }) => label)).toEqual(
      ['bins', 'turned', 'law', 'means', 'distances', 'boxes', 'logits', 'scores', 'output0'].map((name) =>
        expect.stringContaining(`_${name} `),
      ),
    );
    const softmax = view.graph.node.find(({ opType }) => opType === 'Softmax');
    const cast = view.graph.node.find(({ output }) => output[0] === 'sides_float');
    expect(softmax?.input).toEqual(['turned']);
    expect(cast?.opType).toBe('Cast');
  });

  it('has Casts at three places only: the picture and the two last convolutions', () => {
    const casts = made.model.graph?.node.filter(({ opType }) => opType === 'Cast') ?? [];
    expect(casts.map(({ input, output }) => [input[0], output[0]])).toEqual([
      ['images', 'images_half'],
      ['sides', 'sides_float'],
      ['classes', 'classes_float'],
    ]);
  });

  it('stores every weight of its body as half and those of the arithmetic as float32', () => {
    const types = new Map(made.model.graph?.initializer.map(({ name, dataType }) => [name, dataType]));
    expect(types.get('stem.w_half')).toBe(ElementType.FLOAT16);
    expect(types.has('stem.w')).toBe(false);
    expect(types.get('steps')).toBe(ElementType.FLOAT);
  });

  it('answers as the float32 network', async () => {
    const [[before], [after]] = [await run(whole, picture), await run(made.model, picture)];
    const cells = SIDE * SIDE;
    const worst = (from: number, to: number) =>
      Math.max(...Array.from(before!.slice(from, to), (value, at) => Math.abs(value - after![from + at]!)));
    expect(worst(0, 4 * cells)).toBeLessThan(1);
    expect(worst(4 * cells, 7 * cells)).toBeLessThan(0.002);
    expect(worst(0, 7 * cells)).toBeGreaterThan(0); // it is not the same graph
  });

  it('leaves the model that it was given alone', () => {
    expect(whole.graph?.initializer.some(({ dataType }) => dataType === ElementType.FLOAT16)).toBe(false);
    expect(whole.graph?.node.some(({ opType }) => opType === 'Cast')).toBe(false);
  });
});

describe('float32 among halves', () => {
  it('for a Resize holds for its scales alone', async () => {
    const net = between(
      [node('Resize', ['first', 'region', 'twice'], ['x'], { mode: 'nearest' })],
      [floats('region', [0], []), floats('twice', [4], [1, 1, 2, 2])],
    );
    const made = toHalf(net);
    expect(made.keptFloat).toEqual([]);
    expect(viewGraph(made.model).graph.node.find(({ opType }) => opType === 'Resize')?.input).toEqual([
      'first',
      'region',
      'twice',
    ]);
    expect(await difference(net, made.model, picture)).toBeLessThan(0.01);
  });

  it('holds for nodes whose tensors were measured beyond the limit', async () => {
    const net = between(silu('first', 'x'));
    const made = toHalf(net, { ranges: ranging({ 'first.gate': 1, first: 9000, images: 1 }) });
    expect(made.keptFloat.map(({ node: label }) => label)).toEqual([
      'Conv_first (Conv)',
      'Sigmoid_x.gate (Sigmoid)',
      'Mul_x (Mul)',
    ]);
    expect(because(made, 'Conv_first')).toBe('first reached 9.00e+3, more than 8188');
    expect(toHalf(net, { ranges: ranging({ first: 9000 }), limit: 10_000 }).keptFloat).toEqual([]);
    expect(await difference(net, made.model, picture)).toBeLessThan(0.01);
  });

  it('holds for constants beyond the halves and for single numbers that would vanish, not for bounds', () => {
    const net = between(
      [
        node('Mul', ['first', 'huge'], ['a']),
        node('Add', ['a', 'epsilon'], ['b']),
        node('Clip', ['b', '', 'most'], ['x']),
      ],
      [floats('huge', [], [1e6]), floats('epsilon', [], [1e-12]), floats('most', [], [3e38])],
    );
    const made = toHalf(net);
    expect(because(made, 'Mul_a')).toBe('constant huge exceeds 65504');
    expect(because(made, 'Add_b')).toBe('constant epsilon is too small for a half');
    expect(because(made, 'Clip_x')).toBeUndefined();
  });

  it('holds for arithmetic on sizes', () => {
    const net = between(
      [
        node('Shape', ['first'], ['sizes']),
        node('Cast', ['sizes'], ['real'], { to: BigInt(ElementType.FLOAT) }),
        node('Mul', ['real', 'factors'], ['larger']),
        node('Cast', ['larger'], ['wanted'], { to: BigInt(ElementType.INT64) }),
        node('Resize', ['first', '', '', 'wanted'], ['x'], { mode: 'nearest' }),
      ],
      [floats('factors', [4], [1, 1, 2, 2])],
    );
    const made = toHalf(net);
    expect(because(made, 'Mul_larger')).toBe('computes with sizes');
    expect(because(made, 'Resize_x')).toBeUndefined();
  });

  it('holds for nodes that are named', () => {
    const made = toHalf(between(silu('first', 'x')), { keep: ['Conv_first'] });
    expect(because(made, 'Conv_first')).toBe('was asked for');
  });

  it('gives a tensor with a declared type the new one', () => {
    const net = between(silu('first', 'x'));
    const declared = { ...net.graph!, valueInfo: [valueInfo('x', ElementType.FLOAT, [1, 8, SIDE, SIDE])] };
    const made = toHalf({ ...net, graph: declared });
    expect(viewGraph(made.model).elementType('x')).toBe(ElementType.FLOAT16);
    expect(viewGraph(made.model).shape('x')).toEqual([1, 8, SIDE, SIDE]);
  });
});

describe('networks that have no half form', () => {
  it('are refused by the node that stands in the way', () => {
    const unknown = node('Twist', ['first'], ['x']);
    unknown.domain = 'com.example';
    expect(() => toHalf(between([unknown]))).toThrow(/node Twist_x \(com\.example\.Twist\) is not known/);
    const quantised = node('QuantizeLinear', ['first', 'scale', 'zero'], ['x']);
    const constants = [floats('scale', [], [1]), tensor('zero', [], Uint8Array.of(0))];
    expect(() => toHalf(between([quantised], constants))).toThrow(/QuantizeLinear_x .* is quantised/);
  });

  it('are refused where a graph lies inside a node', () => {
    const branch = graph({
      nodes: [node('Identity', ['first'], ['y'])],
      inputs: [],
      outputs: [valueInfo('y', 1)],
    });
    const choice = node('If', ['condition'], ['x']);
    choice.attribute.push({ ...node('A', [], [], { then_branch: 0n }).attribute[0]!, g: branch });
    const net = between([choice], [tensor('condition', [], Uint8Array.of(1), ElementType.BOOL)]);
    expect(() => toHalf(net)).toThrow(/If_x \(If\) holds a graph of its own/);
  });

  it('are refused where nothing works on floats before the outputs', () => {
    const bare = model(
      graph({
        inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 4, 4])],
        outputs: [valueInfo('output0', ElementType.FLOAT)],
        nodes: [node('Reshape', ['images', 'shape'], ['output0'])],
        initializers: [ints('shape', [1, 48])],
      }),
    );
    expect(() => toHalf(bare)).toThrow(ModelError);
  });
});
