// Half precision widened: exact constants, no half left, and the real fp16 model still finds its objects.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { iou } from '#core';
import {
  ElementType,
  graph,
  loadModelFile,
  type ModelProto,
  model,
  node,
  serialize,
  tensor,
  tensorNumbers,
  toFloat32,
  valueInfo,
} from '#onnx';
import { detectPicture, openDetector } from '#runtime';
import { testData } from '../../support/test-data.ts';
import { operators, runGraph } from './run-graph.ts';

const HALF = ElementType.FLOAT16;

function half(): ModelProto {
  return model(
    graph({
      nodes: [
        node('Cast', ['x'], ['xh'], { to: BigInt(HALF) }),
        node('Constant', [], ['third'], { value: tensor('third', [1], Float32Array.of(1 / 3), HALF) }),
        node('Mul', ['xh', 'third'], ['m']),
        node('Cast', ['m'], ['single'], { to: BigInt(ElementType.FLOAT) }),
        node('Floor', ['single'], ['floor']),
        node('Cast', ['floor'], ['whole'], { to: BigInt(ElementType.INT64) }),
        node('Cast', ['whole'], ['back'], { to: BigInt(HALF) }),
        node('Add', ['back', 'w'], ['y']),
      ],
      inputs: [valueInfo('x', ElementType.FLOAT, [2])],
      outputs: [valueInfo('y', HALF, [2])],
      initializers: [tensor('w', [1], Float32Array.of(0.1), HALF)],
    }),
  );
}

describe('a half-precision graph', () => {
  it('becomes float32, and only Casts that then do nothing go', async () => {
    const wide = toFloat32(half());
    expect(operators(wide)).toEqual(['Constant', 'Mul', 'Floor', 'Cast', 'Cast', 'Add']);
    const [w] = wide.graph?.initializer ?? [];
    // 0.1 and 1/3 as the nearest halves: 1638 / 2^14 and 1365 / 2^12.
    expect(w && [w.dataType, tensorNumbers(w)]).toEqual([ElementType.FLOAT, [1638 / 2 ** 14]]);
    const third = wide.graph?.node[0]?.attribute[0]?.t;
    expect(third && tensorNumbers(third)).toEqual([1365 / 2 ** 12]);
    const fround = Math.fround(2 + 1638 / 2 ** 14);
    expect(await runGraph(wide, [2], [6.5, 7])).toEqual([fround, fround]);
  });

  it('is given back as it is where nothing is half', () => {
    const wide = toFloat32(half());
    expect(toFloat32(wide)).toBe(wide);
  });
});

const path = testData('models/yolov5n_fp16.onnx');
describe.skipIf(path === undefined)('yolov5n_fp16.onnx of the shared data, in float32', () => {
  it('finds what the half-precision file finds', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'edge-detect-float32-'));
    const wide = toFloat32((await loadModelFile(path ?? '')).model);
    const types = new Set(wide.graph?.initializer.map(({ dataType }) => dataType));
    expect(types.has(HALF)).toBe(false);
    await writeFile(join(folder, 'wide.onnx'), serialize(wide));
    const picture = await readFile(testData('images/bus.jpg') ?? '');
    const [before, after] = await Promise.all(
      [path ?? '', join(folder, 'wide.onnx')].map(async (file) => {
        const detector = await openDetector(file);
        const { detections } = await detectPicture(detector, picture);
        await detector.close();
        return detections;
      }),
    );
    expect(before?.length).toBeGreaterThanOrEqual(4);
    expect(after).toHaveLength(before?.length ?? 0);
    for (const [place, { box, classId, score }] of (before ?? []).entries()) {
      const same = after?.[place];
      expect(same?.classId).toBe(classId);
      expect(Math.abs((same?.score ?? 0) - score)).toBeLessThan(0.005);
      expect(same && iou(same.box, box)).toBeGreaterThan(0.98);
    }
    await rm(folder, { recursive: true });
  });
});
