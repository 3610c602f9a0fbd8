// The study of Brier weights: its toy is the same for the same seed, its errata are the golden ones, and one command
// runs it whole on the sample world.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { errata } from '../../samples/studies/brier-weights/errata.ts';
import { trainClassHead } from '../../samples/studies/brier-weights/head.ts';
import { divide, judgeLogits, type ObjectSet } from '../../samples/studies/brier-weights/objects.ts';
import { runToy, TOYS } from '../../samples/studies/brier-weights/toy.ts';
import {
  correlation as pearson,
  rankCorrelation as spearman,
} from '../../samples/studies/common/correlation.ts';
import { differencesFrom, readStudyFile } from '../../samples/studies/common/study-file.ts';
import { createSoftmaxLoss } from '../../training/losses/softmax.ts';
import { longNote, longRuns } from '../support/long-runs.ts';
import { runStudy } from '../support/study-runs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'brier-weights-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Case = Record<string, unknown> & { readonly rows: readonly Record<string, number>[] };

function golden(file: string, id: string): Case {
  const path = fileURLToPath(new URL(`../golden/${file}.json`, import.meta.url));
  const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: readonly (Case & { id: string })[] };
  return cases.find((one) => one.id === id)!;
}

describe('errata', () => {
  const found = errata();
  const figures = (id: string) => found.find((one) => one.id === id)!.figures.map(({ value }) => value);

  it('gives every line of the table', () => {
    expect(found.map(({ id }) => id)).toEqual([
      ...Array.from({ length: 12 }, (_, place) => `A${place + 1}`),
      'confirmed',
    ]);
  });

  it('agrees with the golden figures', () => {
    const binary = golden('claims_gra', 'focal_equals_brier_in_binary').rows[1]!;
    expect(figures('A1')[0]).toBeCloseTo(binary['ratio']!, 12);
    expect(figures('A1')[1]).toBeCloseTo(
      binary['one_sided_brier_(1-p)^2']! / binary['focal_weight_gamma2']!,
      12,
    );
    const three = golden('claims_gra', 'dual_focal_equals_brier_in_three_classes').rows;
    const expected = three.slice(0, 2).flatMap((row) => [row['dual_weight_gamma2']!, row['brier']!]);
    figures('A2').forEach((value, place) => {
      expect(value).toBeCloseTo(expected[place]!, 12);
    });
    const jumps = golden('claims_gra', 'dual_focal_weight_jumps_at_ties').rows;
    expect(figures('A3')[0]).toBeCloseTo(jumps[0]!['dual_weight_gamma2']!, 12);
    expect(figures('A3')[1]).toBeCloseTo(jumps[2]!['dual_weight_gamma2']!, 12);
    const forms = golden('claims_gra', 'generalised_brier_literal_vs_norm');
    const [sum, norm] = [forms['sum_form'], forms['norm_form']] as Record<string, number>[];
    const literal = [sum!['gamma=1'], norm!['beta=2,gamma=1'], sum!['gamma=2'], norm!['beta=1,gamma=2']];
    figures('A4').forEach((value, place) => {
      expect(value).toBeCloseTo(literal[place]!, 12);
    });
    const curl = golden('claims_gra', 'gra_field_is_not_a_gradient_for_K3_brier')['curl'] as Record<
      string,
      Record<string, number>
    >;
    // The golden one turns the other way round.
    expect(figures('A5')[0]).toBeCloseTo(-curl['brier']!['curl_01']!, 7);
    expect(figures('A5')[1]).toBeCloseTo(0, 7);
    const eta = golden('claims_gra', 'brier_minus_calibration_depends_on_eta_only');
    expect(figures('A7')[0]).toBeCloseTo(eta['difference'] as number, 12);
    expect(figures('A7')[1]).toBeCloseTo(eta['1-||eta||^2'] as number, 12);
    (eta['per_label_brier'] as number[]).forEach((brier, label) => {
      expect(figures('A8')[label]).toBeCloseTo(brier, 12);
      expect(figures('A7')[2 + label]).toBeCloseTo(brier - (eta['squared_calibration_error'] as number), 12);
    });
  });

  it('agrees with the golden optima, slopes and scale', () => {
    const binary = golden('claims_gra', 'population_stationary_point_binary').rows.find(
      (row) => row['eta'] === 0.9 && row['gamma'] === 2,
    )!;
    expect(figures('A9')[0]).toBeCloseTo(binary['gra_stationary_p']!, 9);
    expect(figures('A9')[1]).toBeCloseTo(binary['focal_stationary_p']!, 9);
    expect(figures('A9')[2]).toBeCloseTo(3, 9);
    const three = golden('claims_gra', 'population_stationary_point_3class_brier_gra').rows[0] as unknown as {
      stationary_p: number[];
    };
    expect(figures('A9')[3]).toBeCloseTo(three.stationary_p[0]!, 9);
    const { expect: sample } = golden('losses_softmax', 'k3_right') as unknown as {
      expect: Record<string, { value: number; grad: number[] }>;
    };
    expect(figures('A6')[0]).toBeCloseTo(sample['ce']!.value, 12);
    expect(figures('A6')[1]).toBeGreaterThan(0);
    expect(figures('A6')[2]).toBeLessThan(0);
    expect(figures('A11')[0]).toBeCloseTo(sample['dual_focal_gra']!.grad[0]!, 12);
    expect(figures('A11')[1]).toBeCloseTo(sample['dual_focal_gra_as_in_reference_HEAD']!.grad[0]!, 12);
    expect(figures('A12')).toEqual([0, 0, 0, 0]);
    const scale = golden('claims_gra', 'focal_gradient_scale_table').rows.find((row) => row['gamma'] === 2)!;
    expect(figures('confirmed')[0]).toBeCloseTo(scale['p0_argmax_of_g']!, 4);
    expect(figures('confirmed')[1]).toBeCloseTo(scale['g_max']!, 9);
  });

  it('gives the four weights that texts and code of the note start from', () => {
    expect(figures('A10').map((value) => Number(value?.toFixed(12)))).toEqual([0.38, 1, 1, 0.1444, 2]);
  });
});

