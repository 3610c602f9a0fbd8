// A trained detector as one file: what the wire says, MC dropout inside the graph, the metadata, and our own runtime as
// its reader.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { encodePicture } from '#data/images';
import type { DetectorOptions, HeadedModel } from '#onnx';
import { assembleDetector, buildDetector, readMetadata, reheadHost, serialize } from '#onnx';
import { detectPicture, openDetector } from '#runtime';
import { wireFromRaw } from './decode-raw.ts';
import { largestDifference, rawOutputs } from './hosts.ts';
import { runGraph } from './run-graph.ts';

const input = { width: 96, height: 64 };
const random = createRandom(5);
const picture = {
  data: Float32Array.from({ length: 3 * 96 * 64 }, () => random.next()),
  shape: [1, 3, 64, 96],
};

function build(options: Partial<DetectorOptions> = {}): HeadedModel {
  return buildDetector({ size: 'n', input, classNames: ['car', "farmer's cart"], ...options });
}

/** Prediction layers with something to say. */
function opinionated({ trainable }: HeadedModel): Map<string, Float32Array> {
  const source = createRandom(11);
  const layers = trainable.parameters.filter(({ name }) =>
    /^head\.\d\.(adapter\.bias|quality|classes|box)/.test(name),
  );
  return new Map(
    layers.map(({ name, shape }) => {
      const length = shape.reduce((a, b) => a * b, 1);
      return [name, Float32Array.from({ length }, () => 0.8 * source.normal())];
    }),
  );
}

/** The trainable part with the values written in, run under one row of masks. */
async function rawUnder(
  headed: HeadedModel,
  values: ReadonlyMap<string, Float32Array>,
  masks: readonly Float32Array[],
) {
  const { model, inputs } = headed.trainable;
  for (const constant of model.graph!.initializer) {
    const given = values.get(constant.name);
    if (given) constant.rawData = new Uint8Array(given.buffer.slice(0));
  }
  const maskInputs = inputs.filter(({ kind }) => kind === 'mask');
  const feeds = maskInputs.map(({ name, shape }, level) => [
    name,
    { data: masks[level]!, shape: [1, ...shape] },
  ]);
  return runGraph(model, { images: picture, ...Object.fromEntries(feeds) });
}

describe('the wire format of an assembled detector', () => {
  it.each([
    ['softmax', 2],
    ['sigmoid', 2],
    ['softmax', 1],
  ] as const)('is what the raw maps say: %s over %i classes', async (classLaw, classes) => {
    const headed = build({
      classLaw,
      classNames: ['a', 'b'].slice(0, classes),
      boxBins: 8,
      bins: 6,
      adapter: 0,
    });
    const values = opinionated(headed);
    const model = assembleDetector(headed, values);
    const wire = await runGraph(model, { images: picture });
    const expected = wireFromRaw(headed.spec, await rawUnder(headed, values, []));
    expect([...wire.keys()].sort()).toEqual([...expected.keys()].sort());
    expect(wire.has('class_probs')).toBe(classes > 1);
    for (const [name, data] of expected) {
      expect(wire.get(name)!.data.length).toBe(data.length);
      const scale = Math.max(1, ...data.map(Math.abs));
      expect(largestDifference(wire.get(name)!.data, data) / scale, name).toBeLessThan(2e-5);
    }
  });

  it('leaves the law out where only its moments are wanted', async () => {
    const model = assembleDetector(build(), new Map(), { qualityBins: false });
    expect(model.graph!.output.map(({ name }) => name)).toEqual([
      'boxes',
      'class_probs',
      'quality',
      'box_var',
    ]);
    expect((await runGraph(model, { images: picture })).has('quality_bins')).toBe(false);
  });
});

