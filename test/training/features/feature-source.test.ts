import { copyFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, DataError, ModelError } from '#core';
import { ElementType, floats, graph, model, node, valueInfo } from '#onnx';
import { createFeatureFile, openFeatureFile } from '../../../training/features/feature-file.ts';
import {
  type CacheOptions,
  createFeatureSource,
  type FeatureSourceOptions,
} from '../../../training/features/feature-source.ts';
import { AUGMENT_DEFAULTS, AUGMENT_OFF } from '../../../training/pictures/augment-config.ts';
import type { BatchSource, TrainingBatch } from '../../../training/pictures/batch-source.ts';
import { INPUT, makePictureSet, type PictureSet, PREPROCESS } from '../pictures/picture-set.ts';

/** Two boundary tensors: means and maxima over squares of 8 and 16 px, times a factor. */
function poolingPart(factor = 1) {
  return model(
    graph({
      name: 'frozen',
      nodes: [
        node('Mul', ['images', 'factor'], ['scaled'], {}),
        node('AveragePool', ['scaled'], ['fine'], { kernel_shape: [8n, 8n], strides: [8n, 8n] }),
        node('MaxPool', ['scaled'], ['coarse'], { kernel_shape: [16n, 16n], strides: [16n, 16n] }),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 64, 64])],
      outputs: [
        valueInfo('fine', ElementType.FLOAT, [1, 3, 8, 8]),
        valueInfo('coarse', ElementType.FLOAT, [1, 3, 4, 4]),
      ],
      initializers: [floats('factor', [1], [factor])],
    }),
  );
}

const FEATURES = [
  { name: 'fine', shape: [3, 8, 8] },
  { name: 'coarse', shape: [3, 4, 4] },
];
const RECORD_BYTES = 2 * (192 + 48);

let set: PictureSet;
let folder: string;
let opened: BatchSource[];
beforeAll(async () => {
  set = await makePictureSet(7);
});
afterAll(() => set.remove());
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'feature-cache-')), 'cache');
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((source) => source.close()));
  await rm(join(folder, '..'), { recursive: true, force: true });
});

const cacheOf = (options: Partial<CacheOptions> = {}): CacheOptions => ({
  folder,
  variants: 2,
  budgetBytes: 1e9,
  keep: false,
  ...options,
});

async function source(options: Partial<FeatureSourceOptions> = {}) {
  let computed = 0;
  const features = await createFeatureSource({
    frozen: poolingPart(),
    inputName: 'images',
    features: FEATURES,
    training: set.pictures,
    validation: set.pictures.slice(0, 3),
    input: INPUT,
    preprocess: PREPROCESS,
    batchSize: 3,
    seed: 5,
    sessions: 1,
    augment: { ...AUGMENT_DEFAULTS, mosaic: 0.5 },
    onProgress: ({ done, total }) => {
      expect(done).toBe(++computed);
      expect(total).toBeGreaterThanOrEqual(done);
    },
    ...options,
  });
  opened.push(features);
  return Object.assign(features, { computed: () => computed });
}

async function copies(batches: AsyncIterable<TrainingBatch>) {
  const all = [];
  for await (const { inputs, targets, names } of batches) {
    const tensors = [...inputs].map(([name, { shape, data }]) => ({ name, shape, data: data.slice() }));
    all.push({ tensors, targets, names });
  }
  return all;
}

