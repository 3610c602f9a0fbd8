// A graph whose batch was freed says of each picture what it says of it alone.
import * as ort from 'onnxruntime-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import {
  ElementType,
  floats,
  graph,
  graphOf,
  ints,
  loadModelFile,
  type ModelProto,
  model,
  type NodeProto,
  node,
  opsetVersion,
  pictureInput,
  serialize,
  shapeOf,
  type TensorProto,
  valueInfo,
} from '#onnx';
import { decodeInGraph } from '../../../export/passes/decode-in-graph.ts';
import { withFreeBatch } from '../../../export/passes/free-batch.ts';
import { withStaticShapes } from '../../../export/passes/static-shapes.ts';
import { keepTopAnchors } from '../../../export/passes/top-anchors.ts';
import { testData } from '../../support/test-data.ts';
import { type HostFamily, tinyHost } from '../../support/tiny-hosts.ts';
import { openSource } from './compare.ts';

const PICTURES = 3;

/** Runs the source on each picture and what `free` made of it on all at once. */
async function compareBatches(source: ModelProto, freed: ModelProto) {
  const input = pictureInput(source);
  const { name, order, width = 0, height = 0 } = input;
  const count = 3 * width * height;
  const random = createRandom(5);
  const pictures = Array.from({ length: PICTURES }, () =>
    Float32Array.from({ length: count }, () => random.next() * 2),
  );
  const dims = (batch: number) => (order === 'nchw' ? [batch, 3, height, width] : [batch, height, width, 3]);
  const alone = await open(source);
  const together = await open(freed);
  const joined = new Float32Array(PICTURES * count);
  pictures.forEach((picture, index) => {
    joined.set(picture, index * count);
  });
  const many = await together.run({ [name]: new ort.Tensor('float32', joined, dims(PICTURES)) });
  let largest = 0;
  for (let picture = 0; picture < PICTURES; picture++) {
    const feed = { [name]: new ort.Tensor('float32', pictures[picture]!, dims(1)) };
    const single = await alone.run(feed);
    const one = picture === 0 ? await together.run(feed) : undefined;
    for (const output of alone.outputNames) {
      const expected = single[output]!.data as Float32Array;
      const rows = many[output]!.data as Float32Array;
      expect([...many[output]!.dims]).toEqual([PICTURES, ...single[output]!.dims.slice(1)]);
      const byItself = (one?.[output]?.data ?? expected) as Float32Array;
      if (one) expect([...one[output]!.dims]).toEqual([...single[output]!.dims]);
      for (let at = 0; at < expected.length; at++) {
        const scale = 1 + Math.abs(expected[at]!);
        largest = Math.max(
          largest,
          Math.abs(rows[picture * expected.length + at]! - expected[at]!) / scale,
          Math.abs(byItself[at]! - expected[at]!) / scale,
        );
      }
    }
  }
  await alone.release();
  await together.release();
  return largest;
}

function open(made: ModelProto) {
  return ort.InferenceSession.create(serialize(made), { logSeverityLevel: 3, intraOpNumThreads: 1 });
}

const free = (made: ModelProto) => withFreeBatch(made, { picture: pictureInput(made) });

function expectDeclared(made: ModelProto) {
  for (const info of [...graphOf(made).input, ...graphOf(made).output])
    expect(shapeOf(info)?.[0]).toBe('batch');
}

describe('tiny hosts in batches', () => {
  const hosts: readonly (readonly [HostFamily, 11 | 17])[] = [
    ['yolox', 11],
    ['yolox', 17],
    ['nanodet', 11],
    ['nanodet', 17],
    ['yolov5', 17],
    ['yolov8', 17],
  ];
  for (const [family, opset] of hosts) {
    it(`${family}, opset ${opset}`, async () => {
      const host = tinyHost(family, { opset });
      const freed = free(host);
      expectDeclared(freed);
      expect(await compareBatches(host, freed)).toBeLessThanOrEqual(1e-5);
    });
  }
});

