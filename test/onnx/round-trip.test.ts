import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { deserialize, fromHalfBits, serialize, toHalfBits } from '#onnx';
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

describe('half precision', () => {
  it('every finite half survives both ways', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = fromHalfBits(bits);
      if (Number.isNaN(value)) expect(toHalfBits(value) & 0x7c00).toBe(0x7c00);
      else expect(toHalfBits(value)).toBe(bits);
    }
  });

  it.each([
    [65504, 0x7bff],
    [65519, 0x7bff],
    [65520, 0x7c00],
    [-1e9, 0xfc00],
    [2 ** -24, 1],
    [2 ** -25, 0],
    [1.5 * 2 ** -24, 2],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [1023.5 * 2 ** -24, 0x0400],
  ])('%d rounds to nearest even', (value, bits) => {
    expect(toHalfBits(value)).toBe(bits);
  });
});