describe('a source of cached features', () => {
  it('holds the features of the pictures as they are, to half precision', async () => {
    const cached = await source({ cache: cacheOf({ variants: 0 }) });
    expect(cached.computed()).toBe(10);
    const direct = await source({ augment: AUGMENT_OFF });
    for (const [found, expected] of [
      [await copies(cached.epoch(0)), await copies(direct.epoch(0))],
      [await copies(cached.validation()), await copies(direct.validation())],
    ] as const) {
      expect(found.map(({ names }) => names)).toEqual(expected.map(({ names }) => names));
      expect(found.map(({ targets }) => targets)).toEqual(expected.map(({ targets }) => targets));
      found.forEach(({ tensors }, batch) => {
        tensors.forEach(({ name, shape, data }, place) => {
          const other = expected[batch]!.tensors[place]!;
          expect(name).toBe(other.name);
          expect(shape).toEqual(other.shape);
          const error = Math.max(...data.map((value, i) => Math.abs(value / other.data[i]! - 1)));
          expect(error).toBeLessThanOrEqual(2 ** -11);
        });
      });
    }
    // Not merely zeros: picture 2 is 20 dark, its object white.
    const [first] = await copies(direct.validation());
    const fine = first!.tensors[0]!.data.subarray(2 * 192, 3 * 192);
    expect(fine[5 * 8 + 7]).toBeCloseTo(20 / 255, 4);
    expect(fine[0]).toBeCloseTo(114 / 255, 4);
  });

  it('leads every picture through all of its variants in turn', async () => {
    const cached = await source({ cache: cacheOf() });
    expect(cached.computed()).toBe(7 * 3 + 3);
    const bySample = new Map<string, string[]>();
    for (let epoch = 0; epoch < 6; epoch++) {
      for (const { tensors, names } of await copies(cached.epoch(epoch))) {
        names.forEach((name, place) => {
          const fine = tensors[0]!.data.subarray(192 * place, 192 * (place + 1));
          bySample.set(name, [...(bySample.get(name) ?? []), fine.join()]);
        });
      }
    }
    expect(bySample.size).toBe(7);
    for (const seen of bySample.values()) {
      expect(new Set(seen.slice(0, 3)).size).toBe(3);
      expect(seen.slice(3)).toEqual(seen.slice(0, 3));
    }
  });

  it('gives a resumed run the same batches, from a cache made anew', async () => {
    const expected = await copies((await source({ cache: cacheOf() })).epoch(4));
    await opened[0]!.close();
    const again = await source({ cache: cacheOf(), sessions: 2 });
    expect(again.computed()).toBe(24);
    expect(await copies(again.epoch(4, { skipBatches: 1 }))).toEqual(expected.slice(1));
  });

  it('takes up a kept cache only where nothing has changed', async () => {
    const first = await source({ cache: cacheOf({ keep: true }) });
    const expected = await copies(first.epoch(1));
    await first.close();
    const same = await source({ cache: cacheOf({ keep: true }) });
    expect(same.computed()).toBe(0);
    expect(await copies(same.epoch(1))).toEqual(expected);
    await same.close();
    const [picture, ...others] = set.pictures;
    const moved = { ...picture!, objects: [{ ...picture!.objects[0]!, classId: 1 }] };
    for (const changed of [
      { frozen: poolingPart(1.5) },
      { seed: 6 },
      { augment: AUGMENT_OFF },
      { training: [moved, ...others] },
      { training: [...others, picture!] },
    ]) {
      const other = await source({ cache: cacheOf({ keep: true }), ...changed });
      expect(other.computed()).toBe(24);
      await other.close();
    }
  });

  it('notices a picture that was replaced by one of the same name', async () => {
    const path = join(set.folder, 'replaced.png');
    await copyFile(set.pictures[1]!.path, path);
    const training = [{ ...set.pictures[1]!, path }];
    const run = async () => {
      const made = await source({ training, validation: [], cache: cacheOf({ keep: true, variants: 0 }) });
      await made.close();
      return made.computed();
    };
    expect([await run(), await run()]).toEqual([1, 0]);
    await copyFile(set.pictures[2]!.path, path);
    expect(await run()).toBe(1);
  });

  it('never believes a cache that is damaged', async () => {
    const damages: ((file: string, index: string) => Promise<void>)[] = [
      async (file) => {
        const bytes = await readFile(file);
        bytes[3 * RECORD_BYTES + 7]! ^= 1;
        await writeFile(file, bytes);
      },
      (file) => truncate(file, 23 * RECORD_BYTES),
      (file) => rm(file),
      async (_, index) => truncate(index, (await readFile(index)).length - 10),
      (_, index) => rm(index),
    ];
    for (const damage of damages) {
      const made = await source({ cache: cacheOf({ keep: true }) });
      await made.close();
      const names = await readdir(folder);
      expect(names.length).toBe(2);
      await damage(
        join(folder, names.find((name) => name.endsWith('.f16'))!),
        join(folder, 'features-index.json'),
      );
      const again = await source({ cache: cacheOf() });
      expect(again.computed()).toBe(24);
      expect(await readdir(folder)).toHaveLength(2);
      await again.close();
    }
  });

  it('deletes itself on close, and only itself', async () => {
    const made = await source({ cache: cacheOf() });
    await writeFile(join(folder, 'notes.txt'), 'mine');
    await made.close();
    await made.close();
    expect(await readdir(folder)).toEqual(['notes.txt']);
  });

  it('leaves nothing behind that could be taken for a cache when it is stopped half-way', async () => {
    const stop = new AbortController();
    const onProgress = ({ done }: { done: number }) => {
      if (done === 5) stop.abort(new Error('stopped by hand'));
    };
    const half = source({ cache: cacheOf({ keep: true }), signal: stop.signal, onProgress });
    await expect(half).rejects.toThrow('stopped by hand');
    expect(await readdir(folder)).toEqual([]);
  });

  it('says what does not fit into the budget, and what would', async () => {
    // 24 records of 480 bytes; one variant makes 17.
    const tight = source({ cache: cacheOf({ budgetBytes: 18 * RECORD_BYTES }) });
    await expect(tight).rejects.toThrow(ConfigError);
    await expect(tight).rejects.toThrow(/7 training pictures × 3 .* \+ 3 validation pictures/);
    await expect(tight).rejects.toMatchObject({
      hint: expect.stringMatching(/variants=1 fits.*cache_gb=.*cache=none/),
    });
    expect(
      (await source({ cache: cacheOf({ budgetBytes: 17 * RECORD_BYTES, variants: 1 }) })).computed(),
    ).toBe(17);
  });

  it('refuses values that half precision cannot hold, which cache=none can', async () => {
    const frozen = poolingPart(1e6);
    const refused = source({ frozen, cache: cacheOf() });
    await expect(refused).rejects.toThrow(DataError);
    await expect(refused).rejects.toThrow(/\.png: .*fine.*65504/);
    const direct = await source({ frozen, augment: AUGMENT_OFF });
    const [batch] = await copies(direct.validation());
    expect(Math.max(...batch!.tensors[1]!.data)).toBe(1e6);
  });

  it('names a damaged picture and a tensor of another shape', async () => {
    const damaged = join(set.folder, 'damaged.png');
    await writeFile(damaged, 'no picture');
    const training = [...set.pictures, { path: damaged, id: 'x', objects: [] }];
    await expect(source({ training, cache: cacheOf() })).rejects.toThrow(/damaged\.png/);
    const features = [FEATURES[0]!, { name: 'coarse', shape: [3, 4, 5] }];
    const other = source({ features, cache: cacheOf() });
    await expect(other).rejects.toThrow(ModelError);
    await expect(other).rejects.toThrow(/coarse \[1, 3, 4, 4\], expected \[1, 3, 4, 5\]/);
  });
});

