// Rows for DeepStream hold what the decoders of src/core read from the same outputs, and NaN where nothing is known.
import { describe, expect, it } from 'vitest';
import { createDecoder, type HeadLayout } from '#core';
import {
  ElementType,
  floats,
  graph,
  graphOf,
  ints,
  loadModelFile,
  type ModelProto,
  model,
  node,
  pictureInput,
  shapeOf,
  valueInfo,
} from '#onnx';
import { withDeepstreamRows } from '../../../export/passes/deepstream-rows.ts';
import { withFreeBatch } from '../../../export/passes/free-batch.ts';
import { withStaticShapes } from '../../../export/passes/static-shapes.ts';
import { runGraph } from '../../onnx/heads/run-graph.ts';
import { tinyHost } from '../../support/tiny-hosts.ts';

/** Outputs of fixed numbers, two anchors: values · (1 + 0 · picture), so that they depend on the picture. */
function fixedOutputs(outputs: Readonly<Record<string, readonly (readonly number[])[]>>): ModelProto {
  const names = Object.keys(outputs);
  const columns = (name: string) => outputs[name]![0]!.length;
  return model(
    graph({
      nodes: [
        node('ReduceMean', ['images'], ['mean'], { axes: [1n, 2n, 3n], keepdims: 1n }),
        node('Reshape', ['mean', 'one'], ['flat']),
        ...names.flatMap((name) => [
          node('Mul', ['flat', 'zero'], [`${name}.nothing`]),
          node('Add', [`${name}.nothing`, `${name}.values`], [name]),
        ]),
      ],
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 4, 4])],
      outputs: names.map((name) => valueInfo(name, ElementType.FLOAT, [1, 2, columns(name)])),
      initializers: [
        ints('one', [1, 1, 1]),
        floats('zero', [], [0]),
        ...names.map((name) => floats(`${name}.values`, [1, 2, columns(name)], outputs[name]!.flat())),
      ],
    }),
  );
}

const picture = { images: { data: new Float32Array(48).fill(0.5), shape: [1, 3, 4, 4] } };
const BOXES = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
];

async function rowsOf(made: ModelProto) {
  const found = await runGraph(made, picture);
  return Object.fromEntries([...found].map(([name, { data }]) => [name, Array.from(data)]));
}

describe('rows', () => {
  it('take the best class of scores; nothing is known, so there is no second output', async () => {
    const source = fixedOutputs({
      boxes: BOXES,
      scores: [
        [0.1, 0.7, 0.7],
        [0.4, 0.3, 0.2],
      ],
    });
    const { model: made, rows, known, notes, endToEnd } = withDeepstreamRows(source, { uncertainty: 'auto' });
    expect([rows, known, endToEnd]).toEqual([2, [], false]);
    expect(notes.join()).toMatch(/knows no variances/);
    const { output, ...others } = await rowsOf(made);
    expect(others).toEqual({});
    const expected = [1, 2, 3, 4, 0.7, 1, 5, 6, 7, 8, 0.4, 0];
    expected.forEach((value, index) => {
      expect(output?.[index]).toBeCloseTo(value, 6);
    });
    expect(() => withDeepstreamRows(source, { uncertainty: true })).toThrow(/neither the variance/);
  });

  it('mark the variance of scores as unknown beside that of boxes', async () => {
    const source = fixedOutputs({
      boxes: BOXES,
      scores: [[0.1], [0.4]],
      box_var: [
        [1, 2, 3, 4],
        [0.5, 0.6, 0.7, 0.8],
      ],
    });
    const { model: made, known, notes } = withDeepstreamRows(source, { uncertainty: 'auto' });
    expect(known).toEqual(['box']);
    expect(notes.join()).toMatch(/column 0 .* NaN/);
    const { output, uncertainty } = await rowsOf(made);
    expect(output?.[5]).toBe(0);
    expect(uncertainty?.[0]).toBeNaN();
    expect(uncertainty?.slice(1, 5)).toEqual([1, 2, 3, 4]);
    expect(uncertainty?.[5]).toBeNaN();
  });

  it('mark the variance of boxes as unknown beside that of scores, and add the epistemic part', async () => {
    const source = fixedOutputs({
      boxes: BOXES,
      class_probs: [
        [0.2, 0.8],
        [0.9, 0.1],
      ],
      quality: [
        [0.5, 0.02],
        [0.6, 0.01],
      ],
      quality_epistemic: [[0.01], [0]],
    });
    const { model: made, known } = withDeepstreamRows(source, { uncertainty: true });
    expect(known).toEqual(['score']);
    const { output, uncertainty } = await rowsOf(made);
    expect(output?.[4]).toBeCloseTo(0.4, 6);
    expect(output?.[5]).toBe(1);
    // p (Var + E²) − (p E)², with the epistemic part in Var.
    expect(uncertainty?.[0]).toBeCloseTo(0.8 * (0.03 + 0.25) - 0.4 * 0.4, 6);
    expect(uncertainty?.[5]).toBeCloseTo(0.9 * (0.01 + 0.36) - 0.54 * 0.54, 6);
    expect(uncertainty?.slice(1, 5).every(Number.isNaN)).toBe(true);
  });

  it('of one class take the quality as it is', async () => {
    const source = fixedOutputs({
      boxes: BOXES,
      quality: [
        [0.5, 0.02],
        [0.6, 0.01],
      ],
    });
    const { output, uncertainty } = await rowsOf(withDeepstreamRows(source, { uncertainty: 'auto' }).model);
    expect([output?.[4], output?.[5], output?.[11]].map((value) => Math.fround(value ?? -1))).toEqual([
      0.5, 0, 0,
    ]);
    expect(uncertainty?.[0]).toBeCloseTo(0.02, 7);
  });

  it('that a network chose itself are passed on', () => {
    const { model: made, endToEnd, rows } = withDeepstreamRows(tinyHost('yolo26'), { uncertainty: 'auto' });
    expect(endToEnd).toBe(true);
    expect(shapeOf(graphOf(made).output[0])).toEqual([1, rows, 6]);
    expect(graphOf(made).output.map(({ name }) => name)).toEqual(['output']);
  });

  it('are refused of other outputs, which are named', () => {
    expect(() => withDeepstreamRows(tinyHost('yolov8'), { uncertainty: 'auto' })).toThrow(
      /cannot become rows for DeepStream: \S+ \[1, \d+, \d+\]/,
    );
  });
});

