// A graph with a preamble gives on bytes what its source gives on the numbers that the runtime makes of them.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { PreprocessContract } from '#core';
import { createInputWriter } from '#core';
import {
  ElementType,
  floats,
  graph,
  graphOf,
  type ModelProto,
  model,
  node,
  pictureInput,
  serialize,
  valueInfo,
  withFloatInterface,
} from '#onnx';
import { withPicturePreamble } from '../../../export/passes/picture-preamble.ts';

const SIZE = { width: 5, height: 4 };
const IMAGENET: PreprocessContract = {
  fit: { mode: 'stretch', align: 'center', enlarge: true },
  channels: 'bgr',
  mean: [103.53, 116.28, 123.675],
  std: [57.375, 57.12, 58.395],
  pad: 0,
};
const PLAIN: PreprocessContract = { ...IMAGENET, mean: [0, 0, 0], std: [1, 1, 1] };

/** Gives its input back. */
function echo(order: 'nchw' | 'nhwc', type: 'float32' | 'float16' | 'uint8'): ModelProto {
  const elementType = { float32: ElementType.FLOAT, float16: ElementType.FLOAT16, uint8: ElementType.UINT8 }[
    type
  ];
  const { width, height } = SIZE;
  const shape = order === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
  const asFloat = [node('Cast', ['images'], ['wide'], { to: BigInt(ElementType.FLOAT) })];
  return model(
    graph({
      nodes: [...asFloat, node('Mul', ['wide', 'one'], ['out'])],
      inputs: [valueInfo('images', elementType, shape)],
      outputs: [valueInfo('out', ElementType.FLOAT, shape)],
      initializers: [floats('one', [], [1])],
    }),
  );
}

const bytes = Uint8Array.from({ length: 60 }, (_, index) => (index * 37) % 256);

async function run(made: ModelProto, contract: PreprocessContract): Promise<Float32Array> {
  const { dtype, order } = pictureInput(made);
  const type = dtype === 'uint8' ? 'uint8' : 'float32';
  const writer = createInputWriter(contract, { type, layout: order });
  const array = writer.create(SIZE);
  const letterbox = { input: SIZE, content: SIZE, padLeft: 0, padTop: 0 };
  writer.writeContentInto(array, bytes, letterbox as never);
  const { width, height } = SIZE;
  const dims = order === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
  const session = await ort.InferenceSession.create(serialize(withFloatInterface(made)));
  const results = await session.run({ images: new ort.Tensor(type, array as never, dims) });
  await session.release();
  return results['out']?.data as Float32Array;
}

describe('a preamble for pictures', () => {
  for (const from of ['nchw', 'nhwc'] as const) {
    for (const type of ['float32', 'float16'] as const) {
      for (const dtype of ['uint8', 'float32'] as const) {
        for (const order of ['nhwc', 'nchw'] as const) {
          it(`${type} ${from} takes ${dtype} ${order}`, async () => {
            const source = echo(from, type);
            const input = pictureInput(source);
            const made = withPicturePreamble(source, { input, contract: IMAGENET, dtype, order });
            expect(made.contract).toEqual(PLAIN);
            expect(pictureInput(made.model)).toMatchObject({
              name: 'images',
              dtype,
              order,
              ...SIZE,
              batch: 1,
            });
            const [found, expected] = [await run(made.model, made.contract), await run(source, IMAGENET)];
            const worst = found.reduce(
              (most, value, at) => Math.max(most, Math.abs(value - expected[at]!)),
              0,
            );
            expect(worst).toBeLessThan(type === 'float16' ? 2e-3 : 1e-6);
            expect(new Set(found).size).toBeGreaterThan(50);
          });
        }
      }
    }
  }

  it('casts first and leaves out what would change nothing', () => {
    const source = echo('nchw', 'float32');
    const input = pictureInput(source);
    const operators = (contract: PreprocessContract) =>
      graphOf(withPicturePreamble(source, { input, contract, dtype: 'uint8' }).model).node.map(
        ({ opType }) => opType,
      );
    expect(operators(IMAGENET).slice(0, 4)).toEqual(['Cast', 'Sub', 'Mul', 'Transpose']);
    expect(operators(PLAIN).slice(0, 2)).toEqual(['Cast', 'Transpose']);
  });

  it('leaves a graph alone that takes bytes as they are, and refuses floats for it', () => {
    const source = echo('nhwc', 'uint8');
    const input = pictureInput(source);
    expect(withPicturePreamble(source, { input, contract: PLAIN, dtype: 'uint8' }).model).toBe(source);
    expect(() => withPicturePreamble(source, { input, contract: PLAIN, dtype: 'float32' })).toThrow(
      /takes bytes \(uint8\) already, float32 was asked for/,
    );
  });
});
