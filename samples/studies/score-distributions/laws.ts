// What is lost where a law over bins is said in fewer numbers: one Gaussian, two, or the published mean and variance.
import {
  bimodality,
  meanVarianceHead,
  mixtureBimodality,
  mixtureMean,
  mixtureTailMass,
  mixtureVariance,
  type ScoreMixture,
  scoreMean,
  scoreTailMass,
  scoreVariance,
  splitFit,
} from 'edge-detect/core';
import type { Predictions } from 'edge-detect/evaluate';
import type { Figures } from '../common/seeded-tables.ts';

/** Laws below say background, and all forms say it alike. */
const LEAST_SCORE = 0.1;

/** Between two anchors of ten, where bins and Gaussians mean the same by "above". */
const TAIL_PLACES = [2.5, 4.5, 6.5] as const;

export const FORMS = ['one Gaussian', 'two Gaussians'] as const;
export const PUBLISHED_FORM = 'published variance, sigmoid · .5';
export const BOUNDED_FORM = 'our variance, sigmoid · m (1 − m)';

type Form = (typeof FORMS)[number];
type Law = Float32Array;

/** Laws of the boxes that suppression leaves, of score .1 or more. */
export function lawsOf({ pictures }: Predictions): readonly Law[] {
  return pictures.flatMap(({ detections }) =>
    detections.flatMap(({ distribution, score }) =>
      distribution !== undefined && score >= LEAST_SCORE ? [distribution.probabilities] : [],
    ),
  );
}

function mixtureOf(probabilities: Law, form: Form): ScoreMixture {
  if (form === 'two Gaussians') return splitFit({ probabilities }).mixture;
  const [mean, variance] = [scoreMean({ probabilities }), scoreVariance({ probabilities })];
  return { weight: 1, means: [mean, mean], variances: [variance, variance] };
}

export function lawFigures(laws: readonly Law[]): ReadonlyMap<string, Figures> {
  const flags = laws.map((probabilities) => bimodality({ probabilities }).bimodal);
  const bimodal = flags.filter(Boolean).length;
  const rows = new Map<string, Figures>();
  for (const form of FORMS) {
    const mixtures = laws.map((law) => mixtureOf(law, form));
    const own = mixtures.map((mixture, place) => mixtureBimodality(mixture, laws[place]!.length).bimodal);
    const tails = TAIL_PLACES.map((place) =>
      mean(
        laws.map((probabilities, at) => {
          const base = place / (probabilities.length - 1);
          return Math.abs(mixtureTailMass(mixtures[at]!, base) - scoreTailMass({ probabilities }, base));
        }),
      ),
    );
    rows.set(form, {
      'error of E': mean(
        laws.map((law, at) => Math.abs(mixtureMean(mixtures[at]!) - scoreMean({ probabilities: law }))),
      ),
      'error of Var': mean(
        laws.map((law, at) =>
          Math.abs(mixtureVariance(mixtures[at]!) - scoreVariance({ probabilities: law })),
        ),
      ),
      'tail low': tails[0] ?? null,
      'tail middle': tails[1] ?? null,
      'tail high': tails[2] ?? null,
      'mass outside': mean(mixtures.map(massOutside)),
      bimodal: laws.length === 0 ? null : bimodal / laws.length,
      'bimodal found': bimodal === 0 ? null : own.filter((one, at) => one && flags[at]).length / bimodal,
      'flag agrees':
        laws.length === 0 ? null : own.filter((one, at) => one === flags[at]).length / laws.length,
      impossible: 0,
    });
  }
  const means = laws.map((probabilities) => scoreMean({ probabilities }));
  rows.set(PUBLISHED_FORM, rangeFigures(means, publishedVariance));
  rows.set(BOUNDED_FORM, rangeFigures(means, boundedVariance));
  return rows;
}

/** Mass that Gaussians put where no score can be. */
function massOutside(mixture: ScoreMixture): number {
  return mixtureTailMass(mixture, 1) + (1 - mixtureTailMass(mixture, Number.MIN_VALUE));
}

/** As published: σ(v) · 0.5, whatever the mean is. */
export function publishedVariance(raw: number): number {
  return 0.5 / (1 + Math.exp(-raw));
}

function boundedVariance(raw: number, expectation: number): number {
  return meanVarianceHead(Math.log(expectation / (1 - expectation)), raw).variance;
}

/** Raw values of the variance channel from which its share of impossible laws is counted: evenly spread in σ. */
const RANGE_STEPS = 200;

/** Which part of its range no law over [0, 1] can have at the expectations of real boxes: Var ≤ E (1 − E). */
function rangeFigures(
  expectations: readonly number[],
  varianceOf: (raw: number, expectation: number) => number,
): Figures {
  const shares = expectations.map((expectation) => {
    let impossible = 0;
    for (let step = 0; step < RANGE_STEPS; step++) {
      const share = (step + 0.5) / RANGE_STEPS;
      const variance = varianceOf(Math.log(share / (1 - share)), expectation);
      if (variance > expectation * (1 - expectation) * (1 + 1e-9)) impossible++;
    }
    return impossible / RANGE_STEPS;
  });
  return { impossible: mean(shares) };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
