// Detectors from scratch: their size, their seeds, and that folding their normalisation changes nothing.
import { describe, expect, it } from 'vitest';
import { anchorCount, createRandom } from '#core';
import type { HeadedModel } from '#onnx';
import { assembleDetector, buildDetector, inferShapes, reheadHost } from '#onnx';
import { wireFromRaw } from './decode-raw.ts';
import { largestDifference, rawOutputs } from './hosts.ts';
import { runGraph } from './run-graph.ts';

const input = { width: 96, height: 64 };
const classNames = ['car', 'person', 'bus'];

function parameterCount({ trainable }: HeadedModel): number {
  return trainable.parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

function noise(count: number, seed = 1): Float32Array {
  const random = createRandom(seed);
  return Float32Array.from({ length: count }, () => random.next());
}

const picture = { data: noise(3 * 96 * 64), shape: [1, 3, 64, 96] };

/** Every parameter and statistic moved away from its first value, as training does. */
function movedValues({ trainable }: HeadedModel): Map<string, Float32Array> {
  const random = createRandom(9);
  const values = new Map<string, Float32Array>();
  const near = (centre: number, length: number) =>
    Float32Array.from({ length }, () => centre + 0.3 * (random.next() - 0.5));
  for (const { name, shape, role } of trainable.parameters) {
    const length = shape.reduce((a, b) => a * b, 1);
    if (role === 'scale') values.set(name, near(1, length));
    if (role === 'shift' || name.endsWith('.bias')) values.set(name, near(0, length));
  }
  for (const { mean, variance } of trainable.normalizations) {
    const channels = values.get(mean.replace(/mean$/, 'scale'))?.length ?? 0;
    values.set(mean, near(0, channels));
    values.set(variance, near(1, channels));
  }
  return values;
}

function withValues(headed: HeadedModel, values: ReadonlyMap<string, Float32Array>): HeadedModel {
  const { model } = headed.trainable;
  for (const constant of model.graph!.initializer) {
    const given = values.get(constant.name);
    if (given) constant.rawData = new Uint8Array(given.buffer.slice(0));
  }
  return headed;
}

describe('a detector from scratch', () => {
  it.each([
    ['n', 400_000, 650_000],
    ['s', 700_000, 1_000_000],
  ] as const)('of size %s has a few hundred thousand parameters', (size, least, most) => {
    const count = parameterCount(buildDetector({ size, input, classNames }));
    expect(count).toBeGreaterThan(least);
    expect(count).toBeLessThan(most);
  });

  it('starts with the same weights for the same seed and others for another', () => {
    const weights = (seed: number) =>
      buildDetector({ size: 'n', input, classNames, seed }).trainable.model.graph!.initializer.map(
        ({ name, rawData }) => [name, Buffer.from(rawData).toString('base64')],
      );
    expect(weights(4)).toEqual(weights(4));
    const [a, b] = [new Map(weights(4) as [string, string][]), new Map(weights(5) as [string, string][])];
    for (const name of ['backbone.stem.weight', 'head.2.adapter.weight', 'head.0.quality.weight']) {
      expect(a.get(name)).not.toBe(b.get(name));
    }
    expect(a.get('tower.0.box.0.pointwise.weight')).not.toBe(a.get('tower.1.box.0.pointwise.weight'));
  });

  it('says of everything that it is almost surely no object, with boxes three cells wide to every side', async () => {
    const headed = buildDetector({ size: 'n', input, classNames });
    const wire = await runGraph(assembleDetector(headed, new Map()), { images: picture });
    const quality = wire.get('quality')!;
    expect(quality.shape).toEqual([1, anchorCount(headed.spec.levels), 2]);
    for (let anchor = 0; anchor < quality.shape[1]!; anchor++) {
      expect(quality.data[2 * anchor]).toBeGreaterThan(0.005);
      expect(quality.data[2 * anchor]).toBeLessThan(0.02);
    }
    const [x1 = 0, , x2 = 0] = wire.get('boxes')!.data;
    expect(x2 - x1).toBeGreaterThan(2 * 2.5 * 8);
    expect(x2 - x1).toBeLessThan(2 * 4.5 * 8);
  });

  it('computes the same after its normalisation was folded into its convolutions', async () => {
    const headed = buildDetector({ size: 'n', input, classNames });
    const values = movedValues(headed);
    const model = assembleDetector(headed, values);
    expect(model.graph!.node.some(({ opType }) => opType === 'BatchNormalization')).toBe(false);
    const wire = await runGraph(model, { images: picture });
    const { raw } = await rawOutputs(withValues(headed, values), picture);
    const expected = wireFromRaw(headed.spec, raw);
    for (const [name, data] of expected) {
      const scale = Math.max(1, ...data.map(Math.abs));
      expect(largestDifference(wire.get(name)!.data, data) / scale, name).toBeLessThan(2e-5);
    }
  });

  it('takes any batch, and its shapes can be told', async () => {
    const { trainable } = buildDetector({ size: 'n', input, classNames, dropout: 0.1 });
    const shapes = inferShapes(
      trainable.model,
      new Map(trainable.inputs.map(({ name, shape }) => [name, [3, ...shape]])),
    );
    for (const { name, shape } of trainable.outputs) expect(shapes.get(name), name).toEqual([3, ...shape]);
    const feeds = trainable.inputs.map(({ name, shape }) => {
      const data = new Float32Array(3 * shape.reduce((a, b) => a * b, 1)).fill(1);
      return [name, { data, shape: [3, ...shape] }] as const;
    });
    const raw = await runGraph(trainable.model, Object.fromEntries(feeds));
    for (const { name, shape } of trainable.outputs) expect(raw.get(name)?.shape).toEqual([3, ...shape]);
  });

  it('lists every parameter and statistic under a name of the graph', () => {
    const { trainable } = buildDetector({ size: 's', input, classNames });
    const names = new Map(
      trainable.model.graph!.initializer.map(({ name, dims }) => [name, dims.map(Number)]),
    );
    for (const { name, shape } of trainable.parameters) expect(names.get(name), name).toEqual(shape);
    for (const { mean, variance } of trainable.normalizations) {
      expect(names.has(mean) && names.has(variance)).toBe(true);
      expect(trainable.parameters.some(({ name }) => name === mean || name === variance)).toBe(false);
    }
    expect(new Set(trainable.parameters.map(({ role }) => role))).toEqual(
      new Set(['weight', 'bias', 'scale', 'shift']),
    );
  });

  it('can be cut at its towers once it is trained', async () => {
    const headed = buildDetector({ size: 'n', input, classNames });
    const model = assembleDetector(headed, movedValues(headed));
    for (const freeze of ['towers', 'neck', 'backbone', 'none'] as const) {
      const again = reheadHost(model, { classNames, preprocess: headed.spec.preprocess, freeze });
      expect(again.freeze).toBe(freeze);
      const before = await runGraph(model, { images: picture });
      const after = await runGraph(assembleDetector(again, new Map()), { images: picture });
      for (const [name, { data }] of before) {
        expect(largestDifference(after.get(name)!.data, data), `${freeze} ${name}`).toBeLessThan(1e-4);
      }
    }
  });

  it('refuses sides that are no multiples of 32', () => {
    expect(() => buildDetector({ size: 'n', input: { width: 100, height: 64 }, classNames })).toThrow(
      /100x64/,
    );
  });
});
