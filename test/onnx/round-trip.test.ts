import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { deserialize, serialize } from '#onnx';
import { testData } from '../support/test-data.ts';

const MODELS = [
  'fastestdet',
  'nanodet_m_320',
  'ultraface_rfb_320',
  'yolo11n_320_int8dyn',
  'yolo26n_640_int8dyn_end2end',
  'yolov5n_fp16',
  'yolov8n-seg_320_int8dyn',
  'yolov8n_640_int8dyn',
  'yolox_nano',
  'yolox_person_192',
  'yunet_n_640',
  'yunet_n_dynamic',
];

describe('reading and writing gives the same bytes (skipped: models absent)', () => {
  for (const name of MODELS) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(name, async () => {
      const bytes = await readFile(path ?? '');
      expect(Buffer.compare(serialize(deserialize(bytes)), bytes)).toBe(0);
    });
  }
});
