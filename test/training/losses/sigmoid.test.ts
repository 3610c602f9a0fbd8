// Sigmoid losses against golden vectors, central differences, and the statements about soft targets.
import { describe, expect, it } from 'vitest';
import { ConfigError } from '#core';
import {
  anchorGraLoss,
  createSigmoidLoss,
  SIGMOID_LOSSES,
  sigmoidRow,
} from '../../../training/losses/sigmoid.ts';
import type { ClassLoss, FrozenFactors } from '../../../training/losses/types.ts';
import { golden, goldenCase, goldenRows } from '../../support/golden.ts';
import { differences, near, relativeError } from './differences.ts';

const single = [...golden('losses_sigmoid.json').values()].filter(
  (entry) => entry.expect?.bce?.value !== undefined && entry.logit !== undefined,
);

function evaluateRow(
  loss: ClassLoss,
  logits: Float64Array,
  targets: readonly number[],
  frozen?: FrozenFactors,
) {
  const gradient = new Float64Array(logits.length);
  const { weight, value } = loss.rowInto({
    logits,
    offset: 0,
    stride: 1,
    target: Float64Array.from(targets),
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
    ...(frozen && { frozen }),
  });
  return { weight, value, gradient };
}

it('has golden cases', () => expect(single.length).toBe(10));

describe.each(single.map((entry) => [entry.id, entry]))(
  '%s',
  (_, { logit, target, gamma, alpha, expect: expected }) => {
    const options = { gamma, ...(alpha !== null && { alpha }) };
    it.each([
      ['bce', 'bce'],
      ['focal', 'focal_alpha'],
      ['qfl', 'qfl'],
      ['gra', 'bsce_gra_per_class'],
    ])('%s', (name, key) => {
      const { value, gradient, weight } = createSigmoidLoss(name, options).evaluate(logit, target);
      expect(near(value, expected[key].value), `${value} for ${expected[key].value}`).toBe(true);
      expect(near(gradient, expected[key].grad), `${gradient} for ${expected[key].grad}`).toBe(true);
      if (expected[key].u !== undefined) expect(near(weight, expected[key].u)).toBe(true);
    });

    it('GRA at gamma 2 has the potential of the notes', () => {
      if (expected.gra_potential_gamma2 === undefined) return;
      const potential = (z: number): number => {
        const p = 1 / (1 + Math.exp(-z));
        const q = target;
        return -(q ** 3) * Math.log(p) - (1 - q) ** 3 * Math.log(1 - p) - p ** 2 / 2 + (3 * q - 1) * p;
      };
      const z = Float64Array.of(logit);
      const { gradient } = createSigmoidLoss('gra').evaluate(logit, target);
      expect(differences(() => potential(z[0]!), z)[0]).toBeCloseTo(gradient, 8);
    });
  },
);

describe('central differences', () => {
  it.each(SIGMOID_LOSSES)('%s', (name) => {
    for (const target of [0, 0.3, 0.85, 1]) {
      for (const logit of [-3.1, -0.2, 1.7]) {
        for (const gamma of [2, 1.5]) {
          const loss = createSigmoidLoss(name, { gamma });
          const { gradient, weight } = loss.evaluate(logit, target);
          const wanted = gradient;
          const z = Float64Array.of(logit);
          const held = loss.weightFrozen ? weight : undefined;
          const [slope] = differences(() => loss.evaluate(z[0]!, target, held).value, z);
          expect(Math.abs(slope! - wanted)).toBeLessThan(1e-8);
        }
      }
    }
  });

  it('GRA is not QFL: its factor is detached', () => {
    const gra = createSigmoidLoss('gra').evaluate(0.2, 0.8).gradient;
    const qfl = createSigmoidLoss('qfl').evaluate(0.2, 0.8).gradient;
    expect(gra).toBeCloseTo(-0.015656146, 8);
    expect(Math.abs(gra - qfl)).toBeGreaterThan(0.05);
  });
});

