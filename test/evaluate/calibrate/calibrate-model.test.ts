// From a model file and labelled pictures to a calibrator that the runtime takes, on pictures and graphs made here.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateScore } from '#core';
import { calibrateModel, predictDataset, validateModel, writeCalibration, writeCalibrator } from '#evaluate';
import {
  loadModelFile,
  readCalibrator,
  readMetadata,
  serialize,
  standInDetector,
  standInQualityDetector,
} from '#onnx';
import { writeLightSet } from '../../support/light-set.ts';

const SIZE = { width: 320, height: 192 };
let folder: string;
let own: string;
let host: string;
let lights: string;
let whites: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'edge-detect-calibrate-'));
  own = join(folder, 'own.onnx');
  host = join(folder, 'host.onnx');
  await writeFile(own, serialize(standInQualityDetector(SIZE)));
  await writeFile(host, serialize(standInDetector(SIZE)));
  const common = { pictures: 36, unlabelled: 0.3 };
  lights = await writeLightSet(join(folder, 'lights'), {
    ...common,
    className: 'light',
    brightness: [90, 230],
  });
  whites = await writeLightSet(join(folder, 'whites'), {
    ...common,
    className: 'white',
    brightness: [255, 255],
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pictureOf = (data: string) => [{ path: join(data, '..', 'images', 'cam0-000.png') }];

describe('a model of ours', () => {
  it('carries its calibrator in a copy, and runs with it', async () => {
    const calibration = await calibrateModel({ model: own, data: lights, resamples: 20 });
    await writeCalibrator(calibration);
    expect(calibration.outPath).toBe(join(folder, 'own-calibrated.onnx'));
    const carried = readCalibrator(readMetadata((await loadModelFile(calibration.outPath)).model));
    expect(carried).toEqual(calibration.stored);
    expect(carried?.suppression).toMatchObject({ kind: 'hard', iou: 0.7, agnostic: false });
    expect(readCalibrator(readMetadata((await loadModelFile(own)).model))).toBeUndefined();
    const entry = carried?.classes['light'];
    const map = entry && 'map' in entry ? entry.map : undefined;
    const { pictures } = await predictDataset(calibration.outPath, pictureOf(lights));
    const [first] = pictures[0]?.detections ?? [];
    expect(map && first && calibrateScore(map, first.rawScore)).toBeCloseTo(first?.score ?? 0, 6);
    expect(first?.score).not.toBeCloseTo(first?.rawScore ?? 0, 2);
    const { report } = await validateModel({ model: calibration.outPath, data: lights });
    const raw = calibration.validation.report.calibration.quality;
    expect(report.calibration.quality.laEce.mean).toBeLessThan((raw.laEce.mean ?? 0) / 2);
  });

  it('is fitted on raw scores even where it carries a calibrator already', async () => {
    const carrying = join(folder, 'own-calibrated.onnx');
    const again = await calibrateModel({ model: carrying, data: lights, resamples: 20, out: carrying });
    expect(again.outPath).toBe(carrying);
    const first = await calibrateModel({ model: own, data: lights, resamples: 20 });
    expect(again.stored.classes).toEqual(first.stored.classes);
  });
});

describe('a model of others', () => {
  it('gets a file that names it', async () => {
    const calibration = await calibrateModel({
      model: host,
      data: whites,
      target: 'correct',
      method: 'platt',
      predict: { iou: 0.5 },
      resamples: 20,
    });
    await writeCalibrator(calibration);
    expect(calibration.outPath).toBe(join(folder, 'host-calibrator.json'));
    const { pictures } = await predictDataset(host, pictureOf(whites), {
      calibrator: { file: calibration.outPath },
      iou: 0.5,
    });
    const [first] = pictures[0]?.detections ?? [];
    // Seven of ten are labelled: 0.9 was too high.
    expect(first?.rawScore).toBeCloseTo(0.9, 6);
    expect(first?.score).toBeGreaterThan(0.55);
    expect(first?.score).toBeLessThan(0.85);
    expect(calibration.study.crossFit.calibrated.dEce.measured?.error).toBeLessThan(0.1);
  });

  it('takes the map of the class that its own is called by', async () => {
    const data = await writeLightSet(join(folder, 'lamps'), {
      pictures: 24,
      unlabelled: 0.3,
      className: 'lamp',
      brightness: [255, 255],
    });
    const matching = { classMap: { white: 'lamp' } };
    const { stored, study } = await calibrateModel({ model: host, data, matching, resamples: 20 });
    expect(Object.keys(stored.classes)).toEqual(['white']);
    // 24 pictures of three cameras: 16 detections are left where one is held out.
    expect(study.classes[0]?.foldsWithoutMap).toBe(3);
    await expect(calibrateModel({ model: host, data })).rejects.toThrow(/labelled with lamp/);
  });
});

it('writes figures, a page and the diagram', async () => {
  const calibration = await calibrateModel({ model: own, data: lights, resamples: 20 });
  await writeCalibration(calibration, folder, { plots: true });
  const results = JSON.parse(await readFile(join(folder, 'results.json'), 'utf8'));
  expect(results).toMatchObject({
    method: 'beta',
    target: 'quality',
    judgedOn: { cameras: ['cam0', 'cam1', 'cam2'] },
  });
  const page = await readFile(join(folder, 'report.html'), 'utf8');
  expect(page).toContain('each of 3 cameras (cam0, cam1, cam2) by maps that were fitted on the other 2');
  expect(page).toContain('<svg');
  expect((await readFile(join(folder, 'reliability.png'))).subarray(1, 4).toString()).toBe('PNG');
});

describe('what cannot be is said before or after, never hidden', () => {
  it('no object, too few detections, the wrong kind of file', async () => {
    const set = (name: string, pictures: number, unlabelled: number) =>
      writeLightSet(join(folder, name), { pictures, unlabelled, className: 'white', brightness: [255, 255] });
    const empty = await set('empty', 6, 1.1);
    await expect(calibrateModel({ model: host, data: empty })).rejects.toThrow(/show no object of a class/);
    const few = await set('few', 6, 0);
    await expect(calibrateModel({ model: host, data: few })).rejects.toThrow(
      /white: 6 detections, a map needs 20/,
    );
    await expect(calibrateModel({ model: own, data: lights, out: 'c.json' })).rejects.toThrow(
      /into a \.onnx file/,
    );
    await expect(calibrateModel({ model: host, data: whites, out: 'c.onnx' })).rejects.toThrow(
      /into a \.json file/,
    );
    const nowhere = join(folder, 'none', 'c.json');
    await expect(calibrateModel({ model: host, data: whites, out: nowhere })).rejects.toThrow(
      /folder cannot be read/,
    );
  });
});
