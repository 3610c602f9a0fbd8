// Logit scaling in the graph: equal to its formula when the runtime computes it, and refused where it has no meaning.
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom, type LogitRange, logitRangeInto, rescaleLogits, softmaxInto } from '#core';
import type { FreezeLevel, HeadedModel, ModelProto, SalsOptions } from '#onnx';
import {
  assembleDetector,
  buildDetector,
  describeModel,
  deserialize,
  planTaps,
  readMetadata,
  readSals,
  reheadHost,
  serialize,
  withCalibrator,
  withExtraOutputs,
  withSals,
} from '#onnx';
import { goldenCase } from '../../support/golden.ts';
import { runGraph } from '../heads/run-graph.ts';

const input = { width: 96, height: 64 };
const classNames = ['car', 'person', 'bus', 'bike'];
const SHA = 'ab'.repeat(32);
const random = createRandom(4);
const picture = {
  data: Float32Array.from({ length: 3 * 96 * 64 }, () => random.next()),
  shape: [1, 3, 64, 96],
};

/** A trained model as far as logits can tell: class layers with weights that speak. */
function trained(headed: HeadedModel, spread: number, seed: number, monteCarlo = false): ModelProto {
  const draw = createRandom(seed);
  const values = new Map(
    headed.trainable.parameters
      .filter(({ name, role }) => role === 'weight' && !/\.(quality|box)\./.test(name))
      .map(({ name, shape }) => {
        const fanIn = shape.slice(1).reduce((a, b) => a * b, 1);
        const width = name.includes('classes') ? spread : Math.sqrt(2 / fanIn);
        const length = shape.reduce((a, b) => a * b, 1);
        return [name, Float32Array.from({ length }, () => width * draw.normal())] as const;
      }),
  );
  const masks = headed.trainable.inputs
    .filter(({ kind }) => kind === 'mask')
    .map(({ shape }) =>
      Float32Array.from({ length: 3 * (shape[0] ?? 0) }, () => (draw.next() < 0.3 ? 0 : 1 / 0.7)),
    );
  return assembleDetector(headed, values, monteCarlo ? { monteCarlo: { passes: 3, masks } } : {});
}

function adapted(before: ModelProto, freeze: FreezeLevel = 'towers', dropout = 0): ModelProto {
  const headed = reheadHost(before, {
    classNames,
    preprocess: { ...JSON.parse(readMetadata(before).edgeDetect!).preprocess },
    freeze,
    dropout,
    host: { name: 'before.onnx', sha256: SHA },
  });
  return trained(headed, 80, 8, dropout > 0);
}

let before: ModelProto;
let after: ModelProto;

beforeAll(() => {
  before = trained(buildDetector({ size: 'n', input, classNames, seed: 1 }), 40, 7);
  after = adapted(before);
});

const layer = (): SalsOptions => ({ reference: { kind: 'frozen-layer', before, sha256: SHA } });

async function output(model: ModelProto, name: string) {
  return (await runGraph(withExtraOutputs(model, [name]), { images: picture })).get(name)!;
}

/** The formula in float64, row by row, over the logits that the two models state. */
function formula(
  logits: Float32Array,
  referenceOf: (row: number, first: number) => LogitRange,
  shrinkOnly: boolean,
) {
  const classes = classNames.length;
  const probabilities = new Float64Array(logits.length);
  const scaled = new Float64Array(classes);
  const scales: number[] = [];
  for (let offset = 0; offset < logits.length; offset += classes) {
    const row = { logits, offset, stride: 1, classes };
    const values = logits.subarray(offset, offset + classes);
    const first = values.indexOf(Math.max(...values));
    scales.push(rescaleLogits(scaled, row, referenceOf(offset / classes, first), { shrinkOnly }));
    softmaxInto(probabilities.subarray(offset, offset + classes), scaled, 0, 1, classes);
  }
  return { probabilities, scales };
}

function rangeAt(logits: Float32Array, row: number): LogitRange {
  const range = { least: 0, greatest: 0 };
  logitRangeInto(range, { logits, offset: row * classNames.length, stride: 1, classes: classNames.length });
  return range;
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0);
}

describe('the formula', () => {
  it.each([
    'zsnorm_adapted_wider_than_reference',
    'zsnorm_adapted_narrower_than_reference_gets_sharpened',
    'zsnorm_same_range_shifted',
    'zsnorm_two_classes',
  ])('shrink-only: %s', (id) => {
    const { logits, reference_logits, expect: expected } = goldenCase('logit_range.json', id);
    const target = new Float64Array(logits.length);
    const view = (values: number[]) => ({
      logits: Float64Array.from(values),
      offset: 0,
      stride: 1,
      classes: values.length,
    });
    const range = { least: 0, greatest: 0 };
    logitRangeInto(range, view(reference_logits));
    rescaleLogits(target, view(logits), range, { shrinkOnly: true });
    expect(largestDifference(target, expected.shrink_only)).toBeLessThan(1e-12);
  });
});