describe('rows', () => {
  const {
    logits,
    targets,
    gamma,
    beta,
    expect: expected,
  } = goldenCase('losses_sigmoid.json', 'anchor_k4_per_class_vs_per_anchor');
  const z = Float64Array.from(logits as number[]);

  it('GRA per class', () => {
    const { value, weight, gradient } = evaluateRow(
      sigmoidRow(createSigmoidLoss('gra', { gamma }), 4),
      z,
      targets,
    );
    expect(near(value, expected.per_class.value_sum)).toBe(true);
    expect(weight).toBeCloseTo(expected.per_class.u.reduce((sum: number, u: number) => sum + u, 0) / 4, 12);
    for (const [index, slope] of expected.per_class.grad.entries())
      expect(near(gradient[index]!, slope)).toBe(true);
  });

  it('GRA per anchor', () => {
    const loss = anchorGraLoss(4, gamma, beta);
    const { value, weight, gradient } = evaluateRow(loss, z, targets);
    expect(near(value, expected.per_anchor.value_sum)).toBe(true);
    expect(near(weight, expected.per_anchor.u)).toBe(true);
    for (const [index, slope] of expected.per_anchor.grad.entries())
      expect(near(gradient[index]!, slope)).toBe(true);
    const frozen = { values: new Float64Array(4), offset: 0, held: false };
    evaluateRow(loss, z, targets, frozen);
    frozen.held = true;
    const slopes = differences(() => evaluateRow(loss, z, targets, frozen).value, z);
    expect(relativeError(gradient, slopes)).toBeLessThan(1e-8);
  });

  it('normalised by the sum of the soft targets', () => {
    const entry = goldenCase('losses_sigmoid.json', 'yolo_cls_loss_normalised_by_target_scores_sum');
    for (const [name, key, slopes] of [
      ['bce', 'bce', 'grad_bce'],
      ['gra', 'bsce_gra_per_class', 'grad_gra'],
    ] as const) {
      const loss = sigmoidRow(createSigmoidLoss(name), 2);
      let sum = 0;
      for (const [index, row] of entry.logits.entries()) {
        const { value, gradient } = evaluateRow(
          loss,
          Float64Array.from(row as number[]),
          entry.targets[index],
        );
        sum += value / entry.expect.target_scores_sum;
        for (const [k, slope] of entry.expect[slopes][index].entries()) {
          expect(near(gradient[k]! / entry.expect.target_scores_sum, slope)).toBe(true);
        }
      }
      expect(near(sum, entry.expect[key])).toBe(true);
    }
  });

  it('varifocal', () => {
    const entry = goldenCase('losses_sigmoid.json', 'varifocal_row_alpha0.75_gamma2');
    const loss = createSigmoidLoss('varifocal');
    for (const [index, logit] of entry.logits.entries()) {
      const { value, weight } = loss.evaluate(logit, entry.gt_score[index]);
      expect(near(value, entry.expect.elementwise[index])).toBe(true);
      expect(near(weight, entry.expect.weight[index])).toBe(true);
    }
  });
});

it.each(goldenRows('losses_sigmoid.json', 'background_gradient_suppression_gamma2'))(
  'background %s',
  (_, row) => {
    const logit = Math.log(row.p_background / (1 - row.p_background));
    expect(createSigmoidLoss('bce').evaluate(logit, 0).gradient / row.bce_grad).toBeCloseTo(1, 9);
    expect(createSigmoidLoss('qfl').evaluate(logit, 0).gradient / row.qfl_grad).toBeCloseTo(1, 9);
    expect(createSigmoidLoss('gra').evaluate(logit, 0).gradient / row.gra_grad).toBeCloseTo(1, 9);
  },
);

it.each(goldenRows('claims_gra.json', 'population_stationary_point_binary'))(
  'GRA and focal are soft %s',
  (_, row) => {
    for (const [name, key] of [
      ['gra', 'gra_stationary_p'],
      ['focal', 'focal_stationary_p'],
    ] as const) {
      const loss = createSigmoidLoss(name, { gamma: row.gamma });
      const logit = Math.log(row[key] / (1 - row[key]));
      const one = loss.evaluate(logit, 1).gradient;
      expect(row.eta * one + (1 - row.eta) * loss.evaluate(logit, 0).gradient).toBeCloseTo(0, 9);
    }
  },
);

it.each(goldenRows('losses_sigmoid.json', 'stationary_point_with_random_soft_targets'))(
  'GRA is stationary at %s',
  (_, row) => {
    const { targets_equally_likely: targets } = goldenCase(
      'losses_sigmoid.json',
      'stationary_point_with_random_soft_targets',
    );
    const loss = createSigmoidLoss('gra', { gamma: row.gamma });
    const logit = Math.log(row.stationary_p / (1 - row.stationary_p));
    const sum = targets.reduce(
      (total: number, target: number) => total + loss.evaluate(logit, target).gradient,
      0,
    );
    expect(sum).toBeCloseTo(0, 9);
  },
);

it('names the losses that there are and refuses what makes no sense', () => {
  expect(() => createSigmoidLoss('qlf')).toThrow(/known: bce, focal, qfl, varifocal, gra/);
  expect(() => createSigmoidLoss('focal', { alpha: 2 })).toThrow(ConfigError);
  expect(() => createSigmoidLoss('gra', { gamma: -1 })).toThrow(ConfigError);
});
