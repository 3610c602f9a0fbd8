// The study of logit ranges: its errata against vectors that another program computed, its splits, its maps of rows, and
// a run on the sample world whose figures are no science but must be complete.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  correlation,
  partialRankCorrelation,
  rankCorrelation,
} from '../../samples/studies/common/correlation.ts';
import { readStudyFile, type StudyFile } from '../../samples/studies/common/study-file.ts';
import { errata } from '../../samples/studies/logit-range/errata.ts';
import { CASES, type Measured } from '../../samples/studies/logit-range/measure.ts';
import { type PlacedPicture, picturesOfSeed } from '../../samples/studies/logit-range/pictures.ts';
import {
  heldBelow,
  logitsOfScores,
  normalised,
  rescaled,
} from '../../samples/studies/logit-range/row-maps.ts';
import { verdictsOf } from '../../samples/studies/logit-range/verdicts.ts';
import { completeRequest } from '../../training/options.ts';
import { goldenCase, goldenRows } from '../support/golden.ts';
import { longNote, longRuns } from '../support/long-runs.ts';
import { runStudy } from '../support/study-runs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'logit-range-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Values of a line of the errata, in order. */
function valuesOf(line: string): readonly (number | null)[] {
  return errata()
    .filter((one) => one.line === line)
    .map(({ value }) => value);
}

function vector(id: string) {
  return goldenCase('logit_range.json', id);
}

function expectClose(found: readonly (number | null)[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [at, value] of expected.entries()) expect(found[at]).toBeCloseTo(value, 6);
}

describe('the errata', () => {
  it('C1: the penalty is a mean, and the sum is 8 times as much', () => {
    expectClose(valuesOf('C1'), [vector('penalty_sum').expect.value, vector('penalty_mean').expect.value]);
  });

  it('C2: a constant shortens negative logits', () => {
    const row = vector('proposition1_condition').rows[1];
    expect(row.grew).toBe(false);
    expectClose(valuesOf('C2'), [row.norm_before, row.norm_after, 0]);
  });

  it('C3: the formula sharpens a row that is narrower than its reference', () => {
    const { expect: expected } = vector('zsnorm_adapted_narrower_than_reference_gets_sharpened');
    const [before, after] = [expected.softmax_before, expected.softmax_after].map((row: number[]) =>
      Math.max(...row),
    );
    expectClose(valuesOf('C3'), [expected.implied_temperature, before!, after!, before!]);
    expect(after).toBeGreaterThan(before!);
  });

  it('C4: two classes always say the reference, equal logits are 0 / 0, and the scale has no gradient', () => {
    const [centre] = vector('zsnorm_degenerate_range').expect.safe;
    const found = valuesOf('C4');
    expect(found[1]).toBeNull();
    expectClose([found[0]!, found[2]!, found[3]!, found[4]!], [0, centre, 0, 0]);
    expect(vector('zsnorm_two_classes_has_zero_gradient').expect.grad).toEqual([0, 0]);
  });

  it('C5: a temperature for a softmax, and two different scores for a sigmoid', () => {
    const { expect: anchored } = vector('sigmoid_head_min_anchored_rescale_moves_scores');
    const absent = vector('sigmoid_head_range_is_ruled_by_irrelevant_classes').rows;
    const [first] = vector('positive_side_shrink_about_zero').rows;
    expectClose(valuesOf('C5'), [
      0,
      anchored.sigmoid_before[0],
      anchored.sigmoid_after_min_anchored[0],
      anchored.sigmoid_after_pure_temperature[0],
      ...absent.map(
        (row: { top_score_after_pure_temperature: number }) => row.top_score_after_pure_temperature,
      ),
      first.scaled[0],
    ]);
  });

  it('C6: the same answers over 10 and over 15 bins', () => {
    const [ten, fifteen] = [10, 15].map(
      (bins) => goldenCase('calib_basic.json', `ece_right_closed_${bins}`).expect.ece as number,
    );
    expectClose(valuesOf('C6'), [ten!, fifteen!]);
  });
});

