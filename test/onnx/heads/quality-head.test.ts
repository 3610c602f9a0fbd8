// Other forms of a trained quality: what the graph says is what the closed forms say, and can always be a law.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom, mixtureHead, mixtureMean, mixtureVariance } from '#core';
import { encodePicture } from '#data/images';
import type {
  CompactQuality,
  DenseLayer,
  DetectorOptions,
  HeadedModel,
  ModelProto,
  QualityLayer,
} from '#onnx';
import {
  assembleDetector,
  buildDetector,
  COMPACT_CHANNELS,
  findQuality,
  ownFormat,
  qualitySource,
  readMetadata,
  reheadHost,
  serialize,
  viewGraph,
  withQualityForm,
} from '#onnx';
import { detectPicture, openDetector } from '#runtime';
import { tinyHost } from '../../support/tiny-hosts.ts';
import { largestDifference } from './hosts.ts';
import { runGraph } from './run-graph.ts';

const input = { width: 96, height: 64 };
const random = createRandom(7);
const images = {
  data: Float32Array.from({ length: 3 * 96 * 64 }, () => random.next()),
  shape: [1, 3, 64, 96],
};

/** With random layers of prediction, so that laws differ from place to place. */
function trained(options: Partial<DetectorOptions> = {}): ModelProto {
  return speaking(buildDetector({ size: 'n', input, classNames: ['car', 'van'], bins: 8, ...options }));
}

function speaking(headed: HeadedModel): ModelProto {
  const source = createRandom(11);
  const layers = headed.trainable.parameters.filter(({ name }) =>
    /^head\.\d\.(adapter\.bias|quality|classes|box)/.test(name),
  );
  const values = new Map(
    layers.map(({ name, shape }) => {
      const length = shape.reduce((a, b) => a * b, 1);
      return [name, Float32Array.from({ length }, () => 0.8 * source.normal())];
    }),
  );
  return assembleDetector(headed, values);
}

function dense(inputs: number, outputs: number, spread = 0.6): DenseLayer {
  return {
    inputs,
    outputs,
    weight: Float32Array.from({ length: inputs * outputs }, () => spread * random.normal()),
    bias: Float32Array.from({ length: outputs }, () => spread * random.normal()),
  };
}

function layerFor(
  model: ModelProto,
  form: CompactQuality,
  reads: 'logits' | 'features',
  spread?: number,
): QualityLayer {
  const channels = COMPACT_CHANNELS[form];
  if (reads === 'logits') return { reads, hidden: dense(8, 6), output: dense(6, channels, spread) };
  return { reads, levels: findQuality(model).levels.map((site) => dense(site.channels, channels, spread)) };
}

/** Raw channels `[channels]` per anchor, computed here from what the trained graph hands over. */
async function rawRows(model: ModelProto, layer: QualityLayer): Promise<number[][]> {
  if (layer.reads === 'law') throw new Error('a law has no raw channels');
  const { part, spec, tensors } = qualitySource(model, layer.reads);
  const maps = await runGraph(part, { images });
  const apply = ({ inputs, outputs, weight, bias }: DenseLayer, row: readonly number[]) =>
    Array.from({ length: outputs }, (_, out) =>
      row.reduce((sum, value, at) => sum + value * weight[out * inputs + at]!, bias[out]!),
    );
  return spec.levels.flatMap(({ rows, columns }, level) => {
    const place = layer.reads === 'logits' ? level : 2 * level + 1;
    const { data } = maps.get(tensors[place]!.name)!;
    const cells = rows * columns;
    return Array.from({ length: cells }, (_, cell) => {
      const row = Array.from({ length: data.length / cells }, (_, channel) => data[channel * cells + cell]!);
      if (layer.reads === 'features') return apply(layer.levels[level]!, row);
      return apply(
        layer.output,
        apply(layer.hidden, row).map((value) => Math.max(0, value)),
      );
    });
  });
}

const sigmoid = (value: number) => 1 / (1 + Math.exp(-value));