describe('sals with the frozen class layer', () => {
  it.each([
    ['towers', true],
    ['towers', false],
    ['neck', true],
    ['none', true],
  ] as const)('is the formula to 1e-6: freeze %s, shrink only %s', async (freeze, shrinkOnly) => {
    const model = adapted(before, freeze);
    const { model: scaled, record } = withSals(model, { ...layer(), shrinkOnly });
    const { data: logits } = await output(model, 'tail.classes');
    const { data: reference } = await output(before, 'tail.classes');
    const expected = formula(logits, (row) => rangeAt(reference, row), shrinkOnly);
    const { data } = await output(scaled, 'class_probs');
    expect(largestDifference(data, expected.probabilities)).toBeLessThan(1e-6);
    // It must have had something to do, and, shrinking only, something to leave alone.
    expect(expected.scales.some((scale) => scale < 0.9)).toBe(true);
    expect(expected.scales.some((scale) => scale === 1)).toBe(shrinkOnly);
    const { data: plain } = await output(model, 'class_probs');
    expect(largestDifference(data, plain)).toBeGreaterThan(0.05);
    expect(record.shrinkOnly).toBe(shrinkOnly);
  });

  it('is the same where the axes of a reduction are an input, from opset 18 on', async () => {
    const raised = deserialize(serialize(after));
    raised.opsetImport[0]!.version = 18n;
    const { data } = await output(withSals(raised, layer()).model, 'class_probs');
    const { data: plain } = await output(withSals(after, layer()).model, 'class_probs');
    expect(largestDifference(data, plain)).toBeLessThan(1e-6);
  });

  it('leaves boxes and qualities as they were', async () => {
    const { model: scaled } = withSals(after, layer());
    for (const name of ['boxes', 'quality', 'quality_bins', 'box_var']) {
      expect(largestDifference((await output(scaled, name)).data, (await output(after, name)).data)).toBe(0);
    }
  });

  it('copies what the adaptation changed, and states it', () => {
    const { model, record } = withSals(after, layer());
    // Adapter and class layer at three levels; their biases are still those of before, and are shared.
    const adapter = after.graph!.initializer.find(({ name }) => name === 'head.0.adapter.weight')!;
    const [width = 0, channels = 0] = adapter.dims.map(Number);
    expect(record.extraParameters).toBe(3 * (width * channels + 4 * width));
    const cells = 12 * 8 + 6 * 4 + 3 * 2;
    expect(record.extraMultiplyAdds).toBe(cells * (width * channels + 4 * width));
    const count = (of: ModelProto) =>
      of.graph!.initializer.filter(({ name }) => /adapter.weight$/.test(name)).length;
    expect(count(model)).toBe(2 * count(after));
    expect(withSals(adapted(before, 'none'), layer()).record.extraParameters).toBeGreaterThan(
      2 * record.extraParameters,
    );
  });

  it('holds every pass of MC dropout to the layer without dropout', async () => {
    const model = adapted(before, 'towers', 0.3);
    const { model: scaled } = withSals(model, layer());
    const { data: logits } = await output(model, 'tail.classes');
    const { data: reference } = await output(before, 'tail.classes');
    const rows = reference.length / classNames.length;
    const { probabilities } = formula(logits, (row) => rangeAt(reference, row % rows), true);
    const mean = Float64Array.from({ length: reference.length }, (_, at) =>
      [0, 1, 2].reduce((sum, pass) => sum + probabilities[pass * reference.length + at]! / 3, 0),
    );
    expect(largestDifference((await output(scaled, 'class_probs')).data, mean)).toBeLessThan(1e-6);
  });

  it('a row without range says the same of every class, and is no NaN', async () => {
    const flat = deserialize(serialize(after));
    for (const constant of flat.graph!.initializer) {
      if (/classes\.(weight|bias)$/.test(constant.name))
        constant.rawData = new Uint8Array(constant.rawData.length);
    }
    for (const shrinkOnly of [true, false]) {
      const { data } = await output(withSals(flat, { ...layer(), shrinkOnly }).model, 'class_probs');
      expect(data.every((value) => value === 0.25)).toBe(true);
    }
  });

  it('is written in ordinary operators of opset 17 and in its metadata, and shown', () => {
    const { model, record } = withSals(after, layer());
    expect(model.opsetImport.map(({ domain, version }) => [domain, version])).toEqual([['', 17n]]);
    const old = new Set(after.graph!.node.map(({ name }) => name));
    const added = new Set(model.graph!.node.filter(({ name }) => !old.has(name)).map(({ opType }) => opType));
    expect([...added].sort()).toEqual(
      [
        'Concat',
        'Conv',
        'Div',
        'Max',
        'Min',
        'Mul',
        'ReduceMax',
        'ReduceMin',
        'Reshape',
        'Sigmoid',
        'Sub',
        'Transpose',
      ].sort(),
    );
    expect(readSals(readMetadata(model))).toEqual(record);
    const { sals } = describeModel(model, { taps: planTaps(model) });
    expect(sals?.text).toMatch(
      /^class logits are shrunk, never stretched, to the range of the class layer before adaptation \(abababababab…\)/,
    );
    expect(sals?.text).toContain(`adds ${record.extraParameters} parameters`);
  });
});

