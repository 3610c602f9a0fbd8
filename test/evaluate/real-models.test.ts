// A real model on real labelled pictures gives the average precision that an independent evaluator found.
import { describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { evaluatePredictions, predictDataset } from '#evaluate';
import { testData } from '../support/test-data.ts';

const model = testData('models/yolox_nano.onnx');
const labels = testData('datasets/coco128_permissive33/instances_33.json');

describe('a real model', () => {
  it.skipIf(model === undefined || labels === undefined)(
    'yolox_nano on coco128_permissive33 (33 pictures with crowds): AP .421, AP50 .620, each to .02',
    async () => {
      const { classNames, splits } = await loadDataset(labels ?? '');
      const pictures = Object.values(splits).flat();
      const predictions = await predictDataset(model ?? '', pictures, { suppression: { kind: 'hard' } });
      // The file names the model's own 80 classes, if in another order.
      const { averagePrecision, objects } = evaluatePredictions({ classNames, pictures }, predictions);
      expect(pictures).toHaveLength(33);
      expect(objects).toBe(243);
      expect(Math.abs((averagePrecision.ap ?? 0) - 0.421)).toBeLessThan(0.02);
      expect(Math.abs((averagePrecision.ap50 ?? 0) - 0.62)).toBeLessThan(0.02);
    },
    60_000,
  );
});