describe('our sample model in batches', () => {
  it('says in its rows what the decoder reads', async () => {
    const path = new URL('../../../samples/model/edge-n-street.onnx', import.meta.url).pathname;
    const { model: sample } = await loadModelFile(path);
    const { height = 0, width = 0, name } = pictureInput(sample);
    const source = withStaticShapes(sample, { batch: 1, height, width });
    const freed = withFreeBatch(source, { picture: pictureInput(source) });
    const { model: made, rows } = withDeepstreamRows(freed, { uncertainty: true });
    expect(graphOf(made).output.map((info) => [info.name, ...(shapeOf(info) ?? [])])).toEqual([
      ['output', 'batch', rows, 6],
      ['uncertainty', 'batch', rows, 5],
    ]);
    const data = Float32Array.from(
      { length: 3 * height * width },
      (_, index) => (Math.sin(index / 50) + 1) / 2,
    );
    const feed = { [name]: { data, shape: [1, 3, height, width] } };
    const wire = await runGraph(source, feed);
    const layout: HeadLayout = {
      kind: 'edge-detect',
      classCount: wire.get('class_probs')?.shape[2] ?? 1,
      anchorCount: rows,
      boxes: 'boxes',
      quality: 'quality',
      ...(wire.has('class_probs') && { classProbs: 'class_probs' }),
      ...(wire.has('box_var') && { boxVar: 'box_var' }),
    };
    const decoder = createDecoder(layout, { input: { width, height }, boxVariance: wire.has('box_var') });
    const found = decoder.decode(wire, { default: 0.001 });
    const exported = await runGraph(made, feed);
    const [output, uncertainty] = [exported.get('output')!.data, exported.get('uncertainty')!.data];
    expect(found.count).toBeGreaterThan(5);
    for (let row = 0; row < found.count; row++) {
      const anchor = found.anchors[row]!;
      expect(output[6 * anchor + 4]).toBeCloseTo(found.scores[row]!, 5);
      expect(output[6 * anchor + 5]).toBe(found.classIds[row]!);
      expect(uncertainty[5 * anchor]).toBeCloseTo(found.scoreVariances![row]!, 5);
      for (let side = 0; side < 4; side++)
        expect(output[6 * anchor + side]).toBeCloseTo(found.boxes[4 * row + side]!, 2);
    }
  });
});
