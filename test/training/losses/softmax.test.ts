// Softmax losses against golden vectors, against central differences with the weight held, and against what was claimed.
import { describe, expect, it } from 'vitest';
import { ConfigError } from '#core';
import { withLogitNorm } from '../../../training/losses/logit-norm.ts';
import { createSoftmaxLoss, SOFTMAX_LOSSES } from '../../../training/losses/softmax.ts';
import type { ClassLoss, FrozenFactors } from '../../../training/losses/types.ts';
import { golden, goldenCase, goldenRows } from '../../support/golden.ts';
import { differences, near, relativeError } from './differences.ts';

const KEYS: Readonly<Record<string, string>> = {
  ce: 'ce',
  focal: 'focal',
  dualFocal: 'dual_focal',
  brier: 'brier',
  bsce: 'bsce',
  focalGra: 'focal_gra',
  dualGra: 'dual_focal_gra',
  bsceGra: 'bsce_gra',
};

const cases = [...golden('losses_softmax.json').values()].filter((entry) => entry.expect.ce);

function oneHot(classes: number, classId: number): Float64Array {
  const target = new Float64Array(classes);
  target[classId] = 1;
  return target;
}

function evaluate(loss: ClassLoss, logits: Float64Array, target: Float64Array, frozen?: FrozenFactors) {
  const gradient = new Float64Array(logits.length);
  const { weight, value } = loss.rowInto({
    logits,
    offset: 0,
    stride: 1,
    target,
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
    ...(frozen && { frozen }),
  });
  return { weight, value, gradient };
}

/** The gradient by differences, with the detached weight held where there is one. */
function byDifference(loss: ClassLoss, logits: Float64Array, target: Float64Array): number[] {
  const frozen = { values: new Float64Array(logits.length), offset: 0, held: false };
  evaluate(loss, logits, target, frozen);
  frozen.held = true;
  return differences(() => evaluate(loss, logits, target, frozen).value, logits);
}

const logitsOf = (law: readonly number[]): Float64Array => Float64Array.from(law, (p) => Math.log(p));
const weightOf = (name: string, law: readonly number[], gamma: number, beta = 2): number =>
  evaluate(createSoftmaxLoss(name, law.length, { gamma, beta }), logitsOf(law), oneHot(law.length, 0)).weight;

describe.each(SOFTMAX_LOSSES)('%s', (name) => {
  const key = KEYS[name]!;

  it.each(cases.map((entry) => [entry.id, entry]))(
    '%s',
    (_, { logits, target, gamma, beta, expect: expected }) => {
      const loss = createSoftmaxLoss(name, logits.length, { gamma, beta });
      const found = evaluate(loss, Float64Array.from(logits), oneHot(logits.length, target));
      expect(near(found.value, expected[key].value)).toBe(true);
      if (expected[key].u !== undefined) expect(near(found.weight, expected[key].u)).toBe(true);
      for (const [index, slope] of expected[key].grad.entries()) {
        expect(
          near(found.gradient[index]!, slope),
          `gradient ${index}: ${found.gradient[index]} for ${slope}`,
        ).toBe(true);
      }
    },
  );

  it.each([
    ['hard label', [1.2, -0.4, 0.3, 0.9], [0, 0, 1, 0]],
    ['smoothed label', [1.2, -0.4, 0.3, 0.9], [0.02, 0.02, 0.94, 0.02]],
    ['two classes', [0.7, -0.2], [0, 1]],
  ])('agrees with central differences: %s', (_, logits, target) => {
    for (const options of [
      { gamma: 2, beta: 2 },
      { gamma: 1.5, beta: 3 },
      { gamma: 0, beta: 1.5 },
    ]) {
      const loss = createSoftmaxLoss(name, logits.length, options);
      const z = Float64Array.from(logits);
      const y = Float64Array.from(target);
      expect(relativeError(evaluate(loss, z, y).gradient, byDifference(loss, z, y))).toBeLessThan(1e-8);
    }
  });

  it('is the same through LogitNorm, with its gradient through the norm', () => {
    const loss = withLogitNorm(createSoftmaxLoss(name, 3), 3, 0.5);
    const z = Float64Array.from([2, 1, 0.1]);
    const y = oneHot(3, 1);
    const { gradient } = evaluate(loss, z, y);
    expect(relativeError(gradient, byDifference(loss, z, y))).toBeLessThan(1e-6);
    // Longer logits change nothing, so the gradient has no part along them.
    const along = gradient.reduce((sum, slope, index) => sum + slope * z[index]!, 0);
    expect(Math.abs(along)).toBeLessThan(1e-6);
  });

  it('stays finite at hopeless and at perfect rows', () => {
    const loss = createSoftmaxLoss(name, 3, { gamma: 0.5 });
    for (const logits of [
      [800, 0, -800],
      [0, 0, 0],
      [40, -40, 0],
    ]) {
      for (const classId of [0, 1, 2]) {
        const { value, gradient } = evaluate(loss, Float64Array.from(logits), oneHot(3, classId));
        expect(Number.isFinite(value)).toBe(true);
        expect(gradient.every(Number.isFinite)).toBe(true);
      }
    }
  });
});