describe.each(['logits', 'features'] as const)('a layer that reads %s', (reads) => {
  const model = trained();

  it('as two Gaussians gives the mixture of its five channels with its moments', async () => {
    const layer = layerFor(model, 'two-gaussian', reads);
    const outputs = await runGraph(withQualityForm(model, { form: 'two-gaussian', layer }), { images });
    expect([...outputs.keys()]).toEqual(['boxes', 'class_probs', 'quality', 'quality_mixture', 'box_var']);
    const expected = (await rawRows(model, layer)).map((raw) =>
      mixtureHead(raw as [number, number, number, number, number]),
    );
    const moments = expected.flatMap((mixture) => [mixtureMean(mixture), mixtureVariance(mixture)]);
    const mixtures = expected.flatMap(({ weight, means, variances }) => [weight, ...means, ...variances]);
    expect(outputs.get('quality')!.shape).toEqual([1, expected.length, 2]);
    expect(outputs.get('quality_mixture')!.shape).toEqual([1, expected.length, 5]);
    expect(largestDifference(outputs.get('quality')!.data, moments)).toBeLessThan(1e-5);
    expect(largestDifference(outputs.get('quality_mixture')!.data, mixtures)).toBeLessThan(1e-5);
  });

  it('as mean and variance gives its two channels', async () => {
    const layer = layerFor(model, 'mean-variance', reads);
    const outputs = await runGraph(withQualityForm(model, { form: 'mean-variance', layer }), { images });
    expect([...outputs.keys()]).toEqual(['boxes', 'class_probs', 'quality', 'box_var']);
    const expected = (await rawRows(model, layer)).flatMap(([mean = 0, share = 0]) => {
      const m = sigmoid(mean);
      return [m, sigmoid(share) * m * (1 - m)];
    });
    expect(largestDifference(outputs.get('quality')!.data, expected)).toBeLessThan(1e-5);
  });

  it('as one number gives scores of classes', async () => {
    const layer = layerFor(model, 'plain', reads);
    const outputs = await runGraph(withQualityForm(model, { form: 'plain', layer }), { images });
    expect([...outputs.keys()]).toEqual(['boxes', 'scores', 'box_var']);
    const classes = (await runGraph(model, { images })).get('class_probs')!.data;
    const rows = await rawRows(model, layer);
    const expected = rows.flatMap(([raw = 0], anchor) =>
      [0, 1].map((id) => sigmoid(raw) * classes[2 * anchor + id]!),
    );
    expect(outputs.get('scores')!.shape).toEqual([1, rows.length, 2]);
    expect(largestDifference(outputs.get('scores')!.data, expected)).toBeLessThan(1e-5);
  });

  it('stays feasible whatever its channels are', async () => {
    for (const spread of [3, 30, 1000]) {
      const layer = layerFor(model, 'two-gaussian', reads, spread);
      const outputs = await runGraph(withQualityForm(model, { form: 'two-gaussian', layer }), { images });
      const { data: quality } = outputs.get('quality')!;
      const { data: mixture } = outputs.get('quality_mixture')!;
      for (let anchor = 0; anchor < quality.length / 2; anchor++) {
        const [mean, variance] = quality.subarray(2 * anchor, 2 * anchor + 2) as unknown as [number, number];
        expect(mean).toBeGreaterThanOrEqual(0);
        expect(mean).toBeLessThanOrEqual(1 + 1e-6);
        expect(variance).toBeGreaterThanOrEqual(0);
        expect(variance).toBeLessThanOrEqual(mean * (1 - mean) + 1e-6);
        for (const value of mixture.subarray(5 * anchor, 5 * anchor + 5)) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1);
        }
        expect(mixture[5 * anchor + 2]!).toBeGreaterThanOrEqual(mixture[5 * anchor + 1]!);
      }
    }
  });

  it('takes away what it stands in for', () => {
    const view = viewGraph(
      withQualityForm(model, { form: 'two-gaussian', layer: layerFor(model, 'two-gaussian', reads) }),
    );
    const softmaxes = view.graph.node.filter(
      ({ opType, output }) => opType === 'Softmax' && !output[0]?.includes('class'),
    );
    // The box sides have a law of their own.
    expect(softmaxes.map(({ output }) => output[0])).toEqual(
      viewGraph(model)
        .graph.node.filter(({ opType, output }) => opType === 'Softmax' && output[0]?.includes('box'))
        .map(({ output }) => output[0]),
    );
    expect(view.producer('head.0.quality') !== undefined).toBe(reads === 'logits');
    expect(view.graph.initializer.some(({ name }) => name === 'head.0.quality.weight')).toBe(
      reads === 'logits',
    );
  });
});

describe('the moments of the law itself', () => {
  it.each([1, 2])('are what the trained model says, at %i classes', async (classes) => {
    const model = trained({ classNames: ['car', 'van'].slice(0, classes) });
    const before = await runGraph(model, { images });
    const { data: quality } = before.get('quality')!;
    const after = await runGraph(withQualityForm(model, { form: 'mean-variance', layer: { reads: 'law' } }), {
      images,
    });
    expect(largestDifference(after.get('quality')!.data, quality)).toBeLessThan(1e-6);
    const plain = await runGraph(withQualityForm(model, { form: 'plain', layer: { reads: 'law' } }), {
      images,
    });
    const probabilities = before.get('class_probs')?.data;
    const scores = Array.from({ length: (quality.length / 2) * classes }, (_, at) => {
      return quality[2 * Math.floor(at / classes)]! * (probabilities?.[at] ?? 1);
    });
    expect(largestDifference(plain.get('scores')!.data, scores)).toBeLessThan(1e-6);
  });

  it('stand at the anchors of the trained model where a cell has three', async () => {
    const host = tinyHost('yolov5');
    const preprocess = ownFormat(readMetadata(trained()))!.preprocess!;
    const headed = reheadHost(host, { classNames: ['car', 'van'], preprocess, bins: 8, adapter: 12 });
    expect(headed.spec.locations).toBe(3);
    const model = speaking(headed);
    const feeds = { [headed.pictureInput]: images };
    const { data: quality } = (await runGraph(model, feeds)).get('quality')!;
    const change = { form: 'mean-variance', layer: { reads: 'law' } } as const;
    const after = await runGraph(withQualityForm(model, change), feeds);
    expect(new Set(quality).size).toBeGreaterThan(100);
    expect(largestDifference(after.get('quality')!.data, quality)).toBeLessThan(1e-6);
  });

  it('are no two Gaussians', () => {
    const change = { form: 'two-gaussian', layer: { reads: 'law' } } as const;
    expect(() => withQualityForm(trained(), change)).toThrow(/no layer at all/);
  });
});