/** `images[1, 3, 4, 6]` → nodes → `output`. */
function made(
  nodes: readonly NodeProto[],
  output: readonly (number | string | null)[],
  initializers: readonly TensorProto[] = [],
): ModelProto {
  return model(
    graph({
      nodes,
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 4, 6])],
      outputs: [valueInfo('output', ElementType.FLOAT, output)],
      initializers,
    }),
  );
}

describe('a batch of one that was merged away', () => {
  it('comes in front: reshape, softmax over the first axis, products and back', async () => {
    const weight = Float32Array.from({ length: 6 }, (_, index) => Math.sin(index));
    const source = made(
      [
        node('Reshape', ['images', 'flat'], ['planes']), // [3, 24]
        node('Softmax', ['planes'], ['law'], { axis: 0n }),
        node('Gemm', ['weight', 'law', 'bias'], ['hidden']), // [2, 24]
        node('Relu', ['hidden'], ['active']),
        node('MatMul', ['row', 'active'], ['mean']), // [1, 24]
        node('Sub', ['active', 'mean'], ['deviation']),
        node('Mul', ['deviation', 'deviation'], ['squared']),
        node('ReduceSum', ['squared', 'first'], ['spread'], { keepdims: 1n }), // [1, 24]
        node('Concat', ['mean', 'spread'], ['both'], { axis: 0n }), // [2, 24]
        node('Transpose', ['both'], ['turned'], { perm: [1n, 0n] }),
        node('Reshape', ['turned', 'rows'], ['output']),
      ],
      [1, 24, 2],
      [
        ints('flat', [3, 24]),
        floats('weight', [2, 3], weight),
        floats('bias', [2, 1], [0.2, -0.1]),
        floats('row', [1, 2], [0.3, 0.9]),
        ints('first', [0]),
        ints('rows', [1, 24, 2]),
      ],
    );
    const freed = free(source);
    expectDeclared(freed);
    expect(await compareBatches(source, freed)).toBeLessThanOrEqual(1e-6);
  });

  it('comes in front of the picture that x[0] takes, and meets tensors with the batch inside', async () => {
    const source = made(
      [
        node('Gather', ['images', 'zero'], ['picture'], { axis: 0n }), // [3, 4, 6]
        node('Sigmoid', ['picture'], ['gate']),
        node('Add', ['images', 'gate'], ['sum']), // [1, 3, 4, 6] + [3, 4, 6]
        node('Reshape', ['sum', 'shape'], ['output']),
      ],
      [1, 3, 24],
      [floatsFree('zero'), ints('shape', [1, 3, 24])],
    );
    expect(await compareBatches(source, free(source))).toBeLessThanOrEqual(1e-6);
  });

  it('is refused as an output', () => {
    const source = made([node('Reshape', ['images', 'flat'], ['output'])], [3, 24], [ints('flat', [3, 24])]);
    expect(() => free(source)).toThrow(
      /output output of node .*Reshape.* has no axis for the batch.*\[3, 24\]/,
    );
  });
});

function floatsFree(name: string): TensorProto {
  const scalar = ints(name, [0]);
  scalar.dims = [];
  return scalar;
}

describe('shapes that a graph computes', () => {
  it('become constants with a free batch', async () => {
    const source = made(
      [
        node('Shape', ['images'], ['size']),
        node('Gather', ['size', 'two'], ['height']),
        node('Concat', ['one', 'three', 'height', 'minus'], ['asked'], { axis: 0n }),
        node('Reshape', ['images', 'asked'], ['apart']),
        node('Resize', ['apart', '', '', 'larger'], ['output'], { mode: 'nearest' }),
      ],
      [1, 3, 8, 12],
      [
        ints('one', [1]),
        ints('three', [3]),
        ints('minus', [-1]),
        ints('two', [2]),
        ints('larger', [1, 3, 8, 12]),
      ],
    );
    const freed = free(source);
    expect(graphOf(freed).node.map(({ opType }) => opType)).not.toContain('Shape');
    expect(await compareBatches(source, freed)).toBeLessThanOrEqual(1e-6);
  });
});

