// Exported stock models say in their metadata what they give, so that nobody has to guess.
import { describe, expect, it } from 'vitest';
import type { HeadOutputs } from '#core';
import { createDecoder } from '#core';
import { guessPreprocess, pictureInput, planTaps } from '#onnx';
import { distributionDetector } from '../support/tiny-heads.ts';
import { constantGraph } from '../support/tiny-models.ts';
import { find } from './dry-run.ts';

const PREPROCESS = {
  fit: { mode: 'letterbox', align: 'top-left', enlarge: true },
  channels: 'bgr',
  mean: [0, 0, 0],
  std: [1, 1, 1],
  pad: 114,
};

function exported(decoded: boolean, outputs: Parameters<typeof constantGraph>[0]['outputs']) {
  return constantGraph({
    outputs,
    inputShape: [1, 96, 96, 3],
    inputType: 'uint8',
    metadata: {
      edge_detect: JSON.stringify({ version: 1, classes: ['car', 'bus'], preprocess: PREPROCESS, decoded }),
      names: "{0: 'car', 1: 'bus'}",
    },
  });
}

describe('a model whose decoding was exported', () => {
  const plain = [
    { name: 'boxes', shape: [1, 7, 4] },
    { name: 'scores', shape: [1, 7, 2] },
  ];

  it('is read as corners in px, with the variance of its boxes where it has one', async () => {
    const { layout, capabilities } = await find(
      exported(true, [...plain, { name: 'box_var', shape: [1, 7, 4] }]),
    );
    expect(layout).toEqual({
      kind: 'corners',
      classCount: 2,
      boxes: 'boxes',
      scores: 'scores',
      boxVar: 'box_var',
      anchorCount: 7,
      normalized: false,
      background: false,
    });
    expect(capabilities.boxVariance).toBe(true);
  });

  it('has the preprocessing that it states', async () => {
    const model = exported(true, plain);
    const { layout, capabilities } = await find(model);
    expect(capabilities.boxVariance).toBe(false);
    const { contract, family } = guessPreprocess(model, layout, pictureInput(model));
    expect({ contract, family }).toEqual({ contract: PREPROCESS, family: 'edge-detect' });
  });

  it('is refused where an output is missing', async () => {
    await expect(find(exported(true, [{ name: 'boxes', shape: [1, 7, 4] }]))).rejects.toThrow(
      /lacks the output scores/,
    );
  });

  it('is recognised as any other where its head was left as it was', async () => {
    const model = exported(false, [{ name: 'rows', shape: [1, 300, 6] }]);
    const { layout } = await find(model);
    expect(layout).toMatchObject({ kind: 'end-to-end', output: 'rows' });
    expect(guessPreprocess(model, layout, pictureInput(model)).contract).toEqual(PREPROCESS);
  });

  it('needs no tap, though the distribution is still in its graph', () => {
    const model = distributionDetector();
    expect(planTaps(model).outputs).toHaveLength(1);
    model.metadataProps.push({
      ...model.metadataProps[0]!,
      key: 'edge_detect',
      value: '{"version": 1, "decoded": true}',
    });
    expect(planTaps(model).outputs).toEqual([]);
  });
});

describe('corners with variances', () => {
  it('keep the variance of their own anchor, and drop one that is not finite', () => {
    const layout = {
      kind: 'corners',
      classCount: 1,
      boxes: 'boxes',
      scores: 'scores',
      boxVar: 'box_var',
      anchorCount: 3,
      normalized: false,
      background: false,
    } as const;
    const of = (shape: readonly number[], data: readonly number[]) => ({
      shape,
      data: Float32Array.from(data),
    });
    const outputs: HeadOutputs = new Map([
      ['boxes', of([1, 3, 4], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])],
      ['scores', of([1, 3, 1], [0.9, 0.8, 0.7])],
      ['box_var', of([1, 3, 4], [1, 2, 3, 4, 5, Number.NaN, 7, 8, 9, 10, 11, 12])],
    ]);
    const decoder = createDecoder(layout, { input: { width: 8, height: 8 }, boxVariance: true });
    const { count, anchors, boxVariances } = decoder.decode(outputs, { default: 0.1 });
    expect(Array.from(anchors.subarray(0, count))).toEqual([0, 2]);
    expect(Array.from(boxVariances!.subarray(0, 8))).toEqual([1, 2, 3, 4, 9, 10, 11, 12]);
    expect(decoder.nonFinite).toBe(1);
  });
});