describe('correlation', () => {
  it('is 1 for what rises together, by value or by rank', () => {
    expect(pearson([1, 2, 3], [2, 4, 6])).toBeCloseTo(1, 12);
    expect(spearman([1, 2, 3], [1, 10, 1000])).toBeCloseTo(1, 12);
    expect(pearson([1, 2, 3], [1, 10, 1000])).toBeLessThan(0.95);
    // Ranks 1.5 1.5 3 against 1 2 3.
    expect(spearman([1, 1, 2], [1, 2, 3])).toBeCloseTo(Math.sqrt(0.75), 12);
    expect(pearson([1, 1], [1, 2])).toBeNull();
  });
});

describe('the toy', () => {
  const small = { ...TOYS['4 classes']!, trainingPoints: 100, testPoints: 500, epochs: 5 };

  it('is the same for the same seed, and another for another', () => {
    const first = runToy(3, small);
    expect(runToy(3, small)).toEqual(first);
    expect(runToy(4, small).pearson).not.toEqual(first.pearson);
  });

  it('satisfies the identity of the Brier score at every point, and learns', () => {
    const { identityError, accuracy, bestAccuracy } = runToy(0);
    expect(identityError).toBeLessThan(1e-12);
    expect(accuracy).toBeGreaterThan(bestAccuracy - 0.05);
    expect(accuracy).toBeLessThan(bestAccuracy + 0.01);
  });
});

