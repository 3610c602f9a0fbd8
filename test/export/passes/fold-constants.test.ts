// What is folded is what the runtime computes, number for number.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import {
  type AttributeValue,
  ElementType,
  floats,
  graph,
  graphOf,
  ints,
  loadModelFile,
  type ModelProto,
  model,
  node,
  pictureInput,
  serialize,
  type TensorProto,
  tensor,
  valueInfo,
  withExtraOutputs,
} from '#onnx';
import { foldConstants } from '../../../export/passes/fold-constants.ts';
import { withStaticShapes } from '../../../export/passes/static-shapes.ts';
import { testData } from '../../support/test-data.ts';

async function run(made: ModelProto) {
  const input = pictureInput(made);
  const { height = 0, width = 0 } = input;
  const session = await ort.InferenceSession.create(serialize(made), { logSeverityLevel: 3 });
  const data = Float32Array.from({ length: 3 * height * width }, (_, index) => Math.sin(index) * 100);
  const results = await session.run({ [input.name]: new ort.Tensor('float32', data, [1, 3, height, width]) });
  await session.release();
  return Object.entries(results).map(([name, { dims, data: values }]) => ({
    name,
    dims: [...dims],
    values: Array.from(values as ArrayLike<number | bigint>, Number),
  }));
}

interface One {
  readonly op: string;
  readonly inputs: readonly (TensorProto | 'images')[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly opset?: number;
}

/** `images` → op → Identity: the op is folded, the Identity makes the output and stays. */
function of({ op, inputs, attributes = {}, opset = 17 }: One): ModelProto {
  const names = inputs.map((input) => (input === 'images' ? input : input.name));
  const made = model(
    graph({
      nodes: [node(op, names, ['folded'], attributes), node('Identity', ['folded'], ['y'])],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 4, 6])],
      outputs: [],
      initializers: inputs.filter((input) => input !== 'images'),
    }),
    { opset },
  );
  return withExtraOutputs(made, ['y']);
}

const grid = floats(
  'grid',
  [2, 3],
  Array.from({ length: 6 }, (_, index) => (index + 1) / 7),
);
const whole = ints('whole', [7, -7, 5, 9]);
const scalar = (name: string, value: number) => tensor(name, [], BigInt64Array.of(BigInt(value)));
const bools = tensor('bools', [2, 1], Uint8Array.of(1, 0), ElementType.BOOL);

const CASES: Readonly<Record<string, One>> = {
  'Add with broadcasting': { op: 'Add', inputs: [grid, floats('column', [2, 1], [0.1, 0.2])] },
  Sub: { op: 'Sub', inputs: [grid, floats('row', [3], [0.1, 0.2, 0.3])] },
  Mul: { op: 'Mul', inputs: [grid, floats('factor', [], [0.3])] },
  'Div of floats': { op: 'Div', inputs: [grid, floats('factor', [], [0.3])] },
  'Div of whole numbers': { op: 'Div', inputs: [whole, ints('two', [2])] },
  'Cast to whole numbers': {
    op: 'Cast',
    inputs: [floats('halves', [3], [1.7, -1.7, 0.2])],
    attributes: { to: 7n },
  },
  'Cast to float': { op: 'Cast', inputs: [whole], attributes: { to: 1n } },
  Sqrt: { op: 'Sqrt', inputs: [grid] },
  Floor: { op: 'Floor', inputs: [floats('halves', [2], [1.5, -1.5])] },
  Where: { op: 'Where', inputs: [bools, grid, floats('zero', [], [0])] },
  Equal: { op: 'Equal', inputs: [whole, ints('seven', [7])] },
  Shape: { op: 'Shape', inputs: ['images'] },
  'Shape from an axis on': { op: 'Shape', inputs: ['images'], attributes: { start: -2n } },
  ConstantOfShape: {
    op: 'ConstantOfShape',
    inputs: [ints('size', [2, 2])],
    attributes: { value: floats('value', [1], [0.5]) },
  },
  Range: { op: 'Range', inputs: [scalar('start', 2), scalar('limit', 9), scalar('step', 3)] },
  Concat: {
    op: 'Concat',
    inputs: [grid, floats('more', [2, 1], [8, 9]), floats('one', [2, 2], [1, 2, 3, 4])],
    attributes: { axis: -1n },
  },
  'Gather of columns': { op: 'Gather', inputs: [grid, ints('places', [2, -3])], attributes: { axis: 1n } },
  'Gather of a scalar': { op: 'Gather', inputs: [whole, scalar('place', 1)] },
  'Slice backwards': {
    op: 'Slice',
    inputs: [grid, ints('from', [-1]), ints('to', [-9]), ints('axis', [1]), ints('step', [-2])],
  },
  'Slice of opset 9': {
    op: 'Slice',
    inputs: [grid],
    attributes: { starts: [1n], ends: [9n], axes: [1n] },
    opset: 9,
  },
  Reshape: { op: 'Reshape', inputs: [grid, ints('dims', [0, -1, 1])] },
  Flatten: { op: 'Flatten', inputs: [grid], attributes: { axis: 0n } },
  Unsqueeze: { op: 'Unsqueeze', inputs: [grid, ints('axes', [0, -1])] },
  'Unsqueeze of opset 11': { op: 'Unsqueeze', inputs: [grid], attributes: { axes: [1n] }, opset: 11 },
  Squeeze: { op: 'Squeeze', inputs: [floats('tall', [1, 2, 1], [1, 2])] },
  Transpose: { op: 'Transpose', inputs: [grid], attributes: { perm: [1n, 0n] } },
  Expand: { op: 'Expand', inputs: [floats('row', [1, 3], [1, 2, 3]), ints('dims', [2, 1])] },
};

describe('folding', () => {
  for (const [name, one] of Object.entries(CASES)) {
    it(`computes ${name}`, async () => {
      const made = of(one);
      const folded = foldConstants(made);
      expect(graphOf(folded).node.map(({ opType }) => opType)).toEqual(['Identity']);
      expect(await run(folded)).toEqual(await run(made));
    });
  }

  it('leaves alone what it does not know, divides by 0, or is large', () => {
    const kept: readonly One[] = [
      { op: 'Erf', inputs: [grid] },
      { op: 'Div', inputs: [whole, ints('zero', [0])] },
      { op: 'Expand', inputs: [floats('one', [1], [1]), ints('dims', [400_000])] },
      { op: 'Relu', inputs: ['images'] },
    ];
    for (const one of kept) {
      expect(graphOf(foldConstants(of(one))).node.map(({ opType }) => opType)).toEqual([one.op, 'Identity']);
    }
  });

  for (const name of ['yunet_n_dynamic', 'ultraface_rfb_320', 'yolov5n_fp16']) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(`leaves no arithmetic on shapes in ${name} (skipped: models absent)`, async () => {
      const { model: loaded } = await loadModelFile(path ?? '');
      const { height = 128, width = 160 } = pictureInput(loaded);
      const fixed = withStaticShapes(loaded, { batch: 1, height, width });
      const folded = foldConstants(fixed);
      const left = graphOf(folded).node.map(({ opType }) => opType);
      expect(left.filter((op) => ['Shape', 'Constant', 'Gather', 'Unsqueeze'].includes(op))).toEqual([]);
      expect(left.length).toBeLessThan(graphOf(fixed).node.length);
      if (pictureInput(loaded).dtype === 'float32') expect(await run(folded)).toEqual(await run(fixed));
    });
  }
});