it('reads and writes a strided row, scaling the gradient and not the value', () => {
  const loss = createSoftmaxLoss('bsceGra', 3);
  const plain = evaluate(loss, Float64Array.from([2, 1, 0.1]), oneHot(3, 0));
  const logits = Float32Array.from([9, 2, 9, 1, 9, 0.1]);
  const gradient = new Float64Array(9).fill(7);
  const strided = loss.rowInto({
    logits,
    offset: 1,
    stride: 2,
    target: oneHot(3, 0),
    gradient,
    gradientOffset: 2,
    gradientStride: 3,
    scale: 10,
  });
  expect(strided.value).toBeCloseTo(plain.value, 7);
  for (const index of [0, 1, 2]) expect(gradient[2 + 3 * index]).toBeCloseTo(10 * plain.gradient[index]!, 6);
  expect(gradient[0]).toBe(7);
});

describe('wrong variants that must not be returned', () => {
  it.each(
    cases
      .filter(({ id }) => id.startsWith('k3_right') || id.startsWith('k4'))
      .map((entry) => [entry.id, entry]),
  )(
    'dual GRA is not the reference that detaches p_j alone: %s',
    (_, { logits, target, gamma, beta, expect: expected }) => {
      const loss = createSoftmaxLoss('dualGra', logits.length, { gamma, beta });
      const { gradient } = evaluate(loss, Float64Array.from(logits), oneHot(logits.length, target));
      expect(relativeError(gradient, expected.dual_focal_gra_as_in_reference_HEAD.grad)).toBeGreaterThan(
        0.05,
      );
    },
  );

  it('the Brier weight is the norm form, which depends on beta, and not the sum form', () => {
    const entry = goldenCase('losses_softmax.json', 'k4_gamma3_beta1');
    const loss = createSoftmaxLoss('bsceGra', 4, entry);
    const { weight } = evaluate(loss, Float64Array.from(entry.logits), oneHot(4, entry.target));
    expect(Math.abs(weight - entry.expect.u_literal_sum_form)).toBeGreaterThan(0.01);
    const { p, norm_form } = goldenCase('claims_gra.json', 'generalised_brier_literal_vs_norm');
    for (const [name, wanted] of Object.entries(norm_form)) {
      const [beta, gamma] = name.match(/\d/g)!.map(Number);
      expect(weightOf('bsceGra', p, gamma!, beta!)).toBeCloseTo(wanted as number, 9);
    }
  });

  it('with a live weight the difference quotient of GRA is another one: a GRA has to be frozen to be checked', () => {
    const loss = createSoftmaxLoss('bsceGra', 3);
    const z = Float64Array.from([2, 1, 0.1]);
    const y = oneHot(3, 0);
    const live = differences(() => evaluate(loss, z, y).value, z);
    expect(relativeError(evaluate(loss, z, y).gradient, live)).toBeGreaterThan(0.3);
  });
});

