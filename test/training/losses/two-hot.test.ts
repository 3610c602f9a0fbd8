// Distribution focal losses of scores and box sides, one law at a time and over whole maps.
import { describe, expect, it } from 'vitest';
import { createRandom, DataError } from '#core';
import { expOfNegative } from '../../../training/losses/exponential.ts';
import { BLOCK_CELLS, createBackgroundLoss, createRunMoments } from '../../../training/losses/law-planes.ts';
import { createSigmoidLoss } from '../../../training/losses/sigmoid.ts';
import { createTwoHotLoss, scorePosition, sidePosition } from '../../../training/losses/two-hot.ts';
import { golden, goldenCase, goldenRows } from '../../support/golden.ts';
import { differences, near, relativeError } from './differences.ts';

function evaluate(
  logits: Float64Array,
  position: number,
  gamma: number,
  frozen?: { values: Float64Array; offset: number; held: boolean },
) {
  const gradient = new Float64Array(logits.length);
  const value = createTwoHotLoss(logits.length).addInto({
    logits,
    offset: 0,
    stride: 1,
    position,
    gamma,
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
    ...(frozen && { frozen }),
  });
  return { value, gradient };
}

describe('scores', () => {
  const cases = [...golden('dfl_score.json').values()].filter(
    (entry) => entry.expect?.value_without_eps_log_softmax,
  );
  it.each(cases.map((entry) => [entry.id, entry]))(
    '%s',
    (_, { logits, bins, target, gamma, expect: expected }) => {
      const z = Float64Array.from(logits);
      const position = scorePosition(target, bins);
      const { value, gradient } = evaluate(z, position, gamma);
      expect(near(value, expected.value_without_eps_log_softmax)).toBe(true);
      for (const [bin, slope] of expected.grad_without_eps.entries())
        expect(near(gradient[bin]!, slope)).toBe(true);
      const frozen = { values: new Float64Array(2), offset: 0, held: false };
      evaluate(z, position, gamma, frozen);
      frozen.held = true;
      const slopes = differences(() => evaluate(z, position, gamma, frozen).value, z);
      expect(relativeError(gradient, slopes)).toBeLessThan(1e-8);
    },
  );

  it('has golden cases', () => expect(cases.length).toBe(12));

  it.each(['t1_last_bin', 't1_last_bin_gamma0', 't_above_1_clamped'])(
    'does not lose the hardest positives: %s',
    (id) => {
      const { logits, bins, target, gamma, expect: expected } = goldenCase('dfl_score.json', id);
      expect(expected.faulty_clamp_first_value).toBe(0);
      expect(evaluate(Float64Array.from(logits), scorePosition(target, bins), gamma).value).toBeGreaterThan(
        3,
      );
    },
  );

  it('does not cap the loss of a probability near 0', () => {
    const { logits, expect: expected } = goldenCase('dfl_score.json', 'nearly_zero_prob_eps_matters');
    const { value } = evaluate(Float64Array.from(logits), 9, 0);
    expect(value).toBeCloseTo(62.19722457733622, 9);
    expect(value - expected.value).toBeGreaterThan(40);
  });

  it.each(goldenRows('dfl_score.json', 'two_bins_equal_bce'))('two bins are a sigmoid %s', (_, row) => {
    const { logits } = goldenCase('dfl_score.json', 'two_bins_equal_bce');
    const { value, gradient } = evaluate(Float64Array.from(logits), row.t, 0);
    const bce = createSigmoidLoss('bce').evaluate(logits[1] - logits[0], row.t);
    expect(value).toBeCloseTo(row.dfl_gamma0_no_eps, 12);
    expect(value).toBeCloseTo(bce.value, 12);
    expect(gradient[1]).toBeCloseTo(bce.gradient, 12);
  });

  it.each(goldenRows('dfl_score.json', 'focal_dfl_moves_the_optimum'))(
    'gamma moves the optimum %s',
    (_, row) => {
      const w = row.right_weight_target;
      if (w === 0 || w === 1) return;
      for (const gamma of [0, 1, 2]) {
        const p = row[`p_right_at_optimum_gamma${gamma}`];
        const { gradient } = evaluate(Float64Array.of(Math.log(1 - p), Math.log(p)), w, gamma);
        expect(gradient[1]).toBeCloseTo(0, 9);
      }
    },
  );

  it('rejects a NaN target', () => {
    expect(() => scorePosition(Number.NaN, 10)).toThrow(DataError);
    expect(scorePosition(1.2, 10)).toBe(9);
    expect(scorePosition(-0.2, 10)).toBe(0);
  });
});

