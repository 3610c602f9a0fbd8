import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, DataError, toFrame } from '#core';
import { AUGMENT_DEFAULTS, AUGMENT_OFF } from '../../../training/pictures/augment-config.ts';
import type { BatchSource, TrainingBatch } from '../../../training/pictures/batch-source.ts';
import { createPictureSource, type PictureSourceOptions } from '../../../training/pictures/picture-source.ts';
import { INPUT, makePictureSet, type PictureSet, PREPROCESS } from './picture-set.ts';

let set: PictureSet;
beforeAll(async () => {
  set = await makePictureSet(7);
});
afterAll(() => set.remove());

function source(options: Partial<PictureSourceOptions> = {}): BatchSource {
  return createPictureSource({
    training: set.pictures,
    validation: set.pictures.slice(0, 3),
    input: INPUT,
    preprocess: PREPROCESS,
    batchSize: 3,
    seed: 5,
    inputName: 'images',
    augment: () => AUGMENT_OFF,
    ...options,
  });
}

/** Batches are lent: what is compared later is copied. */
async function copies(batches: AsyncIterable<TrainingBatch>) {
  const all = [];
  for await (const { inputs, targets, names } of batches) {
    const { shape, data } = inputs.get('images')!;
    all.push({ shape, data: data.slice(), targets, names });
  }
  return all;
}

describe('a source of pictures', () => {
  it('shows every picture once an epoch, in another order each time, the last batch smaller', async () => {
    const pictures = source();
    expect(pictures.batchesPerEpoch).toBe(3);
    const orders = [];
    for (const epoch of [0, 1]) {
      const batches = await copies(pictures.epoch(epoch));
      expect(batches.map(({ shape }) => shape[0])).toEqual([3, 3, 1]);
      expect(batches.every(({ shape, data }) => data.length === shape[0]! * 3 * 64 * 64)).toBe(true);
      const names = batches.flatMap((batch) => batch.names);
      expect([...names].sort()).toEqual(set.pictures.map(({ path }) => path));
      orders.push(names);
    }
    expect(orders[0]).not.toEqual(orders[1]);
  });

  it('writes input and targets of the same picture into the same place', async () => {
    for (const { data, targets, names } of await copies(source().epoch(2))) {
      names.forEach((name, place) => {
        const n = set.pictures.findIndex(({ path }) => path === name);
        // 96x48 in 64x64: the content is rows 16 to 47.
        const at = (y: number, x: number) => data[place * 3 * 4096 + y * 64 + x]! * 255;
        expect(at(45, 60)).toBeCloseTo(10 + 5 * n, 3);
        expect(at(3, 3)).toBeCloseTo(114, 3);
        expect(at(28, 24)).toBeCloseTo(255, 3);
        const object = targets.starts[place]!;
        expect(targets.starts[place + 1]! - object).toBe(1);
        expect([...targets.boxes.subarray(4 * object, 4 * object + 4)]).toEqual([16, 24, 32, 32]);
        expect(targets.classIds[object]).toBe(n % 2);
        const crowds = targets.ignoreStarts[place + 1]! - targets.ignoreStarts[place]!;
        expect(crowds).toBe(n % 3 === 0 ? 1 : 0);
      });
    }
  });

  it('gives a resumed run what the uninterrupted one would have seen, to the bit', async () => {
    const augment = () => ({ ...AUGMENT_DEFAULTS, cutout: 0.5 });
    const whole = source({ augment });
    await copies(whole.epoch(0));
    const expected = await copies(whole.epoch(1));
    const resumed = await copies(source({ augment, keepBytes: 0 }).epoch(1, { skipBatches: 1 }));
    expect(resumed).toEqual(expected.slice(1));
    const other = await copies(source({ augment, seed: 6 }).epoch(1));
    expect(other).not.toEqual(expected);
  });

  it('lends its memory until the next batch, and replaces what was moved away', async () => {
    const expected = await copies(source().epoch(0));
    const seen = [];
    for await (const { inputs } of source().epoch(0)) {
      const { data } = inputs.get('images')!;
      await new Promise((resolve) => setTimeout(resolve, 30));
      seen.push(structuredClone(data, { transfer: [data.buffer] }));
    }
    expect(seen).toEqual(expected.map(({ data }) => data));
  });

  it('validates in order, unaugmented, and leads boxes back to the frame', async () => {
    const frames: (string | number)[] = [];
    const augment = () => AUGMENT_DEFAULTS;
    for await (const batch of source({ augment, batchSize: 2 }).validation()) {
      batch.pictures.forEach((picture, place) => {
        frames.push(picture.id);
        const first = 4 * batch.targets.starts[place]!;
        const [x1, y1, x2, y2] = batch.targets.boxes.subarray(first, first + 4) as unknown as number[];
        const box = toFrame(batch.letterboxes[place]!, { x1: x1!, y1: y1!, x2: x2!, y2: y2! });
        expect(box).toEqual({ x1: 24, y1: 12, x2: 48, y2: 24 });
      });
    }
    expect(frames).toEqual([0, 1, 2]);
  });

  it('stops with the name of a damaged picture, and takes up after it', async () => {
    const damaged = `${set.folder}/damaged.png`;
    await writeFile(damaged, 'no picture');
    const training = [...set.pictures, { path: damaged, id: 'x', objects: [] }];
    const broken = source({ training });
    await expect(copies(broken.epoch(0))).rejects.toThrow(DataError);
    await expect(copies(broken.epoch(1))).rejects.toThrow(/damaged\.png/);
    expect((await copies(broken.validation())).length).toBe(1);
  });

  it('ends when it is told to or when nobody listens any more', async () => {
    const pictures = source();
    for await (const _ of pictures.epoch(0)) break;
    const stop = new AbortController();
    const batches = pictures.epoch(0, { signal: stop.signal })[Symbol.asyncIterator]();
    await batches.next();
    stop.abort(new Error('stopped by hand'));
    await expect(batches.next()).rejects.toThrow('stopped by hand');
    await pictures.close();
  });

  it('makes an empty epoch of an empty set, and refuses a batch of nothing', async () => {
    expect(await copies(source({ training: [], validation: [] }).epoch(0))).toEqual([]);
    expect(() => source({ batchSize: 0 })).toThrow(ConfigError);
    expect(() => source({ augment: () => ({ ...AUGMENT_OFF, scale: 2 }) }).epoch(0)).toThrow(/^scale/);
  });
});
