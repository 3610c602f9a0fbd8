// Which pictures a calibrator is fitted on again after an export: none that the gate judges on or the model learned from.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelProto, parseModel, readCalibrator, readMetadata, serialize, withCalibrator } from '#onnx';
import { refitCalibrator } from '../../export/refit-calibrator.ts';
import type { ExportRequest } from '../../export/settings.ts';
import { RunFolder } from '../support/run-folder.ts';
import { PLATT_SHIFT, plattCalibrator } from '../support/stored-calibrators.ts';
import { writeStreetSet } from '../support/street-set.ts';

/** It says of itself that it was trained on `street/data.yaml`. */
const SAMPLE = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const STORED = plattCalibrator({ car: { map: PLATT_SHIFT, samples: 90 } });

const folder = new RunFolder();
let model: ModelProto;
let path: string;
let names = '';

beforeAll(async () => {
  const set = await writeStreetSet(folder.join('street'), { hours: ['day'], cameras: 2, pictures: 12 });
  names = /names: .*/.exec(await readFile(set.data, 'utf8'))?.[0] ?? '';
  model = withCalibrator(parseModel(SAMPLE, await readFile(SAMPLE)), STORED);
  path = folder.join('model.onnx');
  await writeFile(path, serialize(model));
}, 60_000);
afterAll(() => folder.remove());

/** Refits beside a gate that judges on `val`. */
async function refit(set: string, ...splits: string[]) {
  const data = folder.join(set, 'data.yaml');
  const lines = splits.map((split) => `${split}: images`);
  await writeFile(data, `${lines.join('\n')}\n${names}\n`);
  const request = { pictures: { kind: 'labelled', data, split: 'val' } } as unknown as ExportRequest;
  return refitCalibrator(model, path, request);
}

describe('a calibrator after an export', () => {
  it('is not fitted to pictures that the model learned from: it stays', async () => {
    const { model: fitted, notes } = await refit('street', 'train', 'val');
    expect(fitted).toBeUndefined();
    expect(notes.join()).toMatch(/stays as it is.*besides those of the gate and those that it learned from/);
  });

  it('is fitted to a third split', async () => {
    const { model: fitted, notes } = await refit('street', 'train', 'val', 'test');
    expect(notes.join()).toMatch(/fitted again.*split test, 24 pictures/);
    expect(fitted && readCalibrator(readMetadata(fitted))?.classes).not.toEqual(STORED.classes);
  });

  it('is fitted to the training pictures of a set that the model does not know', async () => {
    await mkdir(folder.join('elsewhere'));
    await rename(folder.join('street/images'), folder.join('elsewhere/images'));
    await rename(folder.join('street/labels'), folder.join('elsewhere/labels'));
    expect((await refit('elsewhere', 'train', 'val')).notes.join()).toMatch(/fitted again.*split train/);
  });
});