describe('maps of rows', () => {
  it.each(goldenRows('logit_range.json', 'positive_side_shrink_about_zero'))('a ceiling: %s', (_, row) => {
    const held = heldBelow(Float32Array.from(row.logits), row.logits.length, row.ceiling);
    for (const [at, logit] of row.scaled.entries()) expect(held[at]).toBeCloseTo(logit, 5);
  });

  it('takes a ceiling below 0 as 0: nothing falls under .5', () => {
    expect([...heldBelow(Float32Array.of(2, -1), 2, -3)]).toEqual([0, -1]);
  });

  it('holds every row to the range of its own reference', () => {
    const options = { classCount: 3, shrinkOnly: false };
    const set = rescaled(Float32Array.of(3, 1, 0, 2, 1, 0), Float32Array.of(1, 0, 0, 8, 4, 4), options);
    expect([...set.subarray(0, 3)].map((logit) => logit.toFixed(4))).toEqual(['1.0000', '0.3333', '0.0000']);
    expect([...set.subarray(3)]).toEqual([8, 6, 4]);
  });

  it('gives rows one length', () => {
    const [a, b] = normalised(Float32Array.of(3, 4), 2, 0.5);
    expect(Math.hypot(a!, b!)).toBeCloseTo(2, 5);
    expect([...normalised(Float32Array.of(0, 0), 2, 0.5)]).toEqual([0, 0]);
  });

  it('reads the logit of a score off quality and class', () => {
    const rows = { logits: Float32Array.of(0, 0), quality: Float32Array.of(0.5, 0), classCount: 2 };
    for (const logit of logitsOfScores(rows)) expect(logit).toBeCloseTo(Math.log(0.25 / 0.75), 5);
  });
});

describe('correlations', () => {
  const x = [1, 2, 3, 4, 5, 6];

  it('know lines, monotone curves and nothing', () => {
    expect(
      correlation(
        x,
        x.map((value) => 3 - 2 * value),
      ),
    ).toBeCloseTo(-1, 12);
    expect(rankCorrelation(x, x.map(Math.exp))).toBeCloseTo(1, 12);
    expect(
      correlation(
        x,
        x.map(() => 1),
      ),
    ).toBeNull();
    expect(correlation([1, 2], [1, 2])).toBeNull();
  });

  it('share ranks among equal values', () => {
    // Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
    expect(rankCorrelation([0, 0, 1], [1, 2, 3])).toBeCloseTo(1.5 / Math.sqrt(1.5 * 2), 12);
  });

  it('take out what a third figure explains', () => {
    const [y, z] = [
      [1, 2, 3, 4, 6, 5],
      [2, 1, 4, 3, 6, 5],
    ];
    const [xy, xz, yz] = [rankCorrelation(x, y), rankCorrelation(x, z), rankCorrelation(y, z)] as number[];
    const expected = (xy! - xz! * yz!) / Math.sqrt((1 - xz! ** 2) * (1 - yz! ** 2));
    expect(partialRankCorrelation(x, y, z)).toBeCloseTo(expected, 12);
    expect(partialRankCorrelation(x, y, x)).toBeNull();
  });
});

describe('the pictures of a seed', () => {
  const object = { classId: 0, x1: 0, y1: 0, x2: 1, y2: 1, crowd: false, difficult: false };
  const placed = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].flatMap((camera) =>
    (['day', 'dusk', 'night'] as const).flatMap((light) =>
      [0, 1, 2, 3, 4].map((time): PlacedPicture => {
        const path = `/${camera}-${light}-${time}.jpg`;
        return { picture: { path, id: path, objects: [object] }, camera, light };
      }),
    ),
  );
  const camerasOf = (pictures: readonly { readonly path: string }[]) =>
    [...new Set(pictures.map(({ path }) => path.charAt(1)))].sort().join('');

  it.each([0, 1, 2, 3, 4, 5, 6])('seed %i judges by cameras that nothing was fitted to', (seed) => {
    const { heldOut, reference, adaptations } = picturesOfSeed(placed, seed);
    const [night, camera] = adaptations;
    const judging = [...heldOut].sort().join('');
    expect(camerasOf([...night!.judged.adapted, ...night!.judged.unseen, ...camera!.judged.unseen])).toBe(
      judging,
    );
    const fitted = [reference, night!.adapt, night!.calibrate, camera!.adapt, camera!.calibrate].flat();
    for (const name of judging) expect(camerasOf(fitted)).not.toContain(name);
    expect(camerasOf(reference)).toBe(camerasOf(night!.adapt));
    for (const name of camerasOf(reference))
      expect(camerasOf([...night!.calibrate, ...camera!.adapt])).not.toContain(name);
  });

  it('adapts to night alone, judges the unseen by dusk, and cuts one camera by time', () => {
    const [night, camera] = picturesOfSeed(placed, 0).adaptations;
    expect(night!.adapt.every(({ path }) => path.includes('night'))).toBe(true);
    expect(night!.judged.unseen.every(({ path }) => path.includes('dusk'))).toBe(true);
    const times = [camera!.adapt, camera!.calibrate, camera!.judged.adapted].map((pictures) =>
      pictures.map(({ path }) => path.slice(-5, -4)).join(''),
    );
    expect(times).toEqual(['012012012', '333', '444']);
  });

  it('refuses too few cameras and parts without objects', () => {
    expect(() =>
      picturesOfSeed(
        placed.filter(({ camera }) => camera < 'e'),
        0,
      ),
    ).toThrow('4 cameras');
    expect(() =>
      picturesOfSeed(
        placed.filter(({ light }) => light !== 'dusk'),
        0,
      ),
    ).toThrow('judging what it never saw');
  });
});

