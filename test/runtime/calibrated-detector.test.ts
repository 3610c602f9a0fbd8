// A calibrator from file or metadata to the score that is reported, on graphs that the project builds itself. It acts
// only after the suppression that it was fitted after, and only on the model that it was fitted on.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredCalibrator } from '#core';
import { ConfigError, calibrateScore, formatCalibratorFile, HARD_SUPPRESSION, ModelError } from '#core';
import { encodePicture } from '#data/images';
import {
  loadModelFile,
  readCalibrator,
  readMetadata,
  serialize,
  standInDetector,
  standInQualityDetector,
  withCalibrator,
} from '#onnx';
import { type DetectorOptions, detectPicture, openDetector } from '#runtime';
import { PLATT_SHIFT, plattCalibrator } from '../support/stored-calibrators.ts';

const SIZE = { width: 320, height: 192 };
function calibratorFor(className: string, changes: Partial<StoredCalibrator> = {}): StoredCalibrator {
  return { ...plattCalibrator({ [className]: { map: PLATT_SHIFT, samples: 90 } }), ...changes };
}

async function whiteOnBlack(): Promise<Uint8Array> {
  const [width, height] = [320, 192];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 64; y < 128; y++) rgb.fill(255, (y * width + 128) * 3, (y * width + 192) * 3);
  return encodePicture(rgb, { width, height }, 'png');
}

let folder: string;
let host: string;
let own: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'edge-detect-calibrated-'));
  host = join(folder, 'host.onnx');
  own = join(folder, 'own.onnx');
  await writeFile(host, serialize(standInDetector(SIZE)));
  const carrying = withCalibrator(standInQualityDetector(SIZE), calibratorFor('light'));
  await writeFile(own, serialize(carrying));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function firstOf(model: string, options: DetectorOptions) {
  const detector = await openDetector(model, options);
  try {
    const { detections } = await detectPicture(detector, await whiteOnBlack());
    const { suppression } = detector;
    return { ...detections[0]!, count: detections.length, suppression, carried: detector.model.calibrator };
  } finally {
    await detector.close();
  }
}

async function calibratorFile(name: string, calibrator: StoredCalibrator, model = host): Promise<string> {
  const { sha256 } = await loadModelFile(model);
  const path = join(folder, name);
  await writeFile(path, formatCalibratorFile(sha256, calibrator));
  return path;
}

async function faultOf(opening: Promise<unknown>): Promise<Error> {
  return opening.then(
    () => new Error('nothing was thrown'),
    (error: Error) => error,
  );
}

describe('a model of ours', () => {
  it('carries its calibrator: score, raw score, variance and suppression follow it', async () => {
    const raw = await firstOf(own, { calibrator: 'off', suppression: HARD_SUPPRESSION, iou: 0.5 });
    const found = await firstOf(own, { threshold: { kind: 'fixed', base: 0.05 } });
    expect(found.carried).toEqual(calibratorFor('light'));
    expect(found.suppression).toEqual(HARD_SUPPRESSION);
    expect(found.rawScore).toBe(raw.score);
    expect(found.score).toBeCloseTo(calibrateScore(PLATT_SHIFT, raw.score), 12);
    expect(found.scoreVariance).toBeGreaterThan(0);
    expect(found.scoreVariance).not.toBeCloseTo(raw.scoreVariance ?? 0, 6);
    expect(raw.carried).toBeUndefined();
  });

  it('is thresholded by the calibrated score', async () => {
    const { score, rawScore } = await firstOf(own, { threshold: { kind: 'fixed', base: 0.05 } });
    const between = (score + rawScore) / 2;
    const calibrated = await firstOf(own, { threshold: { kind: 'fixed', base: between } });
    const raw = await firstOf(own, { threshold: { kind: 'fixed', base: between }, calibrator: 'off' });
    expect(calibrated.count).toBe(0);
    expect(raw.count).toBeGreaterThan(0);
  });

  it('keeps all else of its metadata, and gives the calibrator back or away', () => {
    const before = standInQualityDetector(SIZE);
    const after = withCalibrator(before, calibratorFor('light'));
    expect(readCalibrator(readMetadata(after))).toEqual(calibratorFor('light'));
    expect(readCalibrator(readMetadata(before))).toBeUndefined();
    const without = withCalibrator(after, undefined);
    expect([...readMetadata(without).raw]).toEqual([...readMetadata(before).raw]);
  });

  it('that carries a faulty one is refused by key, unless it is off', async () => {
    const broken = join(folder, 'broken.onnx');
    const faulty = calibratorFor('light', { minScore: 2 });
    await writeFile(broken, serialize(withCalibrator(standInQualityDetector(SIZE), faulty)));
    const fault = await faultOf(openDetector(broken));
    expect(fault).toBeInstanceOf(ModelError);
    expect(fault.message).toMatch(/broken\.onnx: .*'minScore' is 2, expected a number from 0 to 1/);
    const detector = await openDetector(broken, { calibrator: 'off' });
    await detector.close();
  });
});

