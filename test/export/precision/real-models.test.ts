// The shared NanoDet in half floats and in bytes: the same outputs on a real picture, within what the precision allows.
import { describe, expect, it } from 'vitest';
import { CONTRACTS, loadModelFile, type ModelProto } from '#onnx';
import { quantise } from '../../../export/precision/quantise.ts';
import { measureRanges } from '../../../export/precision/ranges.ts';
import { toHalf } from '../../../export/precision/to-half.ts';
import { testData } from '../../support/test-data.ts';
import { pictureInputs } from './picture-inputs.ts';
import { executed, run } from './run-both.ts';

const path = testData('models/nanodet_m_320.onnx');
const pictures = ['bus', 'darknet_dog', 'darknet_horses'].map((name) => testData(`images/${name}.jpg`) ?? '');

async function inputs(): Promise<readonly Float32Array<ArrayBuffer>[]> {
  const made: Float32Array<ArrayBuffer>[] = [];
  const input = { width: 320, height: 320 };
  for await (const values of pictureInputs(pictures, { contract: CONTRACTS.nanodet, input, order: 'nchw' })) {
    made.push(values.slice());
  }
  return made;
}

describe.skipIf(path === undefined)('nanodet_m_320.onnx of the shared data', () => {
  /** Largest difference of a class score where the float network gives one above .1, and of all scores. */
  async function scoreChange(after: ModelProto, before: ModelProto, data: Float32Array<ArrayBuffer>) {
    const [left, right] = [await run(before, data), await run(after, data)];
    let worst = 0;
    for (const [place, scores] of left.slice(0, 3).entries()) {
      for (const [index, score] of scores.entries()) {
        if (score > 0.1) worst = Math.max(worst, Math.abs(score - right[place]![index]!));
      }
    }
    return worst;
  }

  it('says the same in half floats', async () => {
    const { model } = await loadModelFile(path ?? '');
    const [bus] = await inputs();
    expect(await scoreChange(toHalf(model).model, model, bus!)).toBeLessThan(0.01);
  });

  it('says nearly the same in bytes, warns of its depthwise layers, and is fused by the runtime', async () => {
    const { model } = await loadModelFile(path ?? '');
    const data = await inputs();
    const ranges = await measureRanges(model, data);
    const made = quantise(model, { placement: 'cpu', ranges });
    expect(made.notes).toEqual([expect.stringContaining('depthwise')]);
    expect((await executed(made.model, data[0]!)).get('QLinearConv')).toHaveLength(made.quantised.length);
    expect(await scoreChange(made.model, model, data[0]!)).toBeLessThan(0.25);
  }, 120_000);
});