describe('the committed results', () => {
  const committed = fileURLToPath(new URL('../../samples/studies/logit-range/results.json', import.meta.url));

  it('say what the rules of today make of their figures', async () => {
    const file = await readStudyFile(committed);
    const seeds = Number(file.setting['seeds']);
    expect(seeds).toBeGreaterThanOrEqual(5);
    const verdicts = verdictsOf({ seeds, cases: CASES, measured: measuredOf(file) }, file.rows);
    expect(file.verdicts.map(({ claim, verdict }) => [claim, verdict])).toEqual(
      verdicts.map(({ claim, verdict }) => [claim, verdict]),
    );
    expect(file.verdicts.map(({ options }) => options)).toEqual(verdicts.map(({ options }) => options));
  });

  it('do not ask for a logit range, and nothing holds one by default', async () => {
    const { verdicts } = await readStudyFile(committed);
    const about = (key: string) =>
      verdicts.filter(({ options = [] }) => options.some((one) => one.key === key));
    expect(about('logit_range')).toHaveLength(3);
    expect(about('sals')).toHaveLength(3);
    for (const { verdict } of [...about('logit_range'), ...about('sals')]) expect(verdict).not.toBe('holds');
    expect(completeRequest({ data: 'data.yaml', model: 'host.onnx' }).logitRange).toBe('off');
  });
});

/** Figures of single runs, from the tables of the unseen pictures. */
function measuredOf({ rows, setting }: StudyFile): readonly Measured[] {
  const runs = new Map<string, Measured & { readonly figures: Record<string, number | null> }>();
  for (const { table, row, figure, values } of rows) {
    const one = CASES.find(({ name }) => table === `${name}, unseen`);
    if (one === undefined) continue;
    for (let seed = 0; seed < Number(setting['seeds']); seed++) {
      const key = `${one.name} ${row} ${seed}`;
      const run = runs.get(key) ?? { case: one.name, set: 'unseen', way: row, seed, figures: {} };
      run.figures[figure] = values[seed] ?? null;
      runs.set(key, run);
    }
  }
  return [...runs.values()];
}

describe('the command', () => {
  it.skipIf(!longRuns)(
    `runs on the sample world and says that it is weaker${longNote}`,
    {
      timeout: 300_000,
    },
    async () => {
      const out = join(scratch, 'results.json');
      const { code, stderr, stdout } = await run(`out=${out}`);
      expect(stderr).toMatch(/sample world.*weaker than real ones/s);
      expect(code).toBe(0);
      const file = await readStudyFile(out);
      expect(file.setting).toMatchObject({ seeds: 1, epochs: 1, adaptEpochs: 1 });
      const figure = (row: string, name: string) =>
        file.rows.find((one) => one.table === 'night, CE, unseen' && one.row === row && one.figure === name)
          ?.mean;
      for (const way of ['reference', 'none', 'zs-norm', 'penalty', 'sals', 'LogitNorm', 'temperature']) {
        expect(figure(way, 'range')).toBeGreaterThan(0);
        expect(figure(way, 'ece')).toBeGreaterThanOrEqual(0);
        expect(figure(way, 'ap50')).toBeGreaterThanOrEqual(0);
      }
      // The formula sets ranges to those of the reference, and shrinking never exceeds either.
      expect(figure('sals as published', 'range')).toBeCloseTo(figure('reference', 'range')!, 3);
      expect(figure('sals', 'range')!).toBeLessThanOrEqual(figure('none', 'range')! + 1e-6);
      expect(figure('sals', 'accuracy')).toBe(figure('none', 'accuracy'));
      expect(figure('Platt', 'ap50')).toBeCloseTo(figure('none', 'ap50')!, 12);
      expect(figure('Platt', 'range')).toBeUndefined();
      expect(file.verdicts).toHaveLength(11);
      expect(stdout).toContain('C1: penalty of two samples');
    },
  );
});

function run(...words: readonly string[]) {
  const small = ['seeds=1', 'epochs=1', 'adapt=1', 'variants=0', 'pictures=84', 'cases=night-ce'];
  return runStudy('logit-range', [...small, ...words], { testData: join(scratch, 'none') });
}