describe('features computed for every batch', () => {
  it('are augmented anew in every epoch, and the same for the same epoch', async () => {
    const direct = await source();
    const [zero, one] = [await copies(direct.epoch(0)), await copies(direct.epoch(1))];
    expect(await copies(direct.epoch(0))).toEqual(zero);
    expect(await copies((await source()).epoch(1, { skipBatches: 2 }))).toEqual(one.slice(2));
    const sorted = (batches: typeof zero) =>
      batches.flatMap(({ names, tensors }) =>
        names.map(
          (name, place) => `${name} ${tensors[0]!.data.subarray(192 * place, 192 * (place + 1)).join()}`,
        ),
      );
    const shared = sorted(zero).filter((sample) => sorted(one).includes(sample));
    expect(shared).toEqual([]);
  });
});

describe('a file of features', () => {
  it('is invisible until it is finished, as after a kill', async () => {
    const shape = { recordCount: 2, recordBytes: 4, fingerprint: 'a' };
    const killed = await createFeatureFile(folder, shape);
    await killed.write(1, Uint8Array.of(1, 2, 3, 4));
    expect(await openFeatureFile(folder, shape)).toBeUndefined();
    const next = await createFeatureFile(folder, shape);
    expect(await readdir(folder)).toHaveLength(1);
    await next.write(1, Uint8Array.of(5, 6, 7, 8));
    await expect(next.finish([])).rejects.toThrow(/record 0 of 2/);
    await next.write(0, Uint8Array.of(1, 2, 3, 4));
    const file = await next.finish(['a note']);
    await file.close();
    await killed.discard();
    const opened = await openFeatureFile(folder, shape);
    expect(opened!.notes).toEqual(['a note']);
    const bytes = new Uint8Array(4);
    await opened!.readInto(bytes, 1);
    expect([...bytes]).toEqual([5, 6, 7, 8]);
    await opened!.close();
    expect(await openFeatureFile(folder, { ...shape, fingerprint: 'b' })).toBeUndefined();
  });
});
