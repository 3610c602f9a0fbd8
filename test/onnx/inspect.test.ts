import { describe, expect, it } from 'vitest';
import { describeModel, findHead, guessPreprocess, loadModelFile, planTaps } from '#onnx';
import { testData } from '../support/test-data.ts';
import { distributionDetector } from '../support/tiny-heads.ts';
import { constantDetector } from '../support/tiny-models.ts';
import { dryRun } from './dry-run.ts';

it('describes what the file says, also where no head was found', () => {
  const model = constantDetector({
    kind: 'yolov8',
    inputShape: ['batch', 3, null, 'w'],
    metadata: { license: 'AGPL-3.0', author: 'someone' },
  });
  expect(describeModel(model, { taps: planTaps(model) })).toEqual({
    irVersion: 8,
    opsets: { 'ai.onnx': 17 },
    producer: 'edge-detect',
    inputs: [{ name: 'images', dtype: 'float32', shape: ['batch', 3, null, 'w'] }],
    outputs: [{ name: 'output0', dtype: 'float32', shape: [1, 6, 189] }],
    nodeCount: 1,
    parameterCount: 6 * 189,
    quantisation: 'none',
    author: 'someone',
    task: 'detect',
    license: 'AGPL-3.0',
    classNames: ['car', 'person'],
    assumed: [],
    boxDistribution: ['no distribution over box sides in the graph'],
  });
});

it('describes head, capabilities and preprocessing', async () => {
  const model = distributionDetector();
  const { taps, input, size, shapes } = await dryRun(model);
  const finding = findHead(model, shapes, taps, { input: size });
  const preprocess = guessPreprocess(model, finding.layout, input);
  const described = describeModel(model, { taps, finding, preprocess });
  expect(described.head).toMatchObject({ kind: 'yolov8', can: ['variance of each box side (px²)'] });
  expect(described.head?.limits.join()).toMatch(/no variance of the score/);
  expect(described.preprocess).toMatchObject({ family: 'ultralytics' });
  expect(described.boxDistribution[0]).toMatch(/Softmax side_probabilities over 16 bins/);
  expect(JSON.parse(JSON.stringify(described))).toEqual(described);
});

describe('shared models (skipped: models absent)', () => {
  const yolo26 = testData('models/yolo26n_640_int8dyn_end2end.onnx');
  it.skipIf(!yolo26)(
    'YOLO26: says that its boxes have no distribution, and whose licence it is',
    async () => {
      const { model } = await loadModelFile(yolo26 ?? '');
      const { taps, size, shapes } = await dryRun(model);
      const described = describeModel(model, {
        taps,
        finding: findHead(model, shapes, taps, { input: size }),
      });
      expect(described.quantisation).toBe('dynamic int8');
      expect(described.license).toMatch(/AGPL-3\.0/);
      expect(described.head?.limits[0]).toMatch(/YOLO26: reg_max 1.*not available/);
      expect(described.boxDistribution[0]).toMatch(/2 Softmax are attention/);
      expect(described.irVersion).toBe(9);
      expect(described.opsets['ai.onnx']).toBe(20);
    },
  );

  const half = testData('models/yolov5n_fp16.onnx');
  it.skipIf(!half)('YOLOv5 in half precision', async () => {
    const { model } = await loadModelFile(half ?? '');
    const described = describeModel(model, { taps: planTaps(model) });
    expect(described.quantisation).toBe('float16');
    expect(described.inputs[0]?.dtype).toBe('float16');
    expect(described.parameterCount).toBeGreaterThan(1.8e6);
  });
});