describe('what cannot be freed is refused in words', () => {
  const cases: Record<string, { nodes: NodeProto[]; initializers?: TensorProto[]; says: RegExp }> = {
    'masks of Monte Carlo dropout': {
      nodes: [node('Mul', ['images', 'masks'], ['output'])],
      initializers: [floats('masks', [5, 3, 1, 1], new Array<number>(15).fill(1))],
      says: /Mul_output \(Mul\).*constant masks has 5 rows along the batch.*Monte Carlo/,
    },
    'an Expand into passes': {
      nodes: [node('Expand', ['images', 'passes'], ['output'])],
      initializers: [ints('passes', [4, 3, 4, 6])],
      says: /Expand_output.*makes 4 out of every picture/,
    },
    'a sum over everything': {
      nodes: [node('ReduceMean', ['images'], ['output'], { axes: [0n, 1n], keepdims: 1n })],
      says: /ReduceMean_output.*all pictures at once/,
    },
    'one scale for all pictures': {
      nodes: [node('DynamicQuantizeLinear', ['images'], ['output', 'scale', 'zero'])],
      says: /DynamicQuantizeLinear.*one scale from all pictures/,
    },
    'an operator of another domain': {
      nodes: [node('Hardmax', ['images'], ['other']), node('NonZero', ['other'], ['output'])],
      says: /NonZero_output \(NonZero\).*no rule/,
    },
  };
  for (const [name, { nodes, initializers, says }] of Object.entries(cases)) {
    it(name, () => {
      expect(() => free(made(nodes, [1, 3, 4, 6], initializers))).toThrow(says);
    });
  }

  it('best rows of one picture', () => {
    expect(() => free(tinyHost('yolo26'))).toThrow(
      /Gather_chosen \(Gather\).*rows to take are those of one picture/,
    );
  });

  it('an input of open size', () => {
    const source = made([node('Relu', ['images'], ['output'])], [1, 3, 4, 6]);
    graphOf(source).input[0] = valueInfo('images', ElementType.FLOAT, ['N', 3, 'H', 'W']);
    expect(() => free(source)).toThrow(/height and width of the picture input images are open/);
  });
});

const MODELS = ['yolox_nano', 'nanodet_m_320', 'fastestdet', 'yolo11n_320_int8dyn', 'yolov8n_640_int8dyn'];

describe('shared models decoded in their graph (skipped: models absent)', () => {
  for (const name of MODELS) {
    const path = testData(`models/${name}.onnx`);
    it.skipIf(!path)(
      `${name} in batches, then its best rows`,
      async () => {
        const { model: source, size, finding } = await openSource(path ?? '');
        const boxVariance = finding.capabilities.boxVariance;
        const decoded = decodeInGraph(source, { layout: finding.layout, input: size, boxVariance }).model;
        const freed = free(decoded);
        expectDeclared(freed);
        expect(await compareBatches(decoded, freed)).toBeLessThanOrEqual(1e-5);
        if (opsetVersion(freed) < 12 || size.width > 320) return;
        // Kept after the batch is free, the best rows are those of each picture.
        const best = await compareBatches(
          keepTopAnchors(decoded, { count: 50 }),
          keepTopAnchors(freed, { count: 50 }),
        );
        expect(best).toBeLessThanOrEqual(1e-5);
      },
      120_000,
    );
  }
});

describe('our sample model', () => {
  let sample: ModelProto;
  beforeAll(async () => {
    sample = (
      await loadModelFile(new URL('../../../samples/model/edge-n-street.onnx', import.meta.url).pathname)
    ).model;
  });

  it('in batches', async () => {
    const { batch = 1, height = 0, width = 0 } = pictureInput(sample);
    const source = withStaticShapes(sample, { batch, height, width });
    const freed = free(source);
    expectDeclared(freed);
    expect(await compareBatches(source, freed)).toBeLessThanOrEqual(1e-5);
  });
});