describe('a head', () => {
  const count = 60;
  const rows = {
    width: 2,
    features: Float32Array.from({ length: 2 * count }, (_, place) => Math.sin(place * 1.7)),
    labels: Int32Array.from({ length: count }, (_, row) => (Math.sin(2 * row * 1.7) > 0 ? 1 : 0)),
  };
  const recipe = { hidden: 8, epochs: 60, batch: 10, seed: 1 };
  const accuracy = (optimizer: 'sgd' | 'adamw', hidden: number, normalise: boolean) => {
    const loss = createSoftmaxLoss('bsceGra', 2);
    const logits = trainClassHead(rows, 2, { ...recipe, optimizer, hidden, loss, normalise }).logits(rows);
    const right = Array.from(rows.labels).filter(
      (label, row) => (logits[2 * row + 1]! > logits[2 * row]! ? 1 : 0) === label,
    );
    return right.length / count;
  };

  it('learns with either optimiser, deep or not, with and without equal steps', () => {
    expect(accuracy('sgd', 8, false)).toBeGreaterThan(0.95);
    expect(accuracy('adamw', 8, false)).toBeGreaterThan(0.8);
    expect(accuracy('sgd', 0, true)).toBeGreaterThan(0.95);
  });

  it('has no figures where it diverged: a law of NaN would be calibrated best of all', () => {
    const of = (logit: number) =>
      judgeLogits({ validation: rows, test: rows }, 2, {
        logits: () =>
          Float64Array.from({ length: 2 * count }, (_, place) => (place === 3 ? logit : place % 3)),
      });
    expect(Object.values(of(Number.NaN)).every((figure) => figure === null)).toBe(true);
    expect(of(0.5).ece).toBeGreaterThan(0);
  });

  it('never has a camera on two sides', () => {
    const groups = Array.from({ length: count }, (_, row) => `camera${row % 5}`);
    const features = rows.features.map((_, place) => Math.floor(place / 2));
    const set: ObjectSet = {
      name: 'set',
      classNames: ['a', 'b'],
      groups,
      rows: { ...rows, features, pictures: new Int32Array(count) },
    };
    const { training, validation, test, text } = divide(set, 1);
    expect(text).toBe('test camera2 camera3, temperature camera4');
    expect([training, validation, test].map(({ labels }) => labels.length)).toEqual([24, 12, 24]);
    // Scaled by the training rows alone: their mean is 0, that of the others is not.
    const mean = ({ features: scaled }: typeof training) =>
      scaled.reduce((sum, value) => sum + value, 0) / scaled.length;
    expect(mean(training)).toBeCloseTo(0, 6);
    expect(Math.abs(mean(test))).toBeGreaterThan(0.01);
    expect(() => divide({ ...set, groups: groups.map(() => 'one') }, 0)).toThrow(/1 groups of pictures/);
  });
});

describe('the study', () => {
  const run = (...words: readonly string[]) =>
    runStudy('brier-weights', words, { testData: join(scratch, 'absent') });
  const TINY = ['seeds=1', 'epochs=1', 'pictures=42'];

  it.skipIf(!longRuns)(
    `runs on the sample world, says that it is weaker, and reproduces itself or goes red${longNote}`,
    {
      timeout: 240_000,
    },
    async () => {
      const [out, page] = [join(scratch, 'results.json'), join(scratch, 'results.html')];
      const first = await run(...TINY, `out=${out}`, `page=${page}`);
      expect(first.text).toContain('this is weaker than real ones');
      expect(first.code).toBe(0);
      const file = await readStudyFile(out);
      expect(file.data[0]).toMatchObject({ kind: 'sample world', weaker: expect.stringContaining('weaker') });
      expect(readFileSync(page, 'utf8')).toContain('this is weaker than real ones');
      const again = await run(...TINY, `check=${out}`);
      expect(again.text).toMatch(/figures, reproduced/);
      expect(again.code).toBe(0);
      const otherSeeds = { ...file, setting: { ...file.setting, seeds: 5 } };
      expect(differencesFrom(otherSeeds, file)).toEqual(['setting seeds: 5, now 1']);
    },
  );

  it('says what it does not understand', { timeout: 30_000 }, async () => {
    const wrong = await run('sedes=1');
    expect(wrong.code).toBe(3);
    expect(wrong.text).toContain('did you mean seeds=');
    const half = await run('data=somewhere');
    expect(half.text).toContain('data= and model= belong together');
  });
});
