// The best anchors by their best class, in order, of every output alike.
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { type ModelProto, serialize } from '#onnx';
import { keepTopAnchors } from '../../../export/passes/top-anchors.ts';
import { constantGraph } from '../../support/tiny-models.ts';

const PICTURE = new ort.Tensor('float32', new Float32Array(2 * 3 * 96 * 96), [2, 3, 96, 96]);

async function run(model: ModelProto, batch = 1): Promise<Readonly<Record<string, readonly number[]>>> {
  const session = await ort.InferenceSession.create(serialize(model), { logSeverityLevel: 3 });
  const feed =
    batch === 2 ? PICTURE : new ort.Tensor('float32', new Float32Array(3 * 96 * 96), [1, 3, 96, 96]);
  const results = await session.run({ images: feed });
  await session.release();
  return Object.fromEntries(
    Object.entries(results).map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
  );
}

const ANCHORS = [0, 1, 2, 3];
const boxes = {
  name: 'boxes',
  shape: [1, 4, 4],
  values: ANCHORS.flatMap((anchor) => [anchor, anchor, 9, 9]),
};
const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 6));

describe('the best anchors', () => {
  for (const opset of [11, 17, 18]) {
    it(`of a decoded model come by their best class, opset ${opset}`, async () => {
      const model = constantGraph({
        opset,
        outputs: [
          boxes,
          { name: 'scores', shape: [1, 4, 2], values: [0.1, 0.2, 0.9, 0, 0.2, 0.1, 0.3, 0.8] },
          { name: 'box_var', shape: [1, 4, 4], values: ANCHORS.flatMap((anchor) => [anchor, 1, 2, 3]) },
        ],
      });
      const found = await run(keepTopAnchors(model, { count: 3 }));
      // Anchors 0 and 2 are equally good: the lower one stays.
      expect(found['boxes']).toEqual([1, 1, 9, 9, 3, 3, 9, 9, 0, 0, 9, 9]);
      expect(found['scores']).toEqual(near([0.9, 0, 0.3, 0.8, 0.1, 0.2]));
      expect(found['box_var']).toEqual([1, 1, 2, 3, 3, 1, 2, 3, 0, 1, 2, 3]);
    });
  }

  it('of our own head come by class probability times quality', async () => {
    const model = constantGraph({
      outputs: [
        boxes,
        { name: 'class_probs', shape: [1, 4, 2], values: [0.5, 0.5, 0.9, 0.1, 1, 0, 0.6, 0.4] },
        { name: 'quality', shape: [1, 4, 2], values: [0.9, 9, 0.6, 9, 0.4, 9, 0.1, 9] },
        { name: 'quality_bins', shape: [1, 4, 3], values: ANCHORS.flatMap((anchor) => [anchor, 0, 0]) },
      ],
    });
    const found = await run(keepTopAnchors(model, { count: 2 }));
    expect(found['boxes']).toEqual([1, 1, 9, 9, 0, 0, 9, 9]);
    expect(found['quality_bins']).toEqual([1, 0, 0, 0, 0, 0]);
  });

  it('of every picture of a batch are its own', async () => {
    const model = constantGraph({
      inputShape: [2, 3, 96, 96],
      outputs: [
        { name: 'boxes', shape: [2, 2, 4], values: [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3] },
        { name: 'scores', shape: [2, 2, 1], values: [0.1, 0.2, 0.4, 0.3] },
      ],
    });
    const found = await run(keepTopAnchors(model, { count: 1 }), 2);
    expect(found['boxes']).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
    expect(found['scores']).toEqual(near([0.2, 0.4]));
  });

  it('are all of them where there are no more', () => {
    const model = constantGraph({ outputs: [boxes, { name: 'scores', shape: [1, 4, 1] }] });
    expect(keepTopAnchors(model, { count: 4 })).toBe(model);
  });

  it('are not known of other outputs, in old opsets, or for no count', () => {
    const other = constantGraph({ outputs: [{ name: 'output0', shape: [1, 84, 8400] }] });
    expect(() => keepTopAnchors(other, { count: 2 })).toThrow(
      /no output says how good an anchor is: output0/,
    );
    const mixed = constantGraph({ outputs: [boxes, { name: 'masks', shape: [1, 2, 8, 8] }] });
    expect(() => keepTopAnchors(mixed, { count: 2 })).toThrow(/output masks of shape \[1, 2, 8, 8\]/);
    const old = constantGraph({ opset: 9, outputs: [boxes, { name: 'scores', shape: [1, 4, 1] }] });
    expect(() => keepTopAnchors(old, { count: 2 })).toThrow(
      /needs opset 11 at a batch of 1, the model has 9/,
    );
    expect(() => keepTopAnchors(old, { count: 0 })).toThrow(/anchors to keep is 0/);
  });
});
