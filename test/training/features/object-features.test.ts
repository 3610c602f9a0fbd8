// Rows of a host at the anchors of labelled objects.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { loadDataset } from '#data/datasets';
import { serialize } from '#onnx';
import { openOnnxEngine } from '../../../training/engines/onnx/engine.ts';
import { objectFeatures } from '../../../training/features/object-features.ts';
import { tinyHost } from '../../support/tiny-hosts.ts';
import { writeShapeSet } from '../../support/training-sets.ts';

const scratch = mkdtempSync(join(tmpdir(), 'object-features-'));
const model = join(scratch, 'host.onnx');
let data = '';
beforeAll(async () => {
  writeFileSync(model, serialize(tinyHost('yolov8')));
  data = await writeShapeSet(join(scratch, 'set'), { train: 10 });
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const context = {
  openEngine: async (part: Parameters<typeof openOnnxEngine>[0]) => openOnnxEngine(part),
};

describe('objectFeatures', () => {
  it('gives one row per object, in order, the same twice', async () => {
    const { classNames, splits } = await loadDataset(data);
    const pictures = splits.train!;
    const found = await objectFeatures({ model, classNames, pictures }, context);
    const objects = pictures.flatMap((picture, place) =>
      picture.objects.map(({ classId }) => ({ classId, place })),
    );
    // Objects may hide each other, but most have an anchor; none has two.
    expect(found.labels.length).toBeGreaterThan(0.8 * objects.length);
    expect(found.labels.length).toBeLessThanOrEqual(objects.length);
    expect(found.features).toHaveLength(found.labels.length * found.width);
    expect(found.width).toBeGreaterThan(4);
    for (const [row, place] of found.pictures.entries()) {
      const own = pictures[place]!.objects.map(({ classId }) => classId);
      expect(own).toContain(found.labels[row]);
    }
    expect(new Set(found.features).size).toBeGreaterThan(found.width);
    expect(await objectFeatures({ model, classNames, pictures }, context)).toEqual(found);
  });

  it('refuses a network without weights, and pictures without objects', async () => {
    await expect(
      objectFeatures({ model: 'edge-n', classNames: ['a', 'b'], pictures: [] }, context),
    ).rejects.toThrow(DataError);
    await expect(objectFeatures({ model, classNames: ['a', 'b'], pictures: [] }, context)).rejects.toThrow(
      /no labelled object/,
    );
  });
});