describe('MC dropout in an assembled detector', () => {
  const passes = 5;
  const headed = build({ dropout: 0.3 });
  const values = opinionated(headed);
  const channels = headed.trainable.inputs.find(({ kind }) => kind === 'mask')!.shape[0]!;
  const source = createRandom(2);
  const masks = headed.spec.levels.map(() =>
    Float32Array.from({ length: passes * channels }, () => (source.next() < 0.3 ? 0 : 1 / 0.7)),
  );

  it('splits the variance of the mean law into what the passes say and what they disagree on', async () => {
    const wire = await runGraph(assembleDetector(headed, values, { monteCarlo: { passes, masks } }), {
      images: picture,
    });
    const single: Map<string, number[]>[] = [];
    for (let pass = 0; pass < passes; pass++) {
      const rows = masks.map((mask) => mask.slice(pass * channels, (pass + 1) * channels));
      single.push(wireFromRaw(headed.spec, await rawUnder(headed, values, rows)));
    }
    const mean = (name: string, at: number) =>
      single.reduce((sum, wireOf) => sum + wireOf.get(name)![at]!, 0) / passes;
    const { data: quality } = wire.get('quality')!;
    const { data: law } = wire.get('quality_bins')!;
    const { data: epistemic } = wire.get('quality_epistemic')!;
    const { data: probabilities } = wire.get('class_probs')!;
    expect(wire.get('quality_epistemic')!.shape).toEqual([1, epistemic.length, 1]);
    let most = 0;
    for (let anchor = 0; anchor < epistemic.length; anchor++) {
      const expectation = mean('quality', 2 * anchor);
      const disagreement = single.map((wireOf) => (wireOf.get('quality')![2 * anchor]! - expectation) ** 2);
      expect(quality[2 * anchor]).toBeCloseTo(expectation, 5);
      expect(quality[2 * anchor + 1]).toBeCloseTo(mean('quality', 2 * anchor + 1), 5);
      expect(epistemic[anchor]).toBeCloseTo(disagreement.reduce((a, b) => a + b, 0) / passes, 5);
      expect(probabilities[2 * anchor]).toBeCloseTo(mean('class_probs', 2 * anchor), 5);
      let total = 0;
      for (let bin = 0; bin < 10; bin++) total += law[10 * anchor + bin]! * (bin / 9 - expectation) ** 2;
      expect(Math.abs(total - quality[2 * anchor + 1]! - epistemic[anchor]!)).toBeLessThan(1e-6);
      most = Math.max(most, epistemic[anchor]!);
    }
    expect(most).toBeGreaterThan(1e-3);
  });

  it('is the plain head where no mask drops anything', async () => {
    const ones = masks.map((mask) => new Float32Array(mask.length).fill(1));
    const several = await runGraph(
      assembleDetector(headed, values, { monteCarlo: { passes, masks: ones } }),
      { images: picture },
    );
    const plain = await runGraph(assembleDetector(headed, values), { images: picture });
    expect(plain.has('quality_epistemic')).toBe(false);
    expect(Math.max(...several.get('quality_epistemic')!.data)).toBeLessThan(1e-9);
    for (const [name, { data }] of plain)
      expect(largestDifference(several.get(name)!.data, data), name).toBeLessThan(1e-3);
  });

  it('is refused where the head has no place for masks', () => {
    expect(() => assembleDetector(build(), new Map(), { monteCarlo: { passes, masks } })).toThrow(
      /5 passes .* 3 levels .* 0 places/,
    );
  });

  it('is taken away again when the model is opened for training', async () => {
    const model = assembleDetector(headed, values, { monteCarlo: { passes, masks } });
    const again = reheadHost(model, {
      classNames: headed.spec.classNames,
      preprocess: headed.spec.preprocess,
    });
    expect(again.spec).toMatchObject({ dropout: 0.3, bins: 10, adapter: headed.spec.adapter });
    const plain = await runGraph(assembleDetector(headed, values), { images: picture });
    const reopened = await runGraph(assembleDetector(again, new Map()), { images: picture });
    for (const [name, { data }] of plain)
      expect(largestDifference(reopened.get(name)!.data, data), name).toBeLessThan(1e-3);
  });
});