describe('sals with stored ranges', () => {
  const classes = { car: 1.5, person: 0.5, bus: 3, bike: 1 };
  const stored = {
    statistic: 'made up',
    classes: Object.fromEntries(
      Object.entries(classes).map(([name, greatest]) => [
        name,
        { least: -greatest, greatest, positives: 90 },
      ]),
    ),
  };

  it.each([true, false])(
    'is the formula with the range of the first class: shrink only %s',
    async (shrinkOnly) => {
      const { model, record } = withSals(after, { reference: { kind: 'ceilings', stored }, shrinkOnly });
      const { data: logits } = await output(after, 'tail.classes');
      const ends = Object.values(classes);
      const { probabilities, scales } = formula(
        logits,
        (_, first) => ({ least: -ends[first]!, greatest: ends[first]! }),
        shrinkOnly,
      );
      expect(largestDifference((await output(model, 'class_probs')).data, probabilities)).toBeLessThan(1e-6);
      expect(new Set(scales.filter((scale) => scale < 1)).size).toBeGreaterThan(10);
      expect(record.extraParameters).toBe(4);
      expect(describeModel(model, { taps: planTaps(model) }).sals?.text).toContain(
        'the range that 4 classes had in training',
      );
    },
  );

  it('takes those of the model itself', async () => {
    const own = deserialize(serialize(after));
    const entry = own.metadataProps.find(({ key }) => key === 'edge_detect')!;
    entry.value = JSON.stringify({ ...JSON.parse(entry.value), logitRanges: stored });
    const given = withSals(after, { reference: { kind: 'ceilings', stored } });
    const found = withSals(own, { reference: { kind: 'ceilings' } });
    expect(found.record).toEqual(given.record);
  });
});

describe('sals is refused', () => {
  const refusal = (make: () => unknown) => {
    try {
      make();
    } catch (error) {
      return (error as Error).message;
    }
    return 'not refused';
  };

  it.each([1, 2])('with %i classes', (count) => {
    const few = trained(buildDetector({ size: 'n', input, classNames: classNames.slice(0, count) }), 1, 3);
    expect(refusal(() => withSals(few, { reference: { kind: 'ceilings' } }))).toMatch(
      `at least 3 classes, the model has ${count}`,
    );
  });

  it('a second time, and behind a calibrator', () => {
    expect(refusal(() => withSals(withSals(after, layer()).model, layer()))).toMatch(/scaled already/);
    const calibrated = withCalibrator(after, { version: 1 } as never);
    expect(refusal(() => withSals(calibrated, layer()))).toMatch(/carries a calibrator/);
  });

  it('for sigmoid classes, and for models that are not ours', () => {
    const sigmoid = trained(buildDetector({ size: 'n', input, classNames, classLaw: 'sigmoid' }), 1, 3);
    expect(refusal(() => withSals(sigmoid, { reference: { kind: 'ceilings' } }))).toMatch(/sigmoids/);
    const foreign = deserialize(serialize(after));
    foreign.metadataProps = [];
    expect(refusal(() => withSals(foreign, layer()))).toMatch(/this is none/);
  });

  it('without a reference: other classes, another file, no stored range', () => {
    expect(refusal(() => withSals(after, { reference: { kind: 'ceilings' } }))).toMatch(
      /no reference: no range of class logits is stored for any class/,
    );
    const other = { reference: { kind: 'frozen-layer', before, sha256: 'cd'.repeat(32) } } as const;
    expect(refusal(() => withSals(after, other))).toMatch(
      /was not adapted from this one: it comes from abab/,
    );
    const renamed = trained(
      buildDetector({ size: 'n', input, classNames: ['car', 'person', 'bus', 'van'] }),
      1,
      7,
    );
    const reference = { kind: 'frozen-layer', before: renamed, sha256: SHA } as const;
    expect(refusal(() => withSals(after, { reference }))).toMatch(
      /classes were car, person, bus, van before, and are car, person, bus, bike/,
    );
    const partly = { statistic: '', classes: { car: { least: 0, greatest: 1, positives: 90 } } };
    expect(refusal(() => withSals(after, { reference: { kind: 'ceilings', stored: partly } }))).toMatch(
      /stored for person, bus, bike/,
    );
  });
});
