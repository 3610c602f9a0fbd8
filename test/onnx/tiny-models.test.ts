// The tiny graphs must run in the real runtime and answer what they claim: other tests stand on them.
import type { Tensor } from 'onnxruntime-node';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { ModelProto } from '#onnx';
import { serialize } from '#onnx';
import { distributionDetector } from '../support/tiny-heads.ts';
import {
  cellCount,
  channelMeanProbe,
  classifier,
  constantDetector,
  nmsOnly,
  rawFeatureMaps,
  twoLayoutsFit,
  whiteBoxProbe,
} from '../support/tiny-models.ts';

async function run(model: ModelProto, feeds: Record<string, Tensor>) {
  const session = await ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });
  const outputs = await session.run(feeds);
  await session.release();
  return outputs;
}

function picture(side: number, paint: (x: number, y: number, channel: number) => number): Tensor {
  const data = new Float32Array(3 * side * side);
  for (let channel = 0; channel < 3; channel++) {
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        data[(channel * side + y) * side + x] = paint(x, y, channel);
      }
    }
  }
  return new ort.Tensor('float32', data, [1, 3, side, side]);
}

describe('the stand-in detector', () => {
  it('reports the bounding box of near-white px', async () => {
    const white = (x: number, y: number) => (x >= 10 && x < 30 && y >= 40 && y < 52 ? 1 : 0.5);
    const { output0 } = await run(whiteBoxProbe(), { images: picture(96, white) });
    const anchors = cellCount({ width: 96, height: 96 });
    const values = output0?.data as Float32Array;
    expect(output0?.dims).toEqual([1, 5, anchors]);
    expect([0, 1, 2, 3].map((channel) => values[channel * anchors])).toEqual([20, 46, 20, 12]);
    expect(values[4 * anchors]).toBeCloseTo(0.9, 6);
    expect(values.filter((value) => value !== 0)).toHaveLength(5);
  });

  it('reports nothing where nothing is white: a bright colour is not', async () => {
    const red = (_x: number, _y: number, channel: number) => (channel === 0 ? 1 : 0);
    const { output0 } = await run(whiteBoxProbe(), { images: picture(96, red) });
    const values = output0?.data as Float32Array;
    expect(values.every((value) => value === 0)).toBe(true);
  });
});

it('the channel probe scores the mean of each plane', async () => {
  const { output0 } = await run(channelMeanProbe(), {
    images: picture(96, (_x, _y, c) => [0.2, 0.5, 0.8][c] ?? 0),
  });
  const values = output0?.data as Float32Array;
  const anchors = cellCount({ width: 96, height: 96 });
  [0.2, 0.5, 0.8].forEach((mean, c) => {
    expect(values[(4 + c) * anchors]).toBeCloseTo(mean, 4);
  });
});

it.each(['yolov5', 'yolov8', 'end-to-end', 'nms-outputs'] as const)('the constant %s runs', async (kind) => {
  const outputs = await run(constantDetector({ kind }), { images: picture(96, () => 0) });
  expect(Object.keys(outputs).length).toBe(kind === 'nms-outputs' ? 4 : 1);
});

it.each(['Conv', 'MatMul'] as const)(
  'the distribution detector takes its expectation by %s',
  async (expectation) => {
    const peaks = [3, 5, 7, 9];
    const sideLogits = peaks.map((peak) => Array.from({ length: 16 }, (_, bin) => (bin === peak ? 30 : 0)));
    const { output0 } = await run(distributionDetector({ sideLogits, expectation, attention: true }), {
      images: picture(96, () => 0),
    });
    const anchors = cellCount({ width: 96, height: 96 });
    const values = output0?.data as Float32Array;
    // The first cell has its centre at 0.5, 0.5 and 8 px: sides 3, 5, 7, 9 reach from (-20, -36) to (60, 76).
    [20, 20, 80, 112].forEach((expected, channel) => {
      expect(values[channel * anchors]).toBeCloseTo(expected, 2);
    });
  },
);

it.each([
  ['classifier', classifier(), 32],
  ['twoLayoutsFit', twoLayoutsFit(), 96],
  ['rawFeatureMaps', rawFeatureMaps(), 64],
] as const)('%s runs', async (_name, model, side) => {
  const outputs = await run(model, { images: picture(side, () => 0) });
  expect(Object.keys(outputs).length).toBeGreaterThan(0);
});

it('the suppression graph takes boxes, not pictures', async () => {
  const outputs = await run(nmsOnly(), {
    boxes: new ort.Tensor('float32', new Float32Array(400), [1, 100, 4]),
    scores: new ort.Tensor('float32', new Float32Array(200), [1, 2, 100]),
  });
  expect(Object.keys(outputs)).toEqual(['selected']);
});
