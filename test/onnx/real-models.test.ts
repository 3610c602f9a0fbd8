// The shared models: which head each has, what is tapped, which family and preprocessing follow.
import { describe, expect, it } from 'vitest';
import { findHead, guessPreprocess, loadModelFile } from '#onnx';
import { testData } from '../support/test-data.ts';
import { dryRun } from './dry-run.ts';

interface Expected {
  readonly layout: Record<string, unknown>;
  readonly family: string;
  readonly boxVariance: boolean;
}

const levels = (strides: readonly number[]) => strides.map((stride) => expect.objectContaining({ stride }));

const MODELS: Readonly<Record<string, Expected>> = {
  yolox_nano: {
    layout: { kind: 'yolox', classCount: 80, output: 'output', levels: levels([8, 16, 32]) },
    family: 'yolox',
    boxVariance: false,
  },
  yolox_person_192: { layout: { kind: 'yolox', classCount: 1 }, family: 'yolox', boxVariance: false },
  fastestdet: {
    layout: { kind: 'fastestdet', classCount: 80, level: { stride: 16, columns: 22, rows: 22 } },
    family: 'fastestdet',
    boxVariance: false,
  },
  nanodet_m_320: {
    layout: {
      kind: 'gfl',
      classCount: 80,
      bins: 8,
      cellOffset: 0.5,
      scoresAre: 'probabilities',
      levels: [8, 16, 32].map((stride) =>
        expect.objectContaining({
          stride,
          scores: `cls_pred_stride_${stride}`,
          distances: `dis_pred_stride_${stride}`,
        }),
      ),
    },
    family: 'nanodet',
    boxVariance: true,
  },
  yunet_n_640: {
    layout: {
      kind: 'yunet',
      classCount: 1,
      levels: [8, 16, 32].map((stride) =>
        expect.objectContaining({
          stride,
          cls: `cls_${stride}`,
          obj: `obj_${stride}`,
          bbox: `bbox_${stride}`,
        }),
      ),
    },
    family: 'yunet',
    boxVariance: false,
  },
  yunet_n_dynamic: {
    layout: { kind: 'yunet', levels: levels([8, 16, 32]) },
    family: 'yunet',
    boxVariance: false,
  },
  ultraface_rfb_320: {
    layout: {
      kind: 'corners',
      classCount: 1,
      boxes: 'boxes',
      scores: 'scores',
      anchorCount: 4420,
      normalized: true,
      background: true,
    },
    family: 'ultraface',
    boxVariance: false,
  },
  yolov5n_fp16: {
    layout: { kind: 'yolov5', classCount: 80, anchorCount: 25200, stride: 85 },
    family: 'yolov5',
    boxVariance: false,
  },
  yolov8n_640_int8dyn: {
    layout: {
      kind: 'yolov8',
      classCount: 80,
      anchorCount: 8400,
      channels: 84,
      transposed: false,
      boxDistribution: {
        output: '/model.22/dfl/Softmax_output_0',
        bins: 16,
        order: 'bins-sides-anchors',
        values: 'probabilities',
        levels: levels([8, 16, 32]),
      },
    },
    family: 'ultralytics',
    boxVariance: true,
  },
  'yolov8n-seg_320_int8dyn': {
    layout: {
      kind: 'yolov8',
      classCount: 80,
      channels: 116,
      anchorCount: 2100,
      boxDistribution: expect.objectContaining({ bins: 16, order: 'bins-sides-anchors' }),
    },
    family: 'ultralytics',
    boxVariance: true,
  },
  yolo11n_320_int8dyn: {
    layout: {
      kind: 'yolov8',
      classCount: 80,
      anchorCount: 2100,
      boxDistribution: expect.objectContaining({ output: '/model.23/dfl/Softmax_output_0' }),
    },
    family: 'ultralytics',
    boxVariance: true,
  },
  yolo26n_640_int8dyn_end2end: {
    layout: { kind: 'end-to-end', classCount: 80, rowCount: 300, stride: 6, suppressed: true },
    family: 'ultralytics',
    boxVariance: false,
  },
};

describe('shared models (skipped: models absent)', () => {
  for (const [name, expected] of Object.entries(MODELS)) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(name, async () => {
      const { model } = await loadModelFile(path ?? '');
      const { taps, input, size, shapes } = await dryRun(model, { width: 320, height: 256 });
      const finding = findHead(model, shapes, taps, { input: size });
      expect(finding.layout).toMatchObject(expected.layout);
      expect(finding.capabilities.boxVariance).toBe(expected.boxVariance);
      expect(finding.evidence.length).toBeGreaterThan(0);
      const guess = guessPreprocess(model, finding.layout, input);
      expect(guess.family).toBe(expected.family);
      expect(guess.contract.mean).not.toContain(Number.NaN);
      expect(guess.assumed[0]).toMatch(/preprocess= overrides/);
    });
  }
});
