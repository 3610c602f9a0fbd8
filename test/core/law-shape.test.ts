// Shapes that a person would name at a glance, from the golden laws.
import { describe, expect, it } from 'vitest';
import { classifyLaw } from '#core';
import { goldenCase } from '../support/golden.ts';

const law = (id: string) => ({ probabilities: Float32Array.from(goldenCase('mixture.json', id).probs) });

describe('the shape of a law', () => {
  it.each([
    ['sharp_unimodal', 'sharp'],
    ['one_hot', 'sharp'],
    ['two_adjacent', 'sharp'],
    ['flat', 'flat'],
    ['broad_unimodal', 'flat'],
    ['bimodal_symmetric', 'bimodal'],
    ['bimodal_asymmetric', 'bimodal'],
    ['two_ends', 'bimodal'],
  ])('%s is %s', (id, shape) => {
    expect(classifyLaw(law(id))).toBe(shape);
  });

  it('is judged beyond what few bins force', () => {
    // Between two of 4 bins the variance is at least 1/36, more than the 1/48 of a flat law.
    expect(classifyLaw({ probabilities: Float32Array.of(0, 0.5, 0.5, 0) })).toBe('sharp');
  });
});
