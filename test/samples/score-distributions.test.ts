// The study of score distributions: its errata against vectors that another program computed, its measures on cases that can
// be worked out by hand, and a run on the sample world whose figures are no science but must be complete.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '#core';
import { CRITERION_DEFAULTS } from '#training';
import { readStudyFile } from '../../samples/studies/common/study-file.ts';
import { lossFigures } from '../../samples/studies/score-distributions/arm-figures.ts';
import { chooseArms, DEFAULT_ARM, DROPOUT_ARM } from '../../samples/studies/score-distributions/arms.ts';
import { auroc, aurocAtEqualScores } from '../../samples/studies/score-distributions/auroc.ts';
import { readLaw } from '../../samples/studies/score-distributions/decode.ts';
import { errata } from '../../samples/studies/score-distributions/errata.ts';
import {
  BOUNDED_FORM,
  lawFigures,
  PUBLISHED_FORM,
  publishedVariance,
} from '../../samples/studies/score-distributions/laws.ts';
import { NOISE_SIGMA, withNoise } from '../../samples/studies/score-distributions/passes.ts';
import { bestRightMass, twoHotLoss } from '../../samples/studies/score-distributions/two-hot.ts';
import { completeRequest } from '../../training/options.ts';
import { type GoldenCase, goldenCase, goldenRows } from '../support/golden.ts';
import { longNote, longRuns } from '../support/long-runs.ts';
import { runStudy } from '../support/study-runs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'score-distributions-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function valuesOf(id: string): readonly (number | null)[] {
  return errata()
    .filter((one) => one.id === id)
    .flatMap(({ figures }) => figures.map(({ value }) => value));
}

function expectClose(found: readonly (number | null)[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [at, value] of expected.entries()) expect(found[at]).toBeCloseTo(value, 8);
}

const score = (id: string): GoldenCase => goldenCase('dfl_score.json', id);
const threshold = (id: string): GoldenCase => goldenCase('threshold_dynamic.json', id);
const mixture = (id: string): GoldenCase => goldenCase('mixture.json', id);

describe('the errata', () => {
  it('has all sixteen lines', () => {
    expect(errata().map(({ id }) => id)).toEqual(Array.from({ length: 16 }, (_, place) => `B${place + 1}`));
  });

  it('B1: the example lies around .5', () => {
    const { expectation, variance } = score('seed_example_is_not_0.7').expect;
    expectClose(valuesOf('B1'), [expectation, variance]);
  });

  it('B2: passes disagree on the epistemic part', () => {
    const { expect: expected } = goldenCase('mc_dropout.json', 'sigmoid_score_disagree');
    expectClose(valuesOf('B2'), [
      expected.mean_bernoulli_variance,
      expected['variance_between_passes_1/T'],
      expected.bernoulli_variance_of_mean,
    ]);
  });

  it('B3: clamped first, the loss of the best objects vanishes', () => {
    expectClose(valuesOf('B3'), [score('t1_last_bin').expect.value_without_eps_log_softmax, 0]);
  });

  it('B4: a constant bias changes nothing under a softmax', () => {
    const vector = score('constant_bias_does_nothing_under_softmax');
    expect(vector['probs_bias_0.01']).toEqual(vector.probs_bias_0);
    expectClose(valuesOf('B4'), [0, 1e8]);
  });

  it('B5: the epsilon ends the loss', () => {
    const { value, value_without_eps_log_softmax: whole } = score('nearly_zero_prob_eps_matters').expect;
    expectClose(valuesOf('B5'), [value, whole]);
  });

  it('B6: the focal factor moves the optimum', () => {
    const row = score('focal_dfl_moves_the_optimum').rows.find(
      (one: GoldenCase) => one.right_weight_target === 0.1,
    );
    const [plain, focal, shift, ofScore] = valuesOf('B6');
    expectClose([plain!, focal!], [row.p_right_at_optimum_gamma0, row.p_right_at_optimum_gamma2]);
    expect(shift).toBeCloseTo(0.227, 3);
    expect(ofScore).toBeCloseTo(0.025, 3);
  });

  it.each(goldenRows('dfl_score.json', 'focal_dfl_moves_the_optimum'))('B6, row %s', (_, row) => {
    const weight = row.right_weight_target;
    if (weight === 0 || weight === 1) return;
    expect(bestRightMass(weight, 1)).toBeCloseTo(row.p_right_at_optimum_gamma1, 8);
  });

  it('B7: the published variance leaves what laws can have', () => {
    const row = mixture('mean_variance_head').rows[1];
    expect(row.seed_var_is_impossible).toBe(true);
    expectClose(valuesOf('B7'), [
      row.bhatia_davis,
      row['seed_var_sigmoid_times_0.5'],
      row['bounded_var_sigmoid_times_m(1-m)'],
    ]);
  });

  it('B8: one Gaussian shows no second answer', () => {
    const { mean, variance, split_fit: split } = mixture('two_ends').expect;
    const [law, gaussian, tail, ofGaussian] = valuesOf('B8');
    expectClose([law!, gaussian!, tail!], [split.between / variance, 0, mean]);
    expect(ofGaussian).toBeCloseTo(0.312, 3);
  });

  it('B9: the reach of the rule', () => {
    const { max_reduction: most, seed_story: story } = threshold('scale_of_the_rule');
    const [, , , needed, flat] = valuesOf('B9');
    expectClose(valuesOf('B9').slice(0, 3), [most['var<=0.25'], most['std_0.1'], most.uniform_10_bins]);
    expectClose([needed!, flat!], [story.std_needed, Math.sqrt(most.uniform_10_bins / 0.3)]);
  });

  it('B10: smoothed labels make two atoms, and the rule a fixed threshold', () => {
    const { rows } = threshold('dfl_on_smoothed_hard_labels_learns_two_atoms');
    const [, middle, high] = rows;
    const fixed = threshold('with_two_point_labels_the_rule_is_a_fixed_threshold').rows.find(
      ({ base, k }: GoldenCase) => base === 0.5 && k === 0.3,
    );
    expectClose(valuesOf('B10'), [
      middle.mean,
      middle.variance,
      high.mean,
      high.variance,
      fixed.equivalent_fixed_threshold,
    ]);
  });

  it('B11: both rules undo each other', () => {
    expectClose(valuesOf('B11'), [0.5 * Math.exp(-0.5), 0.425]);
  });

  it('B12: no cut raises AP', () => {
    const golden = goldenRows('coco_eval.json', 'ap_versus_score_threshold').map(([, row]) => row.AP);
    for (const values of [golden, valuesOf('B12')])
      expect([...values].sort((a, b) => b! - a!)).toEqual([...values]);
    expectClose(valuesOf('B12'), [(51 + 50 * (2 / 3)) / 101, 51 / 101, 51 / 101]);
  });

  it('B13: the loss is not ten times smaller', () => {
    expectClose(valuesOf('B13'), [Math.log(10), Math.LN2, Math.LN2]);
  });

  it('B14, B15: channels, and a logarithm of 0', () => {
    expectClose(valuesOf('B14'), [800, 90]);
    expect(valuesOf('B15')).toEqual([null, 100]);
  });

  it('B16: two bins are a sigmoid', () => {
    const row = score('two_bins_equal_bce').rows[1];
    expectClose(valuesOf('B16'), [
      row.dfl_gamma0_no_eps,
      row.bce_of_logit_difference,
      row.variance,
      row['p(1-p)'],
    ]);
  });

  it.each(['t0', 't0.05_smoothed_negative', 't0.3', 't0.5_gamma2', 't0.95_smoothed_positive'])(
    'asks the loss of the product: %s',
    (id) => {
      const { logits, target, gamma, expect: expected } = score(id);
      expect(twoHotLoss(logits, target, gamma)).toBeCloseTo(expected.value_without_eps_log_softmax, 10);
    },
  );
});

