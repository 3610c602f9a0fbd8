// Calibrated scores and conformal thresholds from the command line: what is in effect is said, and what does not belong
// together is refused.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateScore, formatCalibratorFile } from '#core';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';
import { PLATT_SHIFT, plattCalibrator } from '../support/stored-calibrators.ts';
import { constantDetector } from '../support/tiny-models.ts';

const folder = new RunFolder();
const CALIBRATOR = plattCalibrator({
  car: { map: PLATT_SHIFT, samples: 90 },
  person: { whyKept: '3 detections', samples: 3 },
});
const THRESHOLDS = {
  version: 1,
  score: 'raw',
  suppression: { kind: 'hard', iou: 0.5 },
  classes: { '*': 0.25 },
};
const CONFORMAL = { target: 'object-recall', alpha: 0.1, iou: 0.5 };

beforeAll(async () => {
  const boxes = [
    { cx: 30, cy: 40, w: 20, h: 40, classId: 0, score: 0.9 },
    { cx: 70, cy: 60, w: 24, h: 16, classId: 1, score: 0.7 },
  ];
  await folder.writeModel('model.onnx', constantDetector({ kind: 'yolov8', boxes }));
  await folder.write('b.png', await solidPng({ width: 96, height: 96 }, [24, 24, 24]));
  const modelSha256 = createHash('sha256')
    .update(readFileSync(folder.join('model.onnx')))
    .digest('hex');
  await folder.write('calibrator.json', formatCalibratorFile(modelSha256, CALIBRATOR));
  const write = (name: string, changes: object) =>
    folder.write(name, JSON.stringify({ ...THRESHOLDS, modelSha256, ...changes }));
  await write('raw.json', {});
  await write('calibrated.json', { score: 'calibrated', classes: { '*': 0.25, person: 0.75 } });
  await write('conformal.json', { conformal: CONFORMAL });
});
afterAll(() => folder.remove());

const BASE = ['model=model.onnx', 'source=b.png'];

describe('calibrator=', () => {
  it('names a file: scores mean what it says, and that is said', async () => {
    const { stderr, lines } = await folder.predict(...BASE, 'calibrator=calibrator.json');
    expect(stderr).toMatch(/scores are calibrated \(platt, calibrator=off for raw ones\): the IoU to expect/);
    expect(stderr).toMatch(/not for 1 of 2 classes, which keep raw scores/);
    expect(stderr).toMatch(/nms=hard/);
    const [car, person] = lines[0]?.detections ?? [];
    expect(car?.confidence).toBeCloseTo(calibrateScore(PLATT_SHIFT, Math.fround(0.9)), 4);
    expect(person?.confidence).toBeCloseTo(0.7, 4);
  });

  it('off leaves raw scores, and says nothing of them', async () => {
    const { stderr, lines } = await folder.predict(...BASE, 'calibrator=off');
    expect(stderr).not.toMatch(/calibrated/);
    expect(lines[0]?.detections[0]?.confidence).toBeCloseTo(0.9, 4);
  });

  it('works with thresholds for calibrated scores', async () => {
    const words = [...BASE, 'calibrator=calibrator.json', 'thresholds=calibrated.json'];
    const { lines } = await folder.predict(...words);
    expect(lines[0]?.detections.map(({ name }) => name)).toEqual(['car']);
  });
});

it('nms=wbf runs on any model', async () => {
  const { stderr, lines } = await folder.predict(...BASE, 'nms=wbf', 'threshold=fixed');
  expect(stderr).not.toMatch(/cannot work/);
  expect(lines[0]?.detections).toHaveLength(2);
});

it('conformal thresholds say what they promise', async () => {
  const { stderr } = await folder.predict(...BASE, 'thresholds=conformal.json', 'threshold=conformal');
  expect(stderr).toMatch(/conformal\.json promises: misses at most 10 % of the objects/);
});

it('what does not belong together is refused', { timeout: 120_000 }, async () => {
  const mistakes: readonly (readonly [words: readonly string[], code: number, says: RegExp])[] = [
    [['calibrator=none.json'], 3, /calibrator=none\.json: the file cannot be read/],
    [['calibrator=calibrator.json', 'iou=0.7'], 3, /iou 0\.7 instead of 0\.5.*\n.*calibrator=off/],
    [['calibrator=calibrator.json', 'nms=wbf'], 3, /kind "wbf" instead of "hard"/],
    [
      ['calibrator=calibrator.json', 'thresholds=raw.json'],
      3,
      /for raw scores, and a calibrator is in effect/,
    ],
    [['thresholds=calibrated.json'], 3, /for calibrated scores, and no calibrator is in effect/],
    [['threshold=conformal'], 3, /threshold=conformal: .*\n.*thresholds=<file>/],
    [['thresholds=raw.json', 'threshold=conformal'], 3, /carry no such promise/],
    [['nms=vote'], 5, /nms=vote cannot work/],
  ];
  const faults: string[] = [];
  for (const [words, code, says] of mistakes) {
    const result = await folder.run(['predict', ...BASE, ...words]);
    faults.push(...faultsOfRefusal(result, code), ...(says.test(result.stderr) ? [] : [result.stderr]));
  }
  expect(faults).toEqual([]);
});
