// Shapes that are written into a graph are those that the runtime finds when it runs it.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import {
  dequantise,
  ElementType,
  elementTypeName,
  elementTypeOf,
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
  shapeOf,
  toFloat32,
  valueInfo,
  withExtraOutputs,
} from '#onnx';
import { withStaticShapes } from '../../../export/passes/static-shapes.ts';
import { testData } from '../../support/test-data.ts';

const SIZE = { batch: 1, height: 64, width: 96 };

function described(made: ModelProto): ReadonlyMap<string, { shape: readonly unknown[]; type: string }> {
  const { valueInfo: infos, output } = graphOf(made);
  return new Map(
    [...infos, ...output].flatMap((info) => {
      const shape = shapeOf(info);
      return shape ? [[info.name, { shape, type: elementTypeName(elementTypeOf(info) ?? 0) }]] : [];
    }),
  );
}

async function measured(made: ModelProto, names: readonly string[]) {
  const input = pictureInput(made);
  const { batch = 0, height = 0, width = 0 } = input;
  const dims = input.order === 'nchw' ? [batch, 3, height, width] : [batch, height, width, 3];
  const session = await ort.InferenceSession.create(serialize(withExtraOutputs(made, names)), {
    logSeverityLevel: 3,
    graphOptimizationLevel: 'disabled',
  });
  const zeros = new Float32Array(batch * 3 * height * width);
  const results = await session.run({ [input.name]: new ort.Tensor('float32', zeros, dims) });
  await session.release();
  return new Map(names.map((name) => [name, { shape: [...results[name]!.dims], type: results[name]!.type }]));
}

/** Name: least share of the tensors between that must be described. */
const MODELS = {
  yunet_n_dynamic: 1,
  ultraface_rfb_320: 0.9,
  yolox_person_192: 1,
  fastestdet: 1,
  yolov5n_fp16: 1,
  yolo11n_320_int8dyn: 1,
  yolo26n_640_int8dyn_end2end: 0.9,
};

describe('shared models (skipped: models absent)', () => {
  for (const [name, share] of Object.entries(MODELS)) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(name, async () => {
      const { model: loaded } = await loadModelFile(path ?? '');
      const float = toFloat32(dequantise(loaded).model);
      const { batch = 1, height = 128, width = 160 } = pictureInput(float);
      const fixed = withStaticShapes(float, { batch, height, width });
      const written = described(fixed);
      const made = graphOf(fixed).node.flatMap(({ opType, output }) => (opType === 'Constant' ? [] : output));
      const names = made.filter((name) => written.has(name));
      expect(names.length).toBeGreaterThanOrEqual(share * made.length);
      const found = await measured(fixed, names);
      const bool = (type: string) => type.replace('boolean', 'bool');
      for (const [tensor, { shape, type }] of found) {
        expect([tensor, ...(written.get(tensor)?.shape ?? [])]).toEqual([tensor, ...shape]);
        expect([tensor, written.get(tensor)?.type]).toEqual([tensor, bool(type)]);
      }
    });
  }
});

/** `images[N, 3, H, W]` → Relu → an operator that has no rule → Reshape by the shape of the input. */
function openModel(output: readonly (number | string | null)[]): ModelProto {
  return model(
    graph({
      nodes: [
        node('Relu', ['images'], ['positive']),
        node('Hardmax', ['positive'], ['unknown']),
        node('Shape', ['images'], ['size']),
        node('Gather', ['size', 'last'], ['width']),
        node('Concat', ['one', 'minus', 'width'], ['asked'], { axis: 0n }),
        node('Reshape', ['positive', 'asked'], ['rows']),
        node('Mul', ['rows', 'two'], ['output']),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, ['N', 3, 'H', 'W'])],
      outputs: [valueInfo('output', ElementType.FLOAT, output)],
      initializers: [ints('last', [3]), ints('one', [1]), ints('minus', [-1]), floats('two', [], [2])],
    }),
  );
}

describe('static shapes', () => {
  it('follow arithmetic on shapes, and leave out what cannot be told', () => {
    const written = described(withStaticShapes(openModel([1, 'A', 'W']), SIZE));
    expect(written.get('output')?.shape).toEqual([1, 192, 96]);
    expect(written.get('positive')?.shape).toEqual([1, 3, 64, 96]);
    expect(written.has('unknown')).toBe(false);
  });

  it('are not believed where an open file states others', () => {
    const written = described(withStaticShapes(openModel([1, 7, 7]), SIZE));
    expect(written.get('output')?.shape).toEqual([1, 192, 96]);
  });

  it('are dropped where a fixed file contradicts them', () => {
    const fixed = withStaticShapes(openModel([1, 'A', 'W']), SIZE);
    const { output } = graphOf(fixed);
    output[0] = valueInfo('output', ElementType.FLOAT, [1, 7, 7]);
    expect(described(withStaticShapes(fixed, SIZE)).has('output')).toBe(false);
  });

  it('are refused where an axis is another number', () => {
    const fixed = withStaticShapes(openModel([1, 'A', 'W']), SIZE);
    expect(() => withStaticShapes(fixed, { ...SIZE, height: 128 })).toThrow(/height of 64; 128 was asked/);
  });
});
