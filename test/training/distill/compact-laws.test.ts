// Distances of compact laws to the teacher's: gradients against difference quotients, and nothing left to learn at the target.
import { describe, expect, it } from 'vitest';
import { createRandom, mixtureHead, mixtureMean, mixtureVariance, splitFit } from '#core';
import { COMPACT_CHANNELS, type CompactQuality } from '#onnx';
import { LAW_LOSSES } from '../../../training/distill/compact-laws.ts';
import { createLawReader, TARGET_WIDTH } from '../../../training/distill/law-targets.ts';
import { createNetworkPass, parametersOf } from '../../../training/distill/quality-network.ts';
import { differences, relativeError } from '../losses/differences.ts';

const FORMS = Object.keys(COMPACT_CHANNELS) as CompactQuality[];
const random = createRandom(4);

function randomTargets(): Float64Array {
  const logits = Float32Array.from({ length: 10 }, () => 2 * random.normal());
  const targets = new Float64Array(TARGET_WIDTH);
  createLawReader(10).targetInto(targets, 0, { logits, offset: 0, stride: 1 });
  return targets;
}

describe.each(FORMS)('%s', (form) => {
  const loss = LAW_LOSSES[form];
  const channels = COMPACT_CHANNELS[form];

  it('has the gradient of its distance', () => {
    for (let trial = 0; trial < 40; trial++) {
      const targets = randomTargets();
      const raw = Float64Array.from({ length: channels }, () => 1.5 * random.normal());
      const gradient = new Float64Array(channels);
      loss({ raw, at: 0, targets, row: 0, gradient });
      const aside = new Float64Array(channels);
      const slopes = differences(() => loss({ raw, at: 0, targets, row: 0, gradient: aside }), raw, 1e-4);
      expect(relativeError(gradient, slopes)).toBeLessThan(1e-6);
    }
  });

  it('reads and writes at its own place', () => {
    const targets = Float64Array.from([...randomTargets(), ...randomTargets()]);
    const raw = Float64Array.from({ length: 3 * channels }, () => random.normal());
    const [whole, alone] = [new Float64Array(3 * channels), new Float64Array(channels)];
    const placed = loss({ raw, at: channels, targets, row: 1, gradient: whole });
    const single = loss({
      raw: raw.slice(channels, 2 * channels),
      at: 0,
      targets: targets.slice(TARGET_WIDTH),
      row: 0,
      gradient: alone,
    });
    expect(placed).toBe(single);
    expect([...whole]).toEqual([...new Float64Array(channels), ...alone, ...new Float64Array(channels)]);
  });
});

it('has no distance between a mixture and itself', () => {
  const raw = [0.3, -1.2, 0.4, -2, -0.5] as const;
  const mixture = mixtureHead(raw);
  const targets = Float64Array.of(
    mixtureMean(mixture),
    Math.sqrt(mixtureVariance(mixture)),
    mixture.weight,
    ...mixture.means,
    ...mixture.variances.map(Math.sqrt),
  );
  const gradient = new Float64Array(5);
  const row = { raw: Float64Array.from(raw), at: 0, targets, row: 0, gradient };
  expect(LAW_LOSSES['two-gaussian'](row)).toBeLessThan(1e-28);
  expect(Math.max(...gradient.map(Math.abs))).toBeLessThan(1e-13);
});

it('takes moments and split of a law as its targets', () => {
  const logits = Float32Array.of(9, 2, 9, 0, 9, -1, 9, 1, 9, 2);
  const targets = new Float64Array(2 * TARGET_WIDTH);
  createLawReader(5).targetInto(targets, TARGET_WIDTH, { logits, offset: 1, stride: 2 });
  const weights = [2, 0, -1, 1, 2].map(Math.exp);
  const total = weights.reduce((a, b) => a + b);
  const { mixture } = splitFit({ probabilities: Float64Array.from(weights, (weight) => weight / total) });
  const expected = [
    mixtureMean(mixture),
    Math.sqrt(mixtureVariance(mixture)),
    mixture.weight,
    ...mixture.means,
    ...mixture.variances.map(Math.sqrt),
  ];
  for (const [at, value] of expected.entries()) expect(targets[TARGET_WIDTH + at]).toBeCloseTo(value, 12);
  expect(targets.slice(0, TARGET_WIDTH).every((value) => value === 0)).toBe(true);
});

describe.each([0, 6])('a quality network with %i hidden units', (hidden) => {
  it('has the gradient of its raw channels', () => {
    const layer = (inputs: number, outputs: number) => ({
      inputs,
      outputs,
      weight: Float32Array.from({ length: inputs * outputs }, () => 0.5 * random.normal()),
      bias: Float32Array.from({ length: outputs }, () => 0.5 * random.normal()),
    });
    const network =
      hidden > 0 ? { hidden: layer(4, hidden), output: layer(hidden, 3) } : { output: layer(4, 3) };
    const rows = 5;
    const input = Float32Array.from({ length: rows * 4 }, () => random.normal());
    const pull = Float32Array.from({ length: rows * 3 }, () => random.normal());
    // More memory than rows: what lies behind them must not count.
    const pass = createNetworkPass(network, rows + 2);
    const value = () => {
      pass.forward(input, rows);
      return pull.reduce((sum, slope, at) => sum + slope * pass.raw[at]!, 0);
    };
    value();
    pass.gradient.set(pull);
    const gradients = pass.backward().map((gradient) => gradient.slice());
    parametersOf(network).forEach((values, place) => {
      const slopes = Array.from(values, (kept, at) => {
        // Small, so that hardly any unit crosses its kink; large enough for float32.
        const step = 2 ** -9;
        values[at] = kept + step;
        const above = value();
        values[at] = kept - step;
        const below = value();
        values[at] = kept;
        return (above - below) / (2 * step);
      });
      expect(relativeError(gradients[place]!, slopes)).toBeLessThan(2e-3);
    });
  });
});
