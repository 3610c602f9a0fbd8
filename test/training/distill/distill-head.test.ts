// Distillation as a whole: what it learns on some pictures holds on others, equal seeds give equal layers, and what it
// cannot do it says.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { type LabelledPicture, loadDataset } from '#data/datasets';
import {
  assembleDetector,
  buildDetector,
  findQuality,
  type HeadedModel,
  type ModelProto,
  withQualityForm,
} from '#onnx';
import { type DistillRequest, distillHead } from '../../../training/distill/distill-head.ts';
import { loadPlainInto } from '../../../training/pictures/sample-drawer.ts';
import { runGraph } from '../../onnx/heads/run-graph.ts';
import { writeShapeSet } from '../../support/training-sets.ts';

const input = { width: 64, height: 64 };

function headed(): HeadedModel {
  return buildDetector({ size: 'n', input, classNames: ['car'], bins: 6 });
}

/** A head that was not trained but has much to say: its laws are of all shapes. */
function talkative({ trainable, ...rest }: HeadedModel): ModelProto {
  const random = createRandom(11);
  const layers = trainable.parameters.filter(({ name }) => /^head\.\d\.quality/.test(name));
  const values = layers.map(({ name, shape }) => {
    const length = shape.reduce((a, b) => a * b, 1);
    return [name, Float32Array.from({ length }, () => 1.5 * random.normal())] as const;
  });
  return assembleDetector({ trainable, ...rest }, new Map(values));
}

describe('distillHead', () => {
  const model = talkative(headed());
  const { preprocess } = findQuality(model).spec;
  let folder = '';
  let train: readonly LabelledPicture[] = [];
  let val: readonly LabelledPicture[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'distill-'));
    const { splits } = await loadDataset(await writeShapeSet(folder, { train: 10, val: 4 }));
    [train, val] = [splits.train ?? [], splits.val ?? []];
  });
  afterAll(() => rm(folder, { recursive: true }));

  const distil = (changes: Partial<DistillRequest> = {}) =>
    distillHead({ model, preprocess, pictures: train, form: 'two-gaussian', steps: 600, ...changes });

  async function meanErrors(compact: ModelProto) {
    const errors = { mean: 0, std: 0 };
    for (const picture of val) {
      const data = new Float32Array(3 * 64 * 64);
      await loadPlainInto(data, picture, { input, preprocess });
      const feeds = { images: { data, shape: [1, 3, 64, 64] } };
      const before = (await runGraph(model, feeds)).get('quality')!.data;
      const after = (await runGraph(compact, feeds)).get('quality')!.data;
      const anchors = before.length / 2;
      for (let at = 0; at < before.length; at += 2) {
        errors.mean += Math.abs(after[at]! - before[at]!) / anchors / val.length;
        const std = Math.abs(Math.sqrt(after[at + 1]!) - Math.sqrt(before[at + 1]!));
        errors.std += std / anchors / val.length;
      }
    }
    return errors;
  }

  it.each([
    ['two-gaussian', 'logits'],
    ['mean-variance', 'logits'],
    ['mean-variance', 'features'],
  ] as const)('teaches %s from %s what the law says on other pictures', async (form, reads) => {
    const stages = new Set<string>();
    const distilled = await distillHead(
      { model, preprocess, pictures: train, form, reads, steps: 600 },
      { onProgress: (stage, done, total) => void (done <= total && stages.add(stage)) },
    );
    expect([...stages]).toEqual(['pictures', 'fit']);
    expect(distilled.layer.reads).toBe(reads);
    expect(distilled).toMatchObject({ pictures: 10 });
    const errors = await meanErrors(withQualityForm(model, { form, layer: distilled.layer }));
    expect(errors.mean).toBeLessThan(0.03);
    expect(errors.std).toBeLessThan(0.03);
  });

  it('is the same for the same seed, and another for another', async () => {
    const [first, again, other] = [
      await distil({ steps: 60, sessions: 1 }),
      await distil({ steps: 60, sessions: 2 }),
      await distil({ steps: 60, seed: 2 }),
    ];
    expect(again).toEqual(first);
    expect(other.layer).not.toEqual(first.layer);
  });

  it('takes so many pictures, spread over all', async () => {
    expect(await distil({ steps: 1, mostPictures: 3 })).toMatchObject({ pictures: 3 });
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const onProgress = (stage: string, done: number) => {
      if (stage === 'fit' && done >= 50) stop.abort(new Error('enough'));
    };
    const request = { model, preprocess, pictures: train, form: 'plain', steps: 1_000_000 } as const;
    await expect(distillHead(request, { signal: stop.signal, onProgress })).rejects.toThrow('enough');
  });

  it('says what it lacks', async () => {
    await expect(distil({ pictures: [] })).rejects.toThrow(/no pictures to distil/);
    await expect(distil({ hidden: 0 })).rejects.toThrow(/hidden is 0/);
    const quiet = assembleDetector(headed(), new Map());
    await expect(distil({ model: quiet })).rejects.toThrow(
      /next to nothing in the 10 pictures.* 0 locations/,
    );
  });
});
