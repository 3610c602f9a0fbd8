// The range of class logits held to a reference: penalty and ZS-Norm.
import { describe, expect, it } from 'vitest';
import { ConfigError, logitRangeInto, rescaleLogits } from '#core';
import { addRangePenalty, withRangeNorm } from '../../../training/logit-range.ts';
import { createSoftmaxLoss } from '../../../training/losses/softmax.ts';
import { golden, goldenCase } from '../../support/golden.ts';
import { differences, near, relativeError } from './differences.ts';

function viewOf(logits: readonly number[]) {
  return { logits: Float64Array.from(logits), offset: 0, stride: 1, classes: logits.length };
}

function rangeOf(logits: readonly number[]) {
  const range = { least: 0, greatest: 0 };
  logitRangeInto(range, viewOf(logits));
  return range;
}

function rescaled(logits: readonly number[], reference: readonly number[]) {
  const target = new Float64Array(logits.length);
  const scale = rescaleLogits(target, viewOf(logits), rangeOf(reference));
  return { target: Array.from(target), scale };
}

describe('rescaling', () => {
  const cases = [...golden('logit_range.json').values()].filter((entry) => entry.expect?.scaled);
  it.each(cases.map((entry) => [entry.id, entry]))(
    '%s',
    (_, { logits, reference_logits, expect: expected }) => {
      const { target, scale } = rescaled(logits, reference_logits);
      expect(near(scale, expected.scale)).toBe(true);
      for (const [index, logit] of expected.scaled.entries()) expect(near(target[index]!, logit)).toBe(true);
    },
  );

  it.each(['zsnorm_degenerate_range', 'zsnorm_single_class_head'])('%s is guarded, not NaN', (id) => {
    const { logits, reference_logits, expect: expected } = goldenCase('logit_range.json', id);
    expect(expected.reference_code).toMatch(/^NaN/);
    expect(rescaled(logits, reference_logits).target).toEqual(expected.safe);
  });
});

describe('zs-norm', () => {
  const {
    logits,
    reference_logits,
    target,
    expect: expected,
  } = goldenCase('logit_range.json', 'zsnorm_training_gradient');
  const z = Float64Array.from(logits as number[]);
  const y = Float64Array.from({ length: 4 }, (_, index) => (index === target ? 1 : 0));

  function evaluate(name: string, row: Float64Array, reference: readonly number[]) {
    const gradient = new Float64Array(row.length);
    const frozen = { values: new Float64Array(4), offset: 0, held: false };
    const loss = withRangeNorm(createSoftmaxLoss(name, row.length), row.length, rangeOf(reference));
    const at = { logits: row, offset: 0, stride: 1, target: y.subarray(0, row.length), frozen };
    const into = { gradient, gradientOffset: 0, gradientStride: 1, scale: 1 };
    const { value } = loss.rowInto({ ...at, ...into });
    frozen.held = true;
    const scratch = {
      gradient: new Float64Array(row.length),
      gradientOffset: 0,
      gradientStride: 1,
      scale: 1,
    };
    return { value, gradient, held: () => loss.rowInto({ ...at, ...scratch }).value };
  }

  it('differentiates through the least and the greatest logit', () => {
    const { value, gradient } = evaluate('ce', z, reference_logits);
    expect(near(value, expected.loss)).toBe(true);
    for (const [index, slope] of expected.grad.entries()) expect(near(gradient[index]!, slope)).toBe(true);
    expect(gradient.reduce((sum, slope) => sum + slope, 0)).toBeCloseTo(0, 12);
    expect(gradient.reduce((sum, slope, index) => sum + slope * z[index]!, 0)).toBeCloseTo(0, 10);
  });

  it.each(['ce', 'bsceGra', 'focal', 'brier'])('agrees with central differences: %s', (name) => {
    const { gradient, held } = evaluate(name, z, reference_logits);
    expect(relativeError(gradient, differences(held, z))).toBeLessThan(1e-7);
  });

  it('has no gradient and no NaN where all logits are equal', () => {
    const { value, gradient } = evaluate('ce', Float64Array.of(1.3, 1.3, 1.3), [4, 0, -6]);
    expect(value).toBeCloseTo(Math.log(3), 12);
    expect(gradient.every((slope) => slope === 0)).toBe(true);
  });

  it.each([1, 2])('refuses %i classes', (classes) => {
    expect(() => withRangeNorm(createSoftmaxLoss('ce', classes), classes, { least: 0, greatest: 1 })).toThrow(
      ConfigError,
    );
  });
});

describe('penalty', () => {
  const entry = goldenCase('logit_range.json', 'penalty_mean');

  it('is the mean over rows and classes, and not the sum', () => {
    const scale = entry.lambda / 8;
    let value = 0;
    for (const [index, row] of entry.logits.entries()) {
      const gradient = new Float64Array(4);
      const logits = Float64Array.from(row as number[]);
      value +=
        scale *
        addRangePenalty(
          { logits, offset: 0, stride: 1, gradient, scale },
          rangeOf(entry.reference_logits[index]),
          4,
        );
      expect(Array.from(gradient)).toEqual(entry.expect.grad[index]);
    }
    expect(value).toBeCloseTo(entry.expect.value, 12);
    expect(value).not.toBeCloseTo(goldenCase('logit_range.json', 'penalty_sum').expect.value, 0);
  });
});
