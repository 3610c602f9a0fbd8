// Our head on hosts that the tests make: the same claims as on real hosts, for a clone without them, and the refusals.
import { describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import type { FreezeLevel, ModelProto } from '#onnx';
import { assembleDetector, ElementType, graph, model, node, reheadHost, tensor, valueInfo } from '#onnx';
import type { HostFamily, TinyHostOptions } from '../../support/tiny-hosts.ts';
import { HOST_INPUT, TINY_ANCHORS, tinyHost } from '../../support/tiny-hosts.ts';
import { wireFromRaw } from './decode-raw.ts';
import { hostBoxes, largestDifference, rawOutputs, understandHost } from './hosts.ts';
import { runGraph } from './run-graph.ts';

const random = createRandom(3);
const { width, height } = HOST_INPUT;
const feed = {
  data: Float32Array.from({ length: 3 * width * height }, () => random.next()),
  shape: [1, 3, height, width],
};

const CODES: Readonly<Record<HostFamily, string>> = {
  yolox: 'yolox',
  nanodet: 'dfl',
  yolov5: 'anchors',
  yolov8: 'dfl',
  yolo26: 'distance',
};
const FAMILIES = Object.keys(CODES) as HostFamily[];

async function rehead(
  family: HostFamily,
  options: Partial<Parameters<typeof reheadHost>[1]> = {},
  form: TinyHostOptions = {},
) {
  const host = await understandHost(tinyHost(family, form));
  const headed = reheadHost(host.model, { classNames: ['x', 'y'], preprocess: host.preprocess, ...options });
  return { host, headed };
}

describe.each(FAMILIES)('our head on a tiny %s', (family) => {
  it('keeps the boxes of the host, anchor by anchor', async () => {
    const { host, headed } = await rehead(family);
    expect(headed.spec.boxCode.kind).toBe(CODES[family]);
    const wire = await runGraph(assembleDetector(headed, new Map()), { images: feed });
    const own = await hostBoxes(host, feed, 0.05);
    expect(own.anchors.length).toBeGreaterThan(10);
    const boxes = wire.get('boxes')!.data;
    own.anchors.forEach((anchor, place) => {
      const row = own.boxes.subarray(4 * place, 4 * place + 4);
      const scale = Math.max(1, ...row.map(Math.abs));
      const ours =
        host.layout.kind === 'end-to-end' ? nearest(boxes, row) : boxes.subarray(4 * anchor, 4 * anchor + 4);
      expect(largestDifference(row, ours) / scale).toBeLessThan(1e-5);
    });
  });

  it('writes what the raw maps say', async () => {
    const { headed } = await rehead(family, { adapter: 12, bins: 5, seed: 2 });
    const wire = await runGraph(assembleDetector(headed, new Map()), { images: feed });
    const expected = wireFromRaw(headed.spec, (await rawOutputs(headed, feed)).raw);
    expect([...wire.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, data] of expected) {
      const scale = Math.max(1, ...data.map(Math.abs));
      expect(largestDifference(wire.get(name)!.data, data) / scale, name).toBeLessThan(1e-5);
    }
  });

  it('computes the same at every freeze level', async () => {
    const reference = (await rawOutputs((await rehead(family)).headed, feed)).raw;
    const inputs: Partial<Record<FreezeLevel, number>> = {};
    for (const freeze of ['neck', 'backbone', 'none'] as const) {
      const { headed } = await rehead(family, { freeze });
      inputs[freeze] = headed.trainable.inputs.length;
      const { raw } = await rawOutputs(headed, feed);
      for (const [name, { data }] of reference) {
        expect(largestDifference(raw.get(name)!.data, data), name).toBeLessThan(1e-4);
      }
    }
    expect(inputs).toEqual({ neck: 3, backbone: 3, none: 1 });
  });
});

function nearest(boxes: Float32Array, row: Float32Array): Float32Array {
  let best = boxes.subarray(0, 4);
  for (let at = 0; at < boxes.length; at += 4) {
    const other = boxes.subarray(at, at + 4);
    if (largestDifference(row, other) < largestDifference(row, best)) best = other;
  }
  return best;
}

describe('where a host is cut', () => {
  it('is read from the graph', async () => {
    const { headed } = await rehead('yolov8');
    expect(headed.cuts).toEqual({
      towers: ['clst0', 'boxt0', 'clst1', 'boxt1', 'clst2', 'boxt2'],
      neck: ['p3', 'p4', 'p5'],
      backbone: ['b5', 'b4', 'b3'],
      levels: [0, 1, 2].map((level) => ({ classTower: `clst${level}`, boxTower: `boxt${level}` })),
    });
    expect((await rehead('yolox')).headed.cuts.neck).toEqual(['p3', 'p4', 'p5']);
    expect((await rehead('yolov5')).headed.cuts.towers).toEqual(['p3', 'p4', 'p5']);
  });

  it('decides what trains', async () => {
    const names = async (freeze: FreezeLevel) =>
      (await rehead('yolov8', { freeze })).headed.trainable.parameters.map(({ name }) => name);
    expect((await names('towers')).slice(0, 4)).toEqual([
      'head.0.adapter.weight',
      'head.0.adapter.bias',
      'head.0.quality.weight',
      'head.0.quality.bias',
    ]);
    expect((await names('towers')).some((name) => name.startsWith('head.2.box'))).toBe(true);
    expect(await names('neck')).toContain('clst0.w');
    expect(await names('neck')).not.toContain('p3.w');
    expect(await names('backbone')).toContain('p3.w');
    expect(await names('backbone')).not.toContain('b3.w');
    expect(await names('none')).toContain('stem.w');
  });

  it('takes the anchors of YOLOv5 along', async () => {
    const { spec } = (await rehead('yolov5')).headed;
    expect(spec).toMatchObject({ locations: 3, boxCode: { kind: 'anchors', sizes: TINY_ANCHORS } });
  });

  it('lifts an old opset', async () => {
    const { headed } = await rehead('nanodet', { freeze: 'none' }, { opset: 11 });
    const { headed: newer } = await rehead('nanodet', { freeze: 'none' });
    expect(headed.opset).toBe(17);
    const [old, young] = [headed, newer].map((one) =>
      runGraph(assembleDetector(one, new Map()), { images: feed }),
    );
    for (const [name, { data }] of await young!)
      expect(largestDifference((await old!).get(name)!.data, data)).toBeLessThan(1e-5);
  });

  it('starts at random, the same for the same seed', async () => {
    const weight = async (seed: number) =>
      Buffer.from(
        (await rehead('yolox', { seed })).headed.trainable.model.graph!.initializer.find(
          ({ name }) => name === 'head.0.adapter.weight',
        )!.rawData,
      );
    expect((await weight(1)).equals(await weight(1))).toBe(true);
    expect((await weight(1)).equals(await weight(2))).toBe(false);
  });
});

describe('what cannot be taken over is refused in words', () => {
  it('an operator without gradient, with the nearest boundary that works', async () => {
    await expect(rehead('yolov8', { freeze: 'none' }, { attention: true })).rejects.toMatchObject({
      message: expect.stringMatching(/Erf_attended \(Erf\)/),
      hint: expect.stringMatching(/freeze=backbone$/),
    });
    await expect(rehead('yolov8', { freeze: 'backbone' }, { enlarge: 'linear' })).rejects.toMatchObject({
      message: expect.stringMatching(/\(Resize\) enlarges with mode linear/),
      hint: expect.stringMatching(/freeze=neck$/),
    });
  });

  it('another input size than the one of the host', async () => {
    await expect(rehead('yolox', { imageSize: { width: 320, height: 320 } })).rejects.toMatchObject({
      message: 'the host is exported for 96x64 px; 320x320 was asked for',
      hint: expect.stringContaining('imgsz=320,320'),
    });
  });

  it('choices out of range', async () => {
    for (const [key, value] of [
      ['bins', 1],
      ['adapter', -1],
      ['dropout', 1],
    ] as const) {
      await expect(rehead('yolox', { [key]: value })).rejects.toThrow(`${key}=${value}`);
    }
    await expect(rehead('yolox', { classNames: [] })).rejects.toThrow('classes=0');
  });

  const options = {
    classNames: ['a'],
    preprocess: {
      fit: { mode: 'stretch', align: 'center', enlarge: true },
      channels: 'rgb',
      mean: [0, 0, 0],
      std: [1, 1, 1],
      pad: 0,
    },
  } as const;

  it('heads that are not known, with what was found and what works', () => {
    const weights = (outputs: number) =>
      tensor(`w${outputs}`, [outputs, 3, 1, 1], new Float32Array(3 * outputs));
    const unknown = model(
      graph({
        nodes: [
          node('Conv', ['images', 'w7'], ['first'], { strides: [8n, 8n] }),
          node('Conv', ['images', 'w5'], ['second'], { strides: [8n, 8n] }),
        ],
        inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 64, 64])],
        outputs: [valueInfo('first', ElementType.FLOAT), valueInfo('second', ElementType.FLOAT)],
        initializers: [weights(7), weights(5)],
      }),
    );
    const attempt = () => reheadHost(unknown, options);
    expect(attempt).toThrow(/7 \+ 5 channels at stride 8/);
    expect(attempt).toThrow(expect.objectContaining({ hint: expect.stringContaining('YOLOX, NanoDet') }));
  });

  it('quantised graphs, other tasks, other inputs, old opsets', () => {
    const host = tinyHost('yolov8');
    expect(() => reheadHost(tinyHost('yolov8', { metadata: { task: 'segment' } }), options)).toThrow(
      /task segment/,
    );
    const old: ModelProto = tinyHost('yolov8');
    old.opsetImport[0]!.version = 9n;
    expect(() => reheadHost(old, options)).toThrow(/opset 9/);
    const quantised = tinyHost('yolov8');
    quantised.graph!.node[0]!.opType = 'ConvInteger';
    expect(() => reheadHost(quantised, options)).toThrow(/quantised .*ConvInteger/);
    host.graph!.input[0] = valueInfo('images', ElementType.UINT8, [1, 3, 64, 96]);
    expect(() => reheadHost(host, options)).toThrow(/uint8/);
  });
});