describe('box sides', () => {
  const cases = [...golden('dfl_box.json').values()].filter((entry) => entry.id.startsWith('box_yolov8'));
  it.each(cases.map((entry) => [entry.id, entry]))('%s', (_, { logits, target, expect: expected }) => {
    const position = sidePosition(target, logits.length);
    expect(position).toBeCloseTo(expected.target_after_clamp, 12);
    const { value, gradient } = evaluate(Float64Array.from(logits), position, 0);
    expect(near(value, expected.value)).toBe(true);
    for (const [bin, slope] of expected.grad.entries()) expect(near(gradient[bin]!, slope)).toBe(true);
  });
});

it('adds to the gradient and scales it', () => {
  const gradient = Float64Array.of(5, 5, 5);
  const row = { offset: 0, stride: 1, position: 0.5, gamma: 0, gradientOffset: 0, gradientStride: 1 };
  createTwoHotLoss(3).addInto({ ...row, logits: new Float64Array(3), gradient, scale: 6 });
  expect(Array.from(gradient)).toEqual(
    [5 + 6 * (1 / 3 - 0.5), 5 + 6 * (1 / 3 - 0.5), 7].map((x) => expect.closeTo(x, 12)),
  );
});

describe('maps', () => {
  const random = createRandom(5);
  const bins = 6;
  const cells = BLOCK_CELLS + 37;
  const offset = 11;
  const logits = Float64Array.from({ length: offset + bins * cells }, () => 3 * random.normal());
  const states = Uint8Array.from({ length: cells + 3 }, () =>
    random.next() < 0.2 ? 1 + random.integer(2) : 0,
  );

  it.each([
    [0, 0],
    [0.45, 0],
    [0.45, 2],
    [0, 2],
    [5, 1],
  ])('background at %f bins, gamma %f, is the row loss of every cell', (position, gamma) => {
    const gradient = new Float64Array(logits.length);
    const row = {
      logits,
      offset,
      plane: cells,
      cells,
      states,
      stateOffset: 3,
      gradient,
      scale: 0.7,
      position,
      gamma,
    };
    const value = createBackgroundLoss(bins).writeInto({ ...row, frozen: undefined });
    const twoHot = createTwoHotLoss(bins);
    const wanted = new Float64Array(logits.length);
    let sum = 0;
    for (let cell = 0; cell < cells; cell++) {
      if (states[3 + cell] !== 0) continue;
      const place = { logits, offset: offset + cell, stride: cells };
      const into = { gradient: wanted, gradientOffset: offset + cell, gradientStride: cells };
      sum += twoHot.addInto({ ...place, ...into, position, gamma, scale: 0.7 });
    }
    expect(value).toBeCloseTo(sum, 9);
    expect(relativeError(gradient, wanted)).toBeLessThan(1e-13);
  });

  it('expectations of a list of cells', () => {
    const base = 40;
    const anchors = Int32Array.of(0, base + 3, base + 4, base + cells - 1);
    const means = new Float64Array(3);
    createRunMoments(bins).meansInto(means, { logits, offset, plane: cells }, anchors, 1, 4, base);
    for (const [index, cell] of [3, 4, cells - 1].entries()) {
      const masses = Array.from({ length: bins }, (_, bin) => Math.exp(logits[offset + bin * cells + cell]!));
      const total = masses.reduce((sum, mass) => sum + mass, 0);
      expect(means[index]).toBeCloseTo(masses.reduce((sum, mass, bin) => sum + bin * mass, 0) / total, 12);
    }
  });

  it('one NaN logit makes the sum NaN', () => {
    const broken = logits.slice();
    broken[offset + 7 * 1] = Number.NaN;
    const row = {
      logits: broken,
      offset,
      plane: cells,
      cells,
      states: new Uint8Array(cells),
      stateOffset: 0,
    };
    const gradient = new Float64Array(logits.length);
    expect(
      createBackgroundLoss(bins).writeInto({
        ...row,
        gradient,
        scale: 1,
        position: 0,
        gamma: 0,
        frozen: undefined,
      }),
    ).toBeNaN();
  });
});

it('the fast exponential is the slow one', () => {
  for (let index = 0; index <= 20_000; index++) {
    const x = index < 10_000 ? -index / 1000 : -(index - 10_000) * 0.0699;
    expect(Math.abs(expOfNegative(x) / Math.exp(x) - 1)).toBeLessThan(1e-15);
  }
  expect(expOfNegative(0)).toBe(1);
  expect(expOfNegative(-Infinity)).toBe(0);
  expect(expOfNegative(Number.NaN)).toBeNaN();
});
