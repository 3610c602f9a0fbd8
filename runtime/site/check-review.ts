// Whether the model of a site can say what its rules for review ask for; a rule that can never act would pass for peace.
import { type Capabilities, ConfigError } from '#core';
import type { SiteFile } from './read-site.ts';
import type { ReviewRule } from './site.ts';

/** @throws ConfigError naming the file, a camera and its key */
export function checkReview({ path, site }: SiteFile, model: Capabilities): void {
  for (const { name, review } of site.cameras) {
    const key = review && keyBeyond(review, model);
    if (key === undefined) continue;
    const why = model.limits.length > 0 ? `: ${model.limits.join('; ')}` : '';
    throw new ConfigError(
      `${path}: the review of camera ${name} has ${key}, which this model cannot tell${why}`,
      {
        hint: `remove ${key}, or use doubtful: [0.3, 0.6]; \`edge-detect inspect\` says what a model can tell`,
      },
    );
  }
}

function keyBeyond(review: ReviewRule, model: Capabilities): string | undefined {
  if (review.maxStd !== undefined && !model.scoreVariance) return 'max_std';
  if (review.maxEpistemicStd !== undefined && !model.epistemic) return 'max_epistemic_std';
  return review.bimodal && model.distribution === 'none' ? 'bimodal' : undefined;
}
