// A rule for review that the model can never meet is refused, not left to sleep.
import { describe, expect, it } from 'vitest';
import type { Capabilities } from '#core';
import { checkReview } from '../../../runtime/site/check-review.ts';
import { parsed, refusal, siteText } from './site-text.ts';

const ALL: Capabilities = {
  scoreVariance: true,
  epistemic: true,
  boxVariance: true,
  distribution: 'bins',
  limits: [],
};
const NONE: Capabilities = {
  scoreVariance: false,
  epistemic: false,
  boxVariance: false,
  distribution: 'none',
  limits: ['one number a class'],
};

describe('checkReview', () => {
  it.each([
    ['max_std: 0.2', 'max_std'],
    ['max_epistemic_std: 0.2', 'max_epistemic_std'],
    ['bimodal: true', 'bimodal'],
  ])('refuses %s where the model cannot tell', (rule, key) => {
    const file = parsed(siteText(`review: {${rule}, doubtful: [0.3, 0.5]}\n`));
    const { message, hint } = refusal(() => checkReview(file, NONE));
    expect(message).toBe(
      `site.yaml: the review of camera gate has ${key}, which this model cannot tell: one number a class`,
    );
    expect(hint).toContain(`remove ${key}`);
    expect(() => checkReview(file, ALL)).not.toThrow();
  });

  it('takes scores and no rule at all, and a mixture for a law', () => {
    expect(() => checkReview(parsed(siteText('review: {doubtful: [0.3, 0.5]}\n')), NONE)).not.toThrow();
    expect(() => checkReview(parsed(siteText()), NONE)).not.toThrow();
    const file = parsed(siteText('review: {bimodal: true}\n'));
    expect(file.site.cameras[0]?.review).toEqual({ bimodal: true, perHour: 20 });
    expect(() => checkReview(file, { ...NONE, distribution: 'mixture' })).not.toThrow();
  });
});
