// The distribution over box sides: found by the 0..n weights behind a Softmax, and by nothing else.
import * as ort from 'onnxruntime-node';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { TensorProto } from '#onnx';
import {
  ElementType,
  floats,
  graph,
  loadModelFile,
  model,
  node,
  planTaps,
  serialize,
  tensor,
  valueInfo,
  withExtraOutputs,
} from '#onnx';
import { testData } from '../support/test-data.ts';
import { distributionDetector } from '../support/tiny-heads.ts';
import { constantDetector } from '../support/tiny-models.ts';
import { find } from './dry-run.ts';

describe('planning', () => {
  it.each(['Conv', 'MatMul'] as const)(
    'finds the expectation taken by %s, and no attention',
    (expectation) => {
      const plan = planTaps(distributionDetector({ expectation, attention: true, bins: 8 }));
      expect(plan.outputs).toEqual(['side_probabilities']);
      expect(plan.boxDistribution).toMatchObject({ bins: 8 });
    },
  );

  it.each([
    ['Conv' as const, 'bins-sides-anchors'],
    ['MatMul' as const, 'anchors-sides-bins'],
  ])('reads the memory order of %s from the measured shape', async (expectation, order) => {
    const finding = await find(distributionDetector({ expectation }));
    expect(finding.layout).toMatchObject({ boxDistribution: { order, bins: 16 } });
    expect(finding.taps).toEqual(['side_probabilities']);
    expect(finding.capabilities.boxVariance).toBe(true);
  });

  it('says why there is none', async () => {
    const plan = planTaps(constantDetector({ kind: 'yolov8' }));
    expect(plan.outputs).toEqual([]);
    expect(plan.notes[0]).toMatch(/no distribution over box sides/);
    const finding = await find(constantDetector({ kind: 'yolov8' }));
    expect(finding.capabilities).toMatchObject({ boxVariance: false, scoreDistribution: 'none' });
    expect(finding.capabilities.limits.join()).toMatch(/no variance of the boxes/);
  });
});

describe('weights that are a ramp', () => {
  /** Softmax → quantisation → ConvInteger with the given weights, as dynamic int8 exports have it. */
  const withWeights = (weights: TensorProto, operator = 'ConvInteger') =>
    model(
      graph({
        nodes: [
          node('Softmax', ['images'], ['p'], { axis: 1n }),
          node('DynamicQuantizeLinear', ['p'], ['q', 'scale', 'zero']),
          node(operator, [operator === 'ConvInteger' ? 'q' : 'p', 'weights'], ['sum']),
        ],
        inputs: [valueInfo('images', ElementType.FLOAT, [1, 16, 4, 4])],
        outputs: [valueInfo('sum', ElementType.INT32)],
        initializers: [weights],
      }),
    );
  const ramp = Array.from({ length: 16 }, (_, bin) => bin);
  const quantised = ramp.map((bin) => Math.round((bin * 127) / 15));

  it.each([
    ['rounded to int8', tensor('weights', [1, 16, 1, 1], Int8Array.from(quantised))],
    [
      'uint8 with a zero point',
      tensor(
        'weights',
        [1, 16, 1, 1],
        Uint8Array.from(quantised, (value) => value + 128),
      ),
    ],
  ])('%s', (_name, weights) => {
    expect(planTaps(withWeights(weights)).boxDistribution?.bins).toBe(16);
  });

  it('half precision', () => {
    const weights = tensor('weights', [1, 16, 1, 1], Float32Array.from(ramp), ElementType.FLOAT16);
    expect(planTaps(withWeights(weights, 'Conv')).boxDistribution?.bins).toBe(16);
  });

  it.each([
    ['equal', floats('weights', [1, 16, 1, 1], Array(16).fill(1))],
    ['falling', floats('weights', [1, 16, 1, 1], ramp.toReversed())],
    [
      'one value off',
      floats(
        'weights',
        [1, 16, 1, 1],
        ramp.map((bin) => (bin === 7 ? 8 : bin)),
      ),
    ],
    ['a matrix', floats('weights', [4, 4, 1, 1], ramp)],
    ['too few', floats('weights', [1, 2, 1, 1], [0, 1])],
  ])('not: %s', (_name, weights) => {
    expect(planTaps(withWeights(weights, 'Conv')).outputs).toEqual([]);
  });
});

const SIDE = 640;

/** 768x576 into 640x640: 640x480 with 80 px of grey above and below. */
async function dogTensor(path: string): Promise<ort.Tensor> {
  const { data } = await sharp(path)
    .removeAlpha()
    .resize(SIDE, 480, { kernel: 'linear', fit: 'fill' })
    .extend({ top: 80, bottom: 80, background: { r: 114, g: 114, b: 114 } })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const planes = new Float32Array(3 * SIDE * SIDE);
  for (let index = 0; index < SIDE * SIDE; index++) {
    for (let channel = 0; channel < 3; channel++) {
      planes[channel * SIDE * SIDE + index] = (data[3 * index + channel] ?? 0) / 255;
    }
  }
  return new ort.Tensor('float32', planes, [1, 3, SIDE, SIDE]);
}

const yolo = testData('models/yolov8n_640_int8dyn.onnx');
const dog = testData('images/darknet_dog.jpg');

// Check values of the set-up notes; a picture resized by another library moves them by a few tenths of a px.
describe.skipIf(!yolo || !dog)('the tap of a real YOLOv8 (skipped: no shared data)', () => {
  it('gives the sigma of each side of the dog, in px of the picture', async () => {
    const { model: loaded } = await loadModelFile(yolo ?? '');
    const { boxDistribution, outputs } = planTaps(loaded);
    const session = await ort.InferenceSession.create(serialize(withExtraOutputs(loaded, outputs)), {
      logSeverityLevel: 3,
    });
    const result = await session.run({ images: await dogTensor(dog ?? '') });
    await session.release();
    const anchors = 8400;
    const boxes = result['output0']?.data as Float32Array;
    const taps = result[boxDistribution?.tensor ?? '']?.data as Float32Array;
    const dogScores = boxes.subarray((4 + 16) * anchors, (4 + 17) * anchors);
    const best = dogScores.indexOf(Math.max(...dogScores));
    expect(dogScores[best]).toBeCloseTo(0.954, 1);
    const stride = best < 6400 ? 8 : best < 8000 ? 16 : 32;
    const frameScale = 768 / SIDE;
    const sigmas = [0, 1, 2, 3].map((side) => {
      const law = Array.from({ length: 16 }, (_, bin) => taps[(bin * 4 + side) * anchors + best] ?? 0);
      const mean = law.reduce((sum, p, bin) => sum + p * bin, 0);
      expect(law.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 3);
      return Math.sqrt(law.reduce((sum, p, bin) => sum + p * (bin - mean) ** 2, 0)) * stride * frameScale;
    });
    [12.2, 20.2, 19.8, 12.6].forEach((expected, side) => {
      expect(Math.abs((sigmas[side] ?? 0) - expected)).toBeLessThan(1);
    });
  });
});