describe('claims about the family', () => {
  it.each(goldenRows('claims_gra.json', 'focal_gradient_scale_table'))(
    'focal over CE gradient %s',
    (_, row) => {
      for (const [text, wanted] of Object.entries(row.g_at)) {
        const p = Number(text);
        const logits = logitsOf([p, 1 - p]);
        const focal = evaluate(createSoftmaxLoss('focal', 2, { gamma: row.gamma }), logits, oneHot(2, 0));
        const ce = evaluate(createSoftmaxLoss('ce', 2), logits, oneHot(2, 0));
        expect(focal.gradient[0]! / ce.gradient[0]!).toBeCloseTo(wanted as number, 9);
      }
    },
  );

  it.each(goldenRows('claims_gra.json', 'focal_equals_brier_in_binary'))(
    'binary Brier is twice the focal weight %s',
    (_, row) => {
      const law = [row.p_c, 1 - row.p_c];
      expect(weightOf('focal', law, 2)).toBeCloseTo(row.focal_weight_gamma2, 10);
      expect(weightOf('bsce', law, 2)).toBeCloseTo(row.brier_sum_2class, 10);
      expect(weightOf('bsce', law, 2) / weightOf('focal', law, 2)).toBeCloseTo(row.ratio, 9);
      expect(weightOf('bsce', law, 1, 1)).toBeCloseTo(row.norm_beta1_gamma1, 10);
      expect(weightOf('bsce', law, 2, 1)).toBeCloseTo(row.norm_beta1_gamma2, 10);
    },
  );

  it.each(goldenRows('claims_gra.json', 'dual_focal_equals_brier_in_three_classes'))(
    'the dual weight is not the Brier weight in three classes %s',
    (_, row) => {
      expect(weightOf('dualGra', row.p, 2)).toBeCloseTo(row.dual_weight_gamma2, 9);
      expect(weightOf('bsceGra', row.p, 2)).toBeCloseTo(row.brier, 9);
      expect(Math.abs(weightOf('dualGra', row.p, 2) - weightOf('bsceGra', row.p, 2))).toBeGreaterThan(0.1);
    },
  );

  it('the dual weight jumps where the target loses the lead', () => {
    const rows = goldenRows('claims_gra.json', 'dual_focal_weight_jumps_at_ties').map(([, row]) => row);
    for (const row of rows) {
      // An exact tie of probabilities needs equal logits, which ln gives.
      expect(weightOf('dualGra', row.p, 2)).toBeCloseTo(row.dual_weight_gamma2, 8);
      expect(weightOf('bsceGra', row.p, 2)).toBeCloseTo(row.brier, 8);
    }
    expect(weightOf('dualGra', rows[0].p, 2) - weightOf('dualGra', rows[2].p, 2)).toBeGreaterThan(0.3);
  });

  it('the field of Brier and dual GRA has a curl for three classes, that of focal GRA has none', () => {
    const { logits, target, curl } = goldenCase(
      'claims_gra.json',
      'gra_field_is_not_a_gradient_for_K3_brier',
    );
    for (const [name, key] of [
      ['focalGra', 'focal'],
      ['dualGra', 'dual'],
      ['bsceGra', 'brier'],
    ] as const) {
      const loss = createSoftmaxLoss(name, 3);
      const z = Float64Array.from(logits);
      const field = (component: number) =>
        differences(() => evaluate(loss, z, oneHot(3, target)).gradient[component]!, z);
      expect(field(1)[0]! - field(0)[1]!).toBeCloseTo(curl[key].curl_01, 6);
      expect(field(2)[0]! - field(0)[2]!).toBeCloseTo(curl[key].curl_02, 6);
      expect(field(2)[1]! - field(1)[2]!).toBeCloseTo(curl[key].curl_12, 6);
    }
  });

  it.each(goldenRows('claims_gra.json', 'focal_gra_closed_form_potential'))(
    'focal GRA has a potential %s',
    (_, row) => {
      const { gradient } = evaluate(
        createSoftmaxLoss('focalGra', 2, row),
        logitsOf([row.p, 1 - row.p]),
        oneHot(2, 0),
      );
      // d potential / dz = (d potential / dp) p (1 − p)
      expect(gradient[0]).toBeCloseTo(row.dpotential_dp * row.p * (1 - row.p), 9);
    },
  );

  it.each(goldenRows('claims_gra.json', 'population_stationary_point_3class_brier_gra'))(
    'GRA is not proper: its expected gradient vanishes at a softer law %s',
    (_, row) => {
      const loss = createSoftmaxLoss('bsceGra', 3);
      const sum = [0, 0, 0];
      for (const classId of [0, 1, 2]) {
        const { gradient } = evaluate(loss, logitsOf(row.stationary_p), oneHot(3, classId));
        for (const index of [0, 1, 2]) sum[index]! += row.eta[classId] * gradient[index]!;
      }
      for (const slope of sum) expect(Math.abs(slope)).toBeLessThan(1e-9);
      expect(row.stationary_p[0]).toBeLessThan(row.eta[0] - 0.1);
    },
  );

  it('the Brier score minus the calibration error depends on the truth alone, in expectation', () => {
    const entry = goldenCase('claims_gra.json', 'brier_minus_calibration_depends_on_eta_only');
    const loss = createSoftmaxLoss('brier', 3);
    const values = [0, 1, 2].map((classId) => evaluate(loss, logitsOf(entry.p), oneHot(3, classId)).value);
    for (const [index, wanted] of entry.per_label_brier.entries())
      expect(values[index]).toBeCloseTo(wanted, 10);
    const mean = values.reduce((sum, value, index) => sum + value * entry.eta[index], 0);
    expect(mean - entry.squared_calibration_error).toBeCloseTo(entry['1-||eta||^2'], 10);
  });

  it('reduces a batch by sum, by mean, and by the sum of the weights', () => {
    const {
      logits,
      targets,
      expect: expected,
    } = goldenCase('losses_softmax.json', 'batch_reductions_bsce_gra');
    const loss = createSoftmaxLoss('bsceGra', 3);
    const rows = logits.map((row: number[], index: number) =>
      evaluate(loss, Float64Array.from(row), oneHot(3, targets[index])),
    );
    const sum = rows.reduce((total: number, { value }: { value: number }) => total + value, 0);
    const weight = rows.reduce((total: number, row: { weight: number }) => total + row.weight, 0);
    expect(sum).toBeCloseTo(expected.sum.value, 10);
    expect(sum / 3).toBeCloseTo(expected.mean.value, 10);
    expect(sum / weight).toBeCloseTo(expected.mean_weight_normalised.value, 10);
  });
});

describe('refusals', () => {
  it('names the losses that there are', () => {
    expect(() => createSoftmaxLoss('bsce-gra', 3)).toThrow(/known: ce, focal, dualFocal/);
    expect(() => createSoftmaxLoss('focl', 3)).toThrow(ConfigError);
  });
  it.each([{ gamma: -1 }, { gamma: Number.NaN }, { beta: 0 }])('refuses %o', (options) => {
    expect(() => createSoftmaxLoss('bsceGra', 3, options)).toThrow(ConfigError);
  });
  it('refuses a LogitNorm temperature of 0', () => {
    expect(() => withLogitNorm(createSoftmaxLoss('ce', 3), 3, 0)).toThrow(ConfigError);
  });
});
