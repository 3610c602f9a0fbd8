// Shapes of every tensor, against the operator specification and against what the runtime computes.
import { describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import type { NodeProto, TensorProto } from '#onnx';
import { ElementType, floats, graph, inferShapes, ints, loadModelFile, model, node, valueInfo } from '#onnx';
import { testData } from '../support/test-data.ts';

function shapeOf(
  nodes: readonly NodeProto[],
  input: readonly number[],
  constants: readonly TensorProto[] = [],
  opset = 17,
): readonly number[] | undefined {
  const made = model(
    graph({
      nodes,
      inputs: [valueInfo('x', ElementType.FLOAT)],
      outputs: [valueInfo('y', ElementType.FLOAT)],
      initializers: constants,
    }),
    { opset },
  );
  return inferShapes(made, new Map([['x', input]])).get('y');
}

const weight = (...dims: number[]) => floats('w', dims, new Float32Array(dims.reduce((a, b) => a * b, 1)));

describe('inferred shapes', () => {
  it.each([
    [
      'Conv',
      node('Conv', ['x', 'w'], ['y'], { pads: [1n, 1n, 1n, 1n], strides: [2n, 2n] }),
      [2, 3, 7, 8],
      [2, 4, 4, 4],
      [weight(4, 3, 3, 3)],
    ],
    [
      'Conv, dilated',
      node('Conv', ['x', 'w'], ['y'], { dilations: [2n, 2n] }),
      [1, 3, 7, 8],
      [1, 4, 3, 4],
      [weight(4, 3, 3, 3)],
    ],
    [
      'Conv, SAME',
      node('Conv', ['x', 'w'], ['y'], { auto_pad: 'SAME_UPPER', strides: [2n, 2n] }),
      [1, 3, 7, 8],
      [1, 4, 4, 4],
      [weight(4, 3, 3, 3)],
    ],
    [
      'ConvTranspose',
      node('ConvTranspose', ['x', 'w'], ['y'], { strides: [2n, 2n], output_padding: [1n, 0n] }),
      [1, 3, 4, 5],
      [1, 2, 10, 11],
      [weight(3, 2, 3, 3)],
    ],
    [
      'MaxPool, ceil',
      node('MaxPool', ['x'], ['y'], { kernel_shape: [3n, 3n], strides: [2n, 2n], ceil_mode: 1n }),
      [1, 3, 6, 8],
      [1, 3, 3, 4],
      [],
    ],
    [
      'AveragePool',
      node('AveragePool', ['x'], ['y'], { kernel_shape: [2n, 2n], strides: [2n, 2n] }),
      [1, 3, 7, 8],
      [1, 3, 3, 4],
      [],
    ],
    ['GlobalAveragePool', node('GlobalAveragePool', ['x'], ['y']), [1, 3, 7, 8], [1, 3, 1, 1], []],
    [
      'Add, broadcast',
      node('Add', ['x', 'b'], ['y']),
      [2, 1, 4],
      [2, 3, 4],
      [floats('b', [3, 1], [1, 2, 3])],
    ],
    ['Concat', node('Concat', ['x', 'x'], ['y'], { axis: -1n }), [2, 3, 4], [2, 3, 8], []],
    ['Split', node('Split', ['x'], ['a', 'y'], { axis: 1n, num_outputs: 2n }), [2, 5, 4], [2, 2, 4], []],
    ['Reshape', node('Reshape', ['x', 's'], ['y']), [2, 3, 4], [2, 2, 6], [ints('s', [0, 2, -1])]],
    ['Flatten', node('Flatten', ['x'], ['y']), [2, 3, 4], [2, 12], []],
    ['Transpose', node('Transpose', ['x'], ['y'], { perm: [2n, 0n, 1n] }), [2, 3, 4], [4, 2, 3], []],
    ['Transpose, default', node('Transpose', ['x'], ['y']), [2, 3, 4], [4, 3, 2], []],
    [
      'Resize',
      node('Resize', ['x', '', 'sc'], ['y']),
      [1, 3, 4, 5],
      [1, 3, 8, 10],
      [floats('sc', [4], [1, 1, 2, 2])],
    ],
    [
      'Resize, sizes',
      node('Resize', ['x', '', '', 'sz'], ['y']),
      [1, 3, 4, 5],
      [1, 3, 6, 7],
      [ints('sz', [1, 3, 6, 7])],
    ],
    ['Pad', node('Pad', ['x', 'p'], ['y']), [3, 4], [4, 9], [ints('p', [0, 2, 1, 3])]],
    ['Unsqueeze', node('Unsqueeze', ['x', 'a'], ['y']), [3, 4], [1, 3, 4, 1], [ints('a', [0, -1])]],
    ['Squeeze', node('Squeeze', ['x'], ['y']), [1, 3, 1, 4], [3, 4], []],
    ['ReduceMean', node('ReduceMean', ['x'], ['y'], { axes: [-1n], keepdims: 0n }), [2, 3, 4], [2, 3], []],
    ['Gather', node('Gather', ['x', 'i'], ['y'], { axis: 1n }), [2, 5, 4], [2, 3, 4], [ints('i', [0, 4, 2])]],
    ['MatMul', node('MatMul', ['x', 'w'], ['y']), [2, 3, 4], [2, 3, 5], [weight(4, 5)]],
    [
      'Slice',
      node('Slice', ['x', 'f', 't', 'a', 'st'], ['y']),
      [2, 9, 4],
      [2, 4, 4],
      [ints('f', [-1]), ints('t', [-100]), ints('a', [1]), ints('st', [-2])].map((t, i) =>
        i === 0 ? ints('f', [7]) : t,
      ),
    ],
  ] as const)('%s', (_, made, input, expected, constants) => {
    expect(shapeOf([made], input, constants)).toEqual(expected);
  });

  it('computes shapes that a graph computes itself', () => {
    const nodes = [
      node('Shape', ['x'], ['all']),
      node('Gather', ['all', 'zero'], ['n']),
      node('Unsqueeze', ['n', 'zero'], ['n1']),
      node('Concat', ['n1', 'rest'], ['to'], { axis: 0n }),
      node('Reshape', ['x', 'to'], ['y']),
    ];
    expect(shapeOf(nodes, [2, 3, 4], [ints('zero', [0]), ints('rest', [-1, 2])])).toEqual([2, 6, 2]);
  });

  it('names the node and operator whose shape cannot be told', () => {
    expect(() => shapeOf([node('Loop', ['x'], ['y'])], [1])).toThrow(ModelError);
    expect(() => shapeOf([node('Loop', ['x'], ['y'])], [1])).toThrow('Loop_y (Loop)');
    expect(() => shapeOf([node('Reshape', ['x', 'x'], ['y'])], [100])).toThrow(
      'the values of input x are not known',
    );
    expect(() => shapeOf([node('Add', ['x', 'w'], ['y'])], [3, 4], [weight(3, 5)])).toThrow(
      'do not broadcast',
    );
  });

  const host = testData('models/yolox_nano.onnx');
  it.skipIf(host === undefined)(
    'agrees with the outputs that yolox_nano.onnx declares (needs the test data)',
    async () => {
      const { model: file } = await loadModelFile(host!);
      const input = file.graph!.input[0]!.name;
      const shapes = inferShapes(file, new Map([[input, [1, 3, 416, 416]]]));
      expect(shapes.get(file.graph!.output[0]!.name)).toEqual([1, 3549, 85]);
    },
  );
});