describe('the suppression', () => {
  it('that was asked for must be the one of the calibrator', async () => {
    const fault = await faultOf(openDetector(own, { iou: 0.7 }));
    expect(fault).toBeInstanceOf(ConfigError);
    expect(fault.message).toMatch(/iou 0\.7 instead of 0\.5/);
    expect((fault as ConfigError).hint).toMatch(/calibrator=off/);
    const other = await faultOf(openDetector(own, { suppression: { kind: 'wbf', score: 'mean' } }));
    expect(other.message).toMatch(/kind "wbf" instead of "hard"/);
    const same = await openDetector(own, { suppression: HARD_SUPPRESSION, iou: 0.5 });
    await same.close();
  });

  it('of the calibrator must be one that is known', async () => {
    const suppression = { kind: 'future', iou: 0.5, agnostic: false };
    const path = await calibratorFile('future.json', calibratorFor('white', { suppression }));
    const fault = await faultOf(openDetector(host, { calibrator: { file: path } }));
    expect(fault.message).toMatch(/'suppression\.kind' is "future"/);
  });
});

describe('a host of another make', () => {
  it('is calibrated by a file', async () => {
    const path = await calibratorFile('white.json', calibratorFor('white'));
    const found = await firstOf(host, { calibrator: { file: path } });
    expect(found.rawScore).toBeCloseTo(0.9, 5);
    expect(found.score).toBeCloseTo(calibrateScore(PLATT_SHIFT, found.rawScore), 12);
  });

  it('cannot carry one: it would be taken for one of ours', () => {
    expect(() => withCalibrator(standInDetector(SIZE), calibratorFor('white'))).toThrow(
      /only models that edge-detect wrote/,
    );
  });

  it.each([
    [
      'of another model',
      async () => calibratorFile('other.json', calibratorFor('white'), own),
      /was fitted on the model with SHA-256/,
    ],
    [
      'for a class it lacks',
      async () => calibratorFile('stray.json', calibratorFor('horse')),
      /class 'horse'/,
    ],
    ['that is not there', async () => join(folder, 'none.json'), /none\.json: the file cannot be read/],
  ])('refuses a file %s', async (_, path, message) => {
    const fault = await faultOf(openDetector(host, { calibrator: { file: await path() } }));
    expect(fault.message).toMatch(message);
  });

  it.each(['[]', '{', '{"calibrator": {}}', 'null'])('refuses a file that holds %s', async (text) => {
    const path = join(folder, `odd-${createHash('sha256').update(text).digest('hex').slice(0, 6)}.json`);
    await writeFile(path, text);
    const fault = await faultOf(openDetector(host, { calibrator: { file: path } }));
    expect(fault).toBeInstanceOf(ConfigError);
    expect(fault.message).toContain(path);
  });
});