describe('a model of ours, opened again', () => {
  const headed = build();
  const values = opinionated(headed);
  const model = assembleDetector(headed, values);
  const { preprocess } = headed.spec;
  const layer = (of: HeadedModel, name: string) =>
    of.trainable.model.graph!.initializer.find((constant) => constant.name === name)!.rawData;

  it('keeps its head for the same classes, and starts its class layers anew for others', () => {
    const same = reheadHost(model, { classNames: ['car', "farmer's cart"], preprocess });
    const other = reheadHost(model, { classNames: ['boat', 'ship'], preprocess });
    const more = reheadHost(model, { classNames: ['a', 'b', 'c'], preprocess, bins: 12 });
    const before = Buffer.from(values.get('head.1.classes.weight')!.buffer);
    expect(Buffer.from(layer(same, 'head.1.classes.weight')).equals(before)).toBe(true);
    expect(Buffer.from(layer(other, 'head.1.classes.weight')).equals(before)).toBe(false);
    const quality = Buffer.from(values.get('head.1.quality.weight')!.buffer);
    expect(Buffer.from(layer(other, 'head.1.quality.weight')).equals(quality)).toBe(true);
    expect(more.spec).toMatchObject({ bins: 12, classNames: ['a', 'b', 'c'] });
    expect(more.trainable.outputs.find(({ name }) => name === 'head.1.quality')?.shape).toEqual([12, 4, 6]);
  });

  it('is for one input size, and must be whole', () => {
    const options = { classNames: ['a'], preprocess };
    expect(() => reheadHost(model, { ...options, imageSize: { width: 320, height: 320 } })).toThrow(
      /96x64.*320x320/,
    );
    const gone = assembleDetector(headed, values);
    const { graph } = gone;
    for (const made of graph!.node) {
      made.output = made.output.map((name) => (name === 'head.0.box' ? 'renamed' : name));
      made.input = made.input.map((name) => (name === 'head.0.box' ? 'renamed' : name));
    }
    expect(() => reheadHost(gone, options)).toThrow(/lacks head\.0\.box/);
  });

  it('says in its metadata what it is, and keeps the licence of its host', () => {
    const host = { name: 'host.onnx', sha256: 'ab', license: 'AGPL-3.0', family: 'dfl' };
    const written = assembleDetector({ ...headed, host }, values, { training: { epochs: 3 } });
    const metadata = readMetadata(written);
    expect(metadata).toMatchObject({ names: ['car', "farmer's cart"], stride: 32, license: 'AGPL-3.0' });
    expect(JSON.parse(metadata.edgeDetect!)).toMatchObject({
      version: 1,
      classes: ['car', "farmer's cart"],
      preprocess,
      head: { bins: 10, boxCode: { kind: 'dfl', bins: 16 }, classLaw: 'softmax' },
      host,
      training: { epochs: 3 },
    });
    expect(Number(written.irVersion)).toBe(8);
    expect(Number(written.opsetImport[0]!.version)).toBe(17);
  });
});

describe('our runtime reads what was assembled', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assembled-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('finds the head, its law and its variances, and reports the best anchor', async () => {
    const headed = build();
    const values = opinionated(headed);
    const path = join(folder, 'model.onnx');
    await writeFile(path, serialize(assembleDetector(headed, values, { training: {} })));
    const detector = await openDetector(path, { threshold: { kind: 'fixed', base: 0.01 } });
    expect(detector.model.finding.layout).toMatchObject({
      kind: 'edge-detect',
      classCount: 2,
      anchorCount: 126,
      qualityBins: { bins: 10 },
      boxVar: 'box_var',
    });
    expect(detector.model.preprocess.contract).toEqual(headed.spec.preprocess);
    const grey = await encodePicture(new Uint8Array(3 * 96 * 64).fill(128), input, 'png');
    const { detections } = await detectPicture(detector, grey);
    await detector.close();
    const wire = wireFromRaw(headed.spec, await rawOf(headed, values, 128 / 255));
    const scores = wire.get('class_probs')!.map((p, at) => p * wire.get('quality')![2 * Math.floor(at / 2)]!);
    const best = scores.indexOf(Math.max(...scores));
    const anchor = Math.floor(best / 2);
    const [top] = detections;
    expect(top?.score).toBeCloseTo(scores[best]!, 4);
    expect(top?.classId).toBe(best % 2);
    const clipped = wire
      .get('boxes')!
      .slice(4 * anchor, 4 * anchor + 4)
      .map((value, side) => Math.min(side % 2 === 0 ? 96 : 64, Math.max(0, value)));
    const { x1, y1, x2, y2 } = top!.box;
    expect(largestDifference([x1, y1, x2, y2], clipped)).toBeLessThan(0.01);
  });
});

async function rawOf(headed: HeadedModel, values: ReadonlyMap<string, Float32Array>, level: number) {
  const { model } = headed.trainable;
  for (const constant of model.graph!.initializer) {
    const given = values.get(constant.name);
    if (given) constant.rawData = new Uint8Array(given.buffer.slice(0));
  }
  return (
    await rawOutputs(headed, { data: new Float32Array(3 * 96 * 64).fill(level), shape: [1, 3, 64, 96] })
  ).raw;
}
