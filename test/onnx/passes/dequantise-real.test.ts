// The shared int8 models, dequantised: the same objects as the int8 file found, by the golden list of real results.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Detection, iou } from '#core';
import { dequantise, isQuantised, loadModelFile, serialize } from '#onnx';
import { detectPicture, openDetector } from '#runtime';
import { testData } from '../../support/test-data.ts';

const QUANTISED = {
  yolov8n_640_int8dyn: ['darknet_dog.jpg', 'bus.jpg'],
  yolo11n_320_int8dyn: ['darknet_dog.jpg', 'bus.jpg'],
  'yolov8n-seg_320_int8dyn': ['darknet_dog.jpg', 'bus.jpg'],
  yolo26n_640_int8dyn_end2end: ['darknet_dog.jpg', 'bus.jpg'],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'edge-detect-dequantise-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function found(path: string, picture: string): Promise<readonly Detection[]> {
  const detector = await openDetector(path, { threshold: { kind: 'fixed', base: 0.2 } });
  const { detections } = await detectPicture(detector, await readFile(picture));
  await detector.close();
  return detections;
}

for (const [name, pictures] of Object.entries(QUANTISED)) {
  const path = testData(`models/${name}.onnx`);
  describe.skipIf(path === undefined)(`${name}.onnx of the shared data, dequantised`, () => {
    const float = () => join(folder, `${name}.onnx`);

    beforeAll(async () => {
      if (path === undefined) return;
      const { model } = dequantise((await loadModelFile(path)).model);
      expect(isQuantised(model)).toBe(false);
      await writeFile(float(), serialize(model));
    });

    it.each(pictures)('finds the same objects on %s', async (picture) => {
      const image = testData(`images/${picture}`) ?? '';
      const [before, after] = [await found(path ?? '', image), await found(float(), image)];
      // Rounding the activations moves a score by up to 0.08 (measured); weaker boxes come and go with it.
      const sure = before.filter(({ score }) => score >= 0.5);
      expect(sure.length).toBeGreaterThanOrEqual(3);
      for (const { box, classId, className, score } of sure) {
        const same = after.find((other) => other.classId === classId && iou(other.box, box) > 0.85);
        expect(same, `${className} ${score.toFixed(3)}`).toBeDefined();
        expect(Math.abs((same?.score ?? 0) - score), className).toBeLessThan(0.1);
      }
    });
  });
}
