// `export head=` before the export: which file is exported and what it is held against.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import type { ExportRequest } from '#export';
import {
  assembleDetector,
  buildDetector,
  loadModelFile,
  ownFormat,
  readMetadata,
  serialize,
  withQualityForm,
} from '#onnx';
import { readConfig } from '../../src/cli/config.ts';
import { withChosenHead } from '../../src/cli/distil-head.ts';
import { writeShapeSet } from '../support/training-sets.ts';

describe('export head=', () => {
  let folder = '';
  let model = '';
  let data = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chosen-head-'));
    model = join(folder, 'best.onnx');
    const headed = buildDetector({
      size: 'n',
      input: { width: 64, height: 64 },
      classNames: ['square', 'disc', 'bar'],
      bins: 4,
    });
    const random = createRandom(3);
    const values = headed.trainable.parameters
      .filter(({ name }) => /^head\.\d\.quality/.test(name))
      .map(({ name, shape }) => {
        const length = shape.reduce((a, b) => a * b, 1);
        return [name, Float32Array.from({ length }, () => random.normal())] as const;
      });
    await writeFile(model, serialize(assembleDetector(headed, new Map(values))));
    data = await writeShapeSet(join(folder, 'set'), { train: 8, val: 2 });
  });
  afterAll(() => rm(folder, { recursive: true }));

  function request(changes: Partial<ExportRequest> = {}): ExportRequest {
    const settings = {
      format: 'onnx',
      precision: 'float32',
      decode: false,
      boxVariance: 'auto',
      uint8: false,
      opset: 17,
    } as const;
    return { model, settings, pictures: { kind: 'labelled', data, matching: {} }, ...changes };
  }

  async function chosen(head: string | undefined, asked: ExportRequest = request()) {
    const config = readConfig('export', new Map(head === undefined ? [] : [['head', head]]), []);
    const stages = new Set<string>();
    let path = '';
    const onStage = (stage: string) => void stages.add(stage);
    const result = await withChosenHead(config, asked, { onStage }, async (given) => {
      path = given.model;
      return { given, own: JSON.parse(readMetadata((await loadModelFile(path)).model).edgeDetect!) };
    });
    return { ...result, stages: [...stages], isKept: existsSync(path) };
  }

  it('leaves the request as it is where no other head is asked for', async () => {
    const asked = request();
    expect((await chosen(undefined, asked)).given).toBe(asked);
    expect((await chosen('distribution', asked)).given).toBe(asked);
  });

  it('distils two Gaussians on the training pictures, and holds them against the original', async () => {
    const { given, own, stages, isKept } = await chosen('two-gaussian');
    expect(stages).toEqual(['distillation: pictures', 'distillation: fit']);
    expect(given).toMatchObject({
      reference: model,
      settings: { head: 'two-gaussian', precision: 'float32' },
    });
    expect(own).toMatchObject({
      head: { quality: 'two-gaussian' },
      distilled: { from: { name: 'best.onnx' }, split: 'train', pictures: 8 },
    });
    expect(isKept).toBe(false);
  }, 120_000);

  it.each(['mean-variance', 'plain'])('reads %s off the law, without pictures', async (form) => {
    const frames = { kind: 'frames', sources: [], most: 1 } as const;
    const { given, own, stages } = await chosen(form, request({ pictures: frames }));
    expect(stages).toEqual([]);
    expect(given).toMatchObject({ reference: model, settings: { head: form } });
    expect(own).toMatchObject({ head: { quality: form }, distilled: { from: { name: 'best.onnx' } } });
  });

  it('says what it lacks', async () => {
    const frames = { kind: 'frames', sources: [], most: 1 } as const;
    await expect(chosen('two-gaussian', request({ pictures: frames }))).rejects.toThrow(
      /distilled on pictures/,
    );
    const alone = await writeShapeSet(join(folder, 'alone'), { train: 2 });
    const judged = request({ pictures: { kind: 'labelled', data: alone, matching: {} } });
    await expect(chosen('two-gaussian', judged)).rejects.toThrow(/only the split train/);
    const compact = join(folder, 'compact.onnx');
    const { model: trained } = await loadModelFile(model);
    const plain = withQualityForm(trained, { form: 'plain', layer: { reads: 'law' } });
    await writeFile(compact, serialize(plain));
    expect(ownFormat(readMetadata(plain))?.quality).toBe('plain');
    const asked = request({ model: compact });
    expect((await chosen('plain', asked)).given).toBe(asked);
    for (const head of ['distribution', 'two-gaussian']) {
      await expect(chosen(head, asked)).rejects.toThrow(/compact\.onnx: .*is plain already/);
    }
  });
});
