// B29: which axes are free, which are fixed, and what is refused.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import {
  ElementType,
  loadModelFile,
  pictureInput,
  serialize,
  valueInfo,
  viewGraph,
  withExtraOutputs,
  withStaticInput,
} from '#onnx';
import { testData } from '../support/test-data.ts';
import { distributionDetector } from '../support/tiny-heads.ts';
import { constantDetector, nmsOnly } from '../support/tiny-models.ts';

const open = (model: Parameters<typeof serialize>[0]) =>
  ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });

describe('the picture input', () => {
  it.each([
    [[4, 3, 64, 64], { order: 'nchw', channels: 3, batch: 4, height: 64, width: 64 }],
    [['batch', 3, 'h', 'w'], { order: 'nchw', channels: 3 }],
    [[1, 3, 48, 96], { order: 'nchw', channels: 3, batch: 1, height: 48, width: 96 }],
    [[1, 64, 96, 3], { order: 'nhwc', channels: 3, batch: 1, height: 64, width: 96 }],
    [[1, 1, 64, 64], { order: 'nchw', channels: 1, batch: 1, height: 64, width: 64 }],
    [[-1, 3, -1, -1], { order: 'nchw', channels: 3 }],
  ])('%j', (inputShape, expected) => {
    const input = pictureInput(constantDetector({ kind: 'yolov8', inputShape }));
    expect(input).toEqual({ name: 'images', dtype: 'float32', ...expected });
  });

  it.each(['float16', 'uint8'] as const)('%s', (inputType) => {
    expect(pictureInput(constantDetector({ kind: 'yolov8', inputType })).dtype).toBe(inputType);
  });

  it('a suppression graph is refused by name', () => {
    expect(() => pictureInput(nmsOnly())).toThrow(/post-processing graph.*boxes \[1, 100, 4\]/);
  });

  it('a graph of features is refused with what it takes', () => {
    const model = constantDetector({ kind: 'yolov8', inputShape: [1, 512] });
    expect(() => pictureInput(model)).toThrow(/takes no picture: its inputs are images \[1, 512\]/);
  });
});

describe('free axes', () => {
  it('are written as numbers that the runtime sees', async () => {
    const free = constantDetector({ kind: 'yolov8', inputShape: ['batch', 3, 'h', 'w'] });
    const fixed = withStaticInput(free, { batch: 1, height: 64, width: 96 });
    const session = await open(fixed);
    expect((session.inputMetadata[0] as { shape: unknown }).shape).toEqual([1, 3, 64, 96]);
    await session.release();
    expect(pictureInput(free).height).toBeUndefined();
  });

  it('shapes written for free axes are dropped, those with numbers stay', () => {
    const free = constantDetector({ kind: 'yolov8', inputShape: ['batch', 3, 'h', 'w'] });
    free.graph?.output.push(valueInfo('free', ElementType.FLOAT, ['batch', 6, 'anchors']));
    free.graph?.valueInfo.push(
      valueInfo('inner', ElementType.FLOAT, ['batch', 8]),
      valueInfo('fixed', ElementType.FLOAT, [1, 8]),
    );
    const made = viewGraph(withStaticInput(free, { batch: 1, height: 64, width: 96 }));
    expect(made.shape('free')).toBeUndefined();
    expect(made.elementType('free')).toBe(ElementType.FLOAT);
    expect(made.shape('inner')).toBeUndefined();
    expect(made.shape('fixed')).toEqual([1, 8]);
    expect(made.shape('output0')).toEqual([1, 6, 189]);
  });

  it('an axis that is fixed to another number is an error that names both', () => {
    const model = constantDetector({ kind: 'yolov8', inputShape: [4, 3, 96, 96] });
    expect(() => withStaticInput(model, { batch: 1, height: 96, width: 96 })).toThrow(ModelError);
    expect(() => withStaticInput(model, { batch: 4, height: 64, width: 96 })).toThrow(/height of 96; 64/);
  });

  const yunet = testData('models/yunet_n_dynamic.onnx');
  it.skipIf(!yunet)('YuNet with free axes runs at 320x256 (skipped: no shared data)', async () => {
    const { model } = await loadModelFile(yunet ?? '');
    const session = await open(withStaticInput(model, { batch: 1, height: 256, width: 320 }));
    const input = new ort.Tensor('float32', new Float32Array(3 * 256 * 320), [1, 3, 256, 320]);
    const outputs = await session.run({ input });
    expect(outputs['cls_8']?.dims).toEqual([1, 1280, 1]);
    await session.release();
  });
});

describe('extra outputs', () => {
  it('are returned by the runtime', async () => {
    const session = await open(withExtraOutputs(distributionDetector(), ['side_probabilities']));
    const images = new ort.Tensor('float32', new Float32Array(3 * 96 * 96), [1, 3, 96, 96]);
    const outputs = await session.run({ images });
    expect(outputs['side_probabilities']?.dims).toEqual([1, 16, 4, 189]);
    await session.release();
  });

  it('of a name that no node makes are refused', () => {
    expect(() => withExtraOutputs(distributionDetector(), ['nothing'])).toThrow(/no tensor named nothing/);
  });
});