describe('how a law is read', () => {
  it('takes its peak, its middle, or orders equal peaks by the expectation', () => {
    const law = Float32Array.of(0.4, 0, 0.3, 0.3);
    expect(readLaw(law, 0.5, 'expectation')).toBe(0.5);
    expect(readLaw(law, 0.5, 'argmax')).toBe(0);
    expect(readLaw(law, 0.5, 'median')).toBeCloseTo(2 / 3);
    const tie = 'argmax, ties by expectation';
    expect(readLaw(law, 0.5, tie)).toBeGreaterThan(readLaw(law, 0.4, tie));
    expect(readLaw(Float32Array.of(0, 1, 0, 0), 0.4, tie)).toBeGreaterThan(readLaw(law, 1, tie));
  });
});

describe('compact laws', () => {
  it('keep E and Var, and two Gaussians keep two answers', () => {
    const laws = [
      mixture('bimodal_asymmetric').probs,
      mixture('bimodal_symmetric').probs,
      mixture('broad_unimodal').probs,
    ].map((law: number[]) => Float32Array.from(law));
    const figures = lawFigures(laws);
    const [one, two] = ['one Gaussian', 'two Gaussians'].map((form) => figures.get(form)!);
    for (const form of [one!, two!]) {
      expect(form['error of E']).toBeLessThan(1e-6);
      expect(form['error of Var']).toBeLessThan(1e-6);
      expect(form['bimodal']).toBeCloseTo(2 / 3);
    }
    expect(one!['bimodal found']).toBe(0);
    expect(two!['bimodal found']).toBe(1);
    expect(two!['flag agrees']).toBe(1);
    expect(two!['tail middle']).toBeLessThan(one!['tail middle']!);
  });

  it('bound the variance, which the published head does not', () => {
    const figures = lawFigures([Float32Array.from(mixture('bimodal_asymmetric').probs as number[])]);
    const bound = mixture('bimodal_asymmetric').expect.bhatia_davis_bound;
    expect(figures.get(PUBLISHED_FORM)!['impossible']).toBeCloseTo(1 - bound / 0.5, 2);
    expect(figures.get(BOUNDED_FORM)!['impossible']).toBe(0);
    expect(publishedVariance(0)).toBe(0.25);
  });
});

