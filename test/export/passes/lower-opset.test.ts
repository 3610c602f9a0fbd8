// A graph written in opset 17 gives what it gave in its own, and what cannot be written there is refused by name.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import {
  type AttributeValue,
  dequantise,
  ElementType,
  floats,
  graph,
  graphOf,
  ints,
  loadModelFile,
  type ModelProto,
  model,
  node,
  opsetVersion,
  pictureInput,
  serialize,
  type TensorProto,
  valueInfo,
} from '#onnx';
import { lowerOpset } from '../../../export/passes/lower-opset.ts';
import { testData } from '../../support/test-data.ts';

const TARGET = { opset: 17, irVersion: 8 };
const SHAPE = [1, 3, 4, 6];

async function run(made: ModelProto, shape: readonly number[]): Promise<readonly (readonly number[])[]> {
  const session = await ort.InferenceSession.create(serialize(made), { logSeverityLevel: 3 });
  const length = shape.reduce((product, size) => product * size, 1);
  const data = Float32Array.from({ length }, (_, index) => Math.sin(index) / 2);
  const name = session.inputNames[0] ?? '';
  const results = await session.run({ [name]: new ort.Tensor('float32', data, shape) });
  const { outputNames } = session;
  await session.release();
  return outputNames.map((output) => Array.from(results[output]?.data as Float32Array, Number));
}

interface One {
  readonly op: string;
  readonly inputs?: readonly string[];
  readonly outputs?: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly constants?: readonly TensorProto[];
  readonly opset?: number;
}

function of({
  op,
  inputs = ['x'],
  outputs = 1,
  attributes = {},
  constants = [],
  opset = 20,
}: One): ModelProto {
  const names = Array.from({ length: outputs }, (_, index) => `y${index}`);
  return model(
    graph({
      nodes: [node(op, inputs, names, attributes)],
      inputs: [valueInfo('x', ElementType.FLOAT, SHAPE)],
      outputs: names.map((name) => valueInfo(name, ElementType.FLOAT)),
      initializers: constants,
    }),
    { opset, irVersion: 10 },
  );
}

const CASES: Readonly<Record<string, One>> = {
  'ReduceMax over given axes': { op: 'ReduceMax', inputs: ['x', 'axes'], constants: [ints('axes', [2, 3])] },
  'ReduceMean over all': { op: 'ReduceMean' },
  'ReduceMax over no axes': { op: 'ReduceMax', attributes: { noop_with_empty_axes: 1n } },
  'ReduceSum as it is': { op: 'ReduceSum', inputs: ['x', 'axes'], constants: [ints('axes', [1])] },
  'Split in equal parts': { op: 'Split', outputs: 3, attributes: { axis: 3n, num_outputs: 3n } },
  'Split with a smaller last part': { op: 'Split', outputs: 2, attributes: { axis: -3n, num_outputs: 2n } },
  'Resize with what newer exporters write': {
    op: 'Resize',
    inputs: ['x', '', 'scales'],
    attributes: { antialias: 0n, keep_aspect_ratio_policy: 'stretch', mode: 'nearest' },
    constants: [floats('scales', [4], [1, 1, 2, 2])],
  },
  'Cast with saturation': { op: 'Cast', attributes: { to: 1n, saturate: 1n } },
  AveragePool: { op: 'AveragePool', attributes: { kernel_shape: [2n, 2n], dilations: [1n, 1n] } },
  Pad: { op: 'Pad', inputs: ['x', 'pads'], constants: [ints('pads', [0, 0, 1, 1, 0, 0, 1, 1])] },
  Mish: { op: 'Mish' },
  Identity: { op: 'Identity' },
};

describe('opset 17', () => {
  for (const [name, one] of Object.entries(CASES)) {
    it(`gives the same: ${name}`, async () => {
      const made = of(one);
      const lowered = lowerOpset(made, TARGET);
      expect([opsetVersion(lowered), lowered.irVersion]).toEqual([17, 8n]);
      const [found, expected] = [await run(lowered, SHAPE), await run(made, SHAPE)];
      expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
      found.flat().forEach((value, index) => {
        expect(value).toBeCloseTo(expected.flat()[index] ?? Number.NaN, 6);
      });
    });
  }

  const refused: Readonly<Record<string, readonly [One, RegExp]>> = {
    'an operator of later': [{ op: 'Gelu' }, /node Gelu_y0 \(Gelu\) cannot be written in opset 17/],
    'a norm over no axes': [
      { op: 'ReduceL2', attributes: { noop_with_empty_axes: 1n } },
      /\(ReduceL2\).*no axes/,
    ],
    'chosen axes of a Resize': [
      {
        op: 'Resize',
        inputs: ['x', '', 's'],
        attributes: { axes: [2n, 3n] },
        constants: [floats('s', [2], [2, 2])],
      },
      /\(Resize\).*chosen axes/,
    ],
    'an antialiased Resize': [
      {
        op: 'Resize',
        inputs: ['x', '', 's'],
        attributes: { antialias: 1n, mode: 'linear' },
        constants: [floats('s', [4], [1, 1, 2, 2])],
      },
      /\(Resize\).*antialias is 1/,
    ],
    'a dilated AveragePool': [
      { op: 'AveragePool', attributes: { kernel_shape: [2n, 2n], dilations: [2n, 2n] } },
      /dilations is 2, 2/,
    ],
    'a newer opset than is known': [{ op: 'Relu', opset: 24 }, /written in opset 24; up to 22/],
  };
  for (const [name, [one, message]] of Object.entries(refused)) {
    it(`is refused for ${name}`, () => {
      expect(() => lowerOpset(of(one), TARGET)).toThrow(message);
    });
  }

  it('is no target below 17, and leaves older models alone', () => {
    expect(() => lowerOpset(of({ op: 'Relu' }), { opset: 13, irVersion: 8 })).toThrow(/down to opset 13/);
    const old = of({ op: 'Relu', opset: 11 });
    const same = lowerOpset(old, TARGET);
    expect([opsetVersion(same), same.irVersion]).toEqual([11, 8n]);
    expect(graphOf(same)).toBe(graphOf(old));
  });

  for (const name of ['yolo11n_320_int8dyn', 'yolo26n_640_int8dyn_end2end', 'yolov8n-seg_320_int8dyn']) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(`gives the same: ${name} of opset 20 (skipped: models absent)`, async () => {
      const { model: loaded } = await loadModelFile(path ?? '');
      const float = dequantise(loaded).model;
      const { height = 0, width = 0 } = pictureInput(float);
      const lowered = lowerOpset(float, TARGET);
      const shape = [1, 3, height, width];
      const [found, expected] = [await run(lowered, shape), await run(float, shape)];
      const worst = found.map((values, output) =>
        values.reduce(
          (most, value, at) => Math.max(most, Math.abs(value - (expected[output]?.[at] ?? 0))),
          0,
        ),
      );
      expect(Math.max(...worst)).toBeLessThanOrEqual(1e-3);
    });
  }
});