describe('the file', () => {
  const model = trained();
  const record = { from: 'best.onnx' };
  const layer = layerFor(model, 'two-gaussian', 'logits');
  const compact = withQualityForm(model, { form: 'two-gaussian', layer, record });
  const plain = withQualityForm(model, { form: 'plain', layer: { reads: 'law' } });

  it('says what it is and keeps what it was', () => {
    const own = JSON.parse(readMetadata(compact).edgeDetect!);
    const before = JSON.parse(readMetadata(model).edgeDetect!);
    expect(own).toEqual({ ...before, head: { ...before.head, quality: 'two-gaussian' }, distilled: record });
    expect(ownFormat(readMetadata(compact))).toMatchObject({ quality: 'two-gaussian' });
    expect(ownFormat(readMetadata(plain))).toMatchObject({ quality: 'plain', decoded: true });
    expect(ownFormat(readMetadata(plain))!.head).toBeUndefined();
    expect([Number(compact.irVersion), Number(compact.opsetImport[0]!.version)]).toEqual([8, 17]);
  });

  it('is not trained further, nor given a form again', () => {
    const options = { classNames: ['car', 'van'], preprocess: ownFormat(readMetadata(model))!.preprocess! };
    for (const [file, form] of [
      [compact, 'two-gaussian'],
      [plain, 'plain'],
    ] as const) {
      expect(() => reheadHost(file, options)).toThrow(
        new RegExp(`quality of this model is ${form}, .*for export`),
      );
      expect(() => findQuality(file)).toThrow(new RegExp(`is ${form} already`));
    }
  });

  it('is made of models of ours alone, without passes of MC dropout, by layers that fit', () => {
    const stock = { ...model, metadataProps: [] } as ModelProto;
    expect(() => findQuality(stock)).toThrow(/no head of ours/);
    const headed = buildDetector({ size: 'n', input, classNames: ['car'], dropout: 0.3 });
    const channels = headed.trainable.inputs.find(({ kind }) => kind === 'mask')!.shape[0]!;
    const masks = headed.spec.levels.map(() => new Float32Array(2 * channels).fill(1));
    const passes = assembleDetector(headed, new Map(), { monteCarlo: { passes: 2, masks } });
    expect(() => findQuality(passes)).toThrow(/MC dropout/);
    const wrong: QualityLayer = { reads: 'logits', hidden: dense(8, 6), output: dense(6, 4) };
    expect(() => withQualityForm(model, { form: 'two-gaussian', layer: wrong })).toThrow(/6 to 4 .* 6 to 5/);
    const few: QualityLayer = { reads: 'features', levels: [dense(48, 1)] };
    expect(() => withQualityForm(model, { form: 'plain', layer: few })).toThrow(/no layer for level 1/);
  });

  describe('in the runtime', () => {
    let folder = '';
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'quality-head-'));
    });
    afterAll(() => rm(folder, { recursive: true }));

    async function firstDetection(file: ModelProto) {
      const path = join(folder, 'model.onnx');
      await writeFile(path, serialize(file));
      const rgb = Uint8Array.from({ length: 3 * 96 * 64 }, () => random.integer(256));
      const detector = await openDetector(path, {
        threshold: { kind: 'fixed', base: 0.001 },
        scoreLaws: true,
      });
      const { detections } = await detectPicture(detector, await encodePicture(rgb, input, 'png'));
      const { layout, capabilities } = detector.model.finding;
      await detector.close();
      return { layout, capabilities, first: detections[0]! };
    }

    it('two Gaussians are read as a mixture with its variance', async () => {
      const { layout, first } = await firstDetection(compact);
      expect(layout).toMatchObject({ kind: 'edge-detect', qualityMixture: 'quality_mixture' });
      expect(layout).not.toHaveProperty('qualityBins');
      expect(mixtureMean(first.mixture!)).toBeCloseTo(first.score, 5);
      expect(mixtureVariance(first.mixture!)).toBeCloseTo(first.scoreVariance!, 5);
    });

    it('plain scores are read without any claim to know more', async () => {
      const { layout, first } = await firstDetection(plain);
      expect(layout).toMatchObject({ kind: 'corners', boxVar: 'box_var', classCount: 2 });
      expect(first.scoreVariance).toBeUndefined();
      expect(first.boxVariance).toBeDefined();
    });
  });
});