describe('telling two kinds of boxes apart', () => {
  const boxes = (count: number, value: number, at: number) =>
    Array.from({ length: count }, (_, place) => ({ value: value + place / 1e6, score: at }));

  it('counts pairs: all, none, half', () => {
    const [low, high] = [boxes(25, 0.1, 0.5), boxes(30, 0.2, 0.5)];
    expect(auroc(low, high)).toBe(1);
    expect(auroc(high, low)).toBe(0);
    expect(auroc(low, low)).toBe(0.5);
    expect(auroc(low.slice(0, 19), high)).toBeNull();
  });

  it('compares at equal scores alone where asked', () => {
    const seen = [...boxes(20, 0.1, 0.2), ...boxes(20, 0.3, 0.8)];
    const unseen = [...boxes(20, 0.2, 0.2), ...boxes(5, 0.4, 0.8)];
    expect(auroc(seen, unseen)).toBeLessThan(1);
    expect(aurocAtEqualScores(seen, unseen)).toBe(1);
    expect(aurocAtEqualScores(boxes(20, 0.1, 0.2), boxes(20, 0.1, 0.8))).toBeNull();
  });

  it('adds noise of the stated size, equal for equal seeds', () => {
    const grey = new Uint8Array(30_000).fill(128);
    const noisy = withNoise(grey, createRandom(3));
    expect(withNoise(grey, createRandom(3))).toEqual(noisy);
    const mean = noisy.reduce((sum, value) => sum + value, 0) / noisy.length;
    const variance = noisy.reduce((sum, value) => sum + (value - mean) ** 2, 0) / noisy.length;
    expect(mean).toBeCloseTo(128, -0.5);
    expect(Math.abs(Math.sqrt(variance) - NOISE_SIGMA)).toBeLessThan(0.5);
  });
});

describe('losses of epochs', () => {
  it('tell the gap, the rise and the unrest', () => {
    const even = lossFigures({ training: [4, 3, 2, 1], validation: [4, 2, 3] });
    expect(even).toEqual({ gap: 2, rise: 0.5, unrest: 0 });
    expect(lossFigures({ training: [4, 1, 4], validation: [1] })['unrest']).toBe(2);
    expect(lossFigures({ training: [], validation: [] })).toEqual({ gap: null, rise: null, unrest: null });
  });
});

describe('the arms', () => {
  it('begin with the defaults of a training, which the verdicts speak of', () => {
    const options = completeRequest({ data: 'data.yaml', model: 'host.onnx' });
    expect(options.bins).toBe(DEFAULT_ARM.bins);
    expect([options.dropout, options.monteCarloPasses]).toEqual([0, 0]);
    const { quality, targets, weights } = CRITERION_DEFAULTS;
    expect(quality).toEqual({ kind: 'dfl', gamma: 0, negativeGamma: 0 });
    expect(targets.kind).toBe('task-aligned');
    expect([weights.quality, weights.classification]).toEqual([1, 0.5]);
    expect(DEFAULT_ARM.request).toEqual({ bins: options.bins });
  });

  it('are chosen by name, and a wrong one is named', () => {
    expect(chooseArms('')).toHaveLength(14);
    expect(chooseArms('default, dropout')).toEqual([DEFAULT_ARM, DROPOUT_ARM]);
    expect(() => chooseArms('bins 7')).toThrow(/bins 7: this study has default, bins 5/);
  });
});

describe('the study', () => {
  it.skipIf(!longRuns)(
    `runs on the sample world by one command${longNote}`,
    { timeout: 180_000 },
    async () => {
      const [out, page] = [join(scratch, 'results.json'), join(scratch, 'page.html')];
      const words = [
        'seeds=1',
        'epochs=1',
        'variants=0',
        'pictures=14',
        'rounds=5',
        'arms=default,bins 5,dropout',
      ];
      const { code, stderr } = await runStudy(
        'score-distributions',
        [...words, `out=${out}`, `page=${page}`],
        { testData: join(scratch, 'nothing') },
      );
      expect(stderr).toContain('no real data beside the project');
      expect(code, stderr).toBe(0);
      const { data, rows, verdicts } = await readStudyFile(out);
      expect(data[0]).toMatchObject({ kind: 'sample world' });
      expect(new Set(rows.map(({ table }) => table))).toEqual(
        new Set([
          'bins',
          'bins, minus 10 bins',
          'decode',
          'decode, minus expectation',
          'labels',
          'rules, quality targets',
          'suppression',
          'laws',
          'passes',
          'cost',
          'errata',
        ]),
      );
      const ap50 = rows.find(
        ({ table, row, figure }) => table === 'bins' && row === '5 bins' && figure === 'ap50',
      );
      expect(ap50?.values).toHaveLength(1);
      const bytes = rows.filter(({ figure }) => figure === 'bytes of the file').map(({ mean }) => mean!);
      expect([...bytes].sort((a, b) => a - b)).toEqual(bytes);
      expect(verdicts).toHaveLength(14);
      expect(readFileSync(page, 'utf8')).toContain('this is weaker than real ones');
    },
  );
});
