// Means of loss terms over the batches of an epoch, weighted by their pictures.
import type { LossTerms } from './criterion.ts';

export interface TermMeans {
  add(terms: LossTerms, pictures: number): void;
  /** NaN throughout where nothing was added. */
  value(): LossTerms;
}

export function createTermMeans(): TermMeans {
  const sums = new Map<keyof LossTerms, number>();
  let weight = 0;
  const mean = (key: keyof LossTerms) => (sums.get(key) ?? 0) / weight;
  return {
    add(terms, pictures) {
      for (const key of Object.keys(terms) as (keyof LossTerms)[]) {
        sums.set(key, (sums.get(key) ?? 0) + pictures * terms[key]);
      }
      weight += pictures;
    },
    value: () => ({
      total: mean('total'),
      box: mean('box'),
      classification: mean('classification'),
      boxDfl: mean('boxDfl'),
      quality: mean('quality'),
      logitRange: mean('logitRange'),
      positives: mean('positives'),
      targetSum: mean('targetSum'),
      meanWeight: mean('meanWeight'),
    }),
  };
}
