// Drift between two conditions: golden numbers, symmetry, and no verdict on too little.
import { describe, expect, it } from 'vitest';
import {
  bootstrapFigures,
  conditionEffect,
  createRandom,
  distributionShift,
  type Figure,
  flicker,
  negated,
  pairedDrift,
  type ScorePairs,
  type ValueGroup,
} from '#core';
import { weightedQuantile } from '../../src/core/bootstrap.ts';
import { ksCritical, ksDistance, psi, wasserstein1 } from '../../src/core/drift-distance.ts';
import { pairStatistics } from '../../src/core/drift-pairs.ts';
import { flickerStatistics } from '../../src/core/drift-tracks.ts';
import { goldenCase } from '../support/golden.ts';

const resampling = { resamples: 200, seed: 3 };

function pairsOf(first: readonly number[], second: readonly number[], perGroup = 1): ScorePairs {
  return {
    first: Float64Array.from(first),
    second: Float64Array.from(second),
    groups: Int32Array.from(first, (_, row) => Math.floor(row / perGroup)),
  };
}

function estimate(figure: Figure) {
  if (figure.kind === 'none') throw new Error(`no verdict: ${figure.reason}`);
  return figure;
}

describe('distances of two samples', () => {
  it.each(['psi_10_equal_width', 'psi_5_reference_quantiles', 'psi_identical_samples'])('%s', (id) => {
    const { ref, cur, edges, expect: wanted } = goldenCase('drift.json', id);
    const { value, nullExpectation, counts } = psi(ref, cur, edges);
    expect(counts).toEqual([wanted.counts_ref, wanted.counts_cur]);
    expect(value).toBeCloseTo(wanted.psi, 12);
    expect(nullExpectation).toBeCloseTo(wanted.null_expectation, 12);
  });

  it.each(['ks_and_wasserstein', 'ks_w1_with_ties'])('%s', (id) => {
    const { ref, cur, expect: wanted } = goldenCase('drift.json', id);
    expect(ksDistance(ref, cur)).toBeCloseTo(wanted.ks, 12);
    expect(wasserstein1(ref, cur)).toBeCloseTo(wanted.w1, 12);
    if (wanted.ks_critical_5pct_asymptotic === undefined) return;
    expect(ksCritical(ref.length, cur.length)).toBeCloseTo(wanted.ks_critical_5pct_asymptotic, 3);
  });
});

/** Pictures of cameras with scores around a mean, correlated within a picture. */
function samples(seed: number, shift: number, pictures = 30): [ValueGroup[], ValueGroup[]] {
  const random = createRandom(seed);
  const sample = (mean: number) =>
    Array.from({ length: pictures }, (_, index) => {
      const own = mean + 0.08 * random.normal();
      const values = Array.from({ length: 8 }, () => Math.min(1, Math.max(0, own + 0.05 * random.normal())));
      return { values, stratum: `camera ${index % 3}` };
    });
  return [sample(0.6), sample(0.6 + shift)];
}

describe('a shift of a distribution', () => {
  it('finds a real shift and gives the null law beside it', () => {
    const [first, second] = samples(1, -0.1);
    const shift = distributionShift(first, second, resampling);
    if (shift.kind === 'none') throw new Error(shift.reason);
    const change = estimate(shift.meanChange);
    expect(change.value).toBeCloseTo(-0.1, 1);
    expect(change.high).toBeLessThan(0);
    for (const { value, nullQuantile95, pValue, low, high } of [shift.ks, shift.w1, shift.psi]) {
      expect(value).toBeGreaterThan(nullQuantile95);
      expect(pValue).toBeLessThan(0.01);
      expect(low).toBeLessThan(value);
      expect(high).toBeGreaterThan(value);
    }
    expect(shift.w1.value).toBeGreaterThanOrEqual(Math.abs(change.value) - 1e-12);
  });

  it('exchanges whole pictures: without a change, few of many draws look like one', () => {
    const small = Array.from({ length: 40 }, (_, seed) => {
      const [first, second] = samples(100 + seed, 0, 12);
      const shift = distributionShift(first, second, { resamples: 99, seed });
      return shift.kind === 'shift' ? shift.ks.pValue : Number.NaN;
    }).filter((p) => p <= 0.05);
    // 5 % expected; as independent values, the correlation within pictures would reject in most.
    expect(small.length).toBeLessThanOrEqual(6);
  });

  it('turns only signs when the samples are exchanged, in any order of pictures', () => {
    const [first, second] = samples(2, 0.03);
    const there = distributionShift(first, second, resampling);
    const back = distributionShift(second.toReversed(), first.toReversed(), resampling);
    if (there.kind === 'none' || back.kind === 'none') throw new Error('no verdict');
    expect(estimate(back.meanChange).value).toBeCloseTo(-estimate(there.meanChange).value, 12);
    expect(estimate(back.meanChange).low).toBeCloseTo(-estimate(there.meanChange).high, 12);
    for (const name of ['psi', 'ks', 'w1'] as const) {
      for (const key of ['value', 'low', 'high', 'nullExpectation', 'nullQuantile95', 'pValue'] as const) {
        expect(back[name][key]).toBeCloseTo(there[name][key], 12);
      }
    }
  });

  it('gives no verdict on few scores, few pictures, or no shared camera', () => {
    const [first, second] = samples(3, 0);
    expect(distributionShift(first.slice(0, 2), second)).toMatchObject({
      kind: 'none',
      reason: /^16 scores/,
    });
    expect(distributionShift(first.slice(0, 4), second)).toMatchObject({ kind: 'none', reason: /^4 groups/ });
    const elsewhere = second.map(({ values }) => ({ values, stratum: 'another' }));
    expect(distributionShift(first, elsewhere)).toMatchObject({ kind: 'none', reason: /share no camera/ });
  });
});

describe('pairs of scores', () => {
  it.each(['paired_objects_t0.5', 'paired_objects_t0.7'])('%s', (id) => {
    const { day, dusk, threshold, expect: wanted } = goldenCase('drift.json', id);
    const found = pairStatistics(pairsOf(day, dusk), threshold);
    expect(found.count).toBe(wanted.n);
    expect(found.meanDrop).toBeCloseTo(wanted.mean_drop, 12);
    expect(found.medianDrop).toBeCloseTo(wanted.median_drop, 12);
    expect(found.p90Drop).toBeCloseTo(wanted.p90_drop, 12);
    expect(found.meanAbsoluteChange).toBeCloseTo(wanted.mean_abs_change, 12);
    expect(found.meanDropSeenInBoth).toBeCloseTo(wanted.mean_drop_when_seen_in_both, 12);
    expect(found.meanLogitDropSeenInBoth).toBeCloseTo(wanted.mean_logit_drop_when_seen_in_both, 12);
    expect(found.retained).toBeCloseTo(wanted.retention_at_t, 12);
    expect([found.lost, found.gained]).toEqual([wanted.lost, wanted.gained]);
  });

  it('the seed story: .92 by day, .67 at dusk', () => {
    const { day, dusk, expect: wanted } = goldenCase('drift.json', 'seed_story_single_object');
    const found = pairStatistics(pairsOf(day, dusk), 0.5);
    expect(found.meanDrop).toBeCloseTo(wanted.drop, 12);
    expect(found.meanLogitDropSeenInBoth).toBeCloseTo(wanted.logit_drop, 12);
  });

  it('measures a shift of -.1 as a drop of .1 whose interval holds it, with noise and lost objects', () => {
    const random = createRandom(5);
    const day = Array.from({ length: 30 }, () => random.between(0.5, 0.9));
    const exact = pairedDrift(
      pairsOf(
        day,
        day.map((score) => score - 0.1),
        3,
      ),
      0.5,
      resampling,
    );
    if (exact.kind === 'none') throw new Error(exact.reason);
    expect(estimate(exact.meanDrop).value).toBeCloseTo(0.1, 12);
    expect(estimate(exact.meanDrop).high - estimate(exact.meanDrop).low).toBeLessThan(1e-9);
    const noisy = day.map((score, row) => (row < 5 ? 0 : score - 0.1 + 0.05 * random.normal()));
    const lossy = pairedDrift(pairsOf(day, noisy, 3), 0.5, resampling);
    if (lossy.kind === 'none') throw new Error(lossy.reason);
    expect(lossy.lost).toBe(5);
    expect(estimate(lossy.meanDrop).value).toBeGreaterThan(0.15);
    const seen = estimate(lossy.meanDropSeenInBoth);
    expect(seen.low).toBeLessThan(0.1);
    expect(seen.high).toBeGreaterThan(0.1);
  });

  it('turns only signs when day and dusk are exchanged', () => {
    const random = createRandom(6);
    const day = Array.from({ length: 40 }, () => random.next());
    const dusk = Array.from({ length: 40 }, () => (random.next() < 0.1 ? 0 : random.next()));
    const there = pairedDrift(pairsOf(day, dusk, 4), 0.4, resampling);
    const back = pairedDrift(pairsOf(dusk, day, 4), 0.4, resampling);
    if (there.kind === 'none' || back.kind === 'none') throw new Error('no verdict');
    const odd = (figure: Figure, other: Figure) => {
      for (const key of ['value', 'low', 'high'] as const) {
        expect(estimate(other)[key]).toBeCloseTo(estimate(negated(figure))[key], 12);
      }
    };
    odd(there.meanDrop, back.meanDrop);
    odd(there.medianDrop, back.medianDrop);
    odd(there.meanLogitDropSeenInBoth, back.meanLogitDropSeenInBoth);
    odd(there.p90Drop, back.p10Drop);
    odd(there.p10Drop, back.p90Drop);
    expect(back.retained).toEqual(there.retainedBackwards);
    expect([back.lost, back.gained]).toEqual([there.gained, there.lost]);
    expect(back.meanAbsoluteChange).toEqual(there.meanAbsoluteChange);
  });

  it('gives no verdict below 20 pairs or 5 groups, and no retention on few sure objects', () => {
    const scores = Array.from({ length: 24 }, (_, row) => row / 24);
    expect(pairedDrift(pairsOf(scores.slice(5), scores.slice(5)), 0.5)).toMatchObject({ kind: 'none' });
    expect(pairedDrift(pairsOf(scores, scores, 6), 0.5)).toMatchObject({ kind: 'none', reason: /4 groups/ });
    const few = pairedDrift(pairsOf(scores, scores, 2), 0.9, resampling);
    if (few.kind === 'none') throw new Error(few.reason);
    expect(few.retained.kind).toBe('none');
    expect(few.meanDrop.kind).toBe('estimate');
    expect(few.meanVarianceRise).toEqual({ kind: 'none', reason: 'nothing to measure' });
  });
});

describe('flicker', () => {
  it.each(['flicker_t0.5', 'flicker_t0.6'])('%s', (id) => {
    const { tracks, threshold, expect: wanted } = goldenCase('drift.json', id);
    const found = flickerStatistics(tracks, { on: threshold, off: threshold });
    expect(found).toMatchObject({
      transitions: wanted.transitions,
      framePairs: wanted.frame_pairs,
      perTrack: wanted.per_track,
    });
    expect(found.micro).toBeCloseTo(wanted.micro, 12);
    expect(found.macro).toBeCloseTo(wanted.macro, 12);
  });

  it('hysteresis calms it; jitter does not depend on thresholds', () => {
    const calm = goldenCase('drift.json', 'hysteresis_0.55_0.45');
    const found = flickerStatistics(calm.tracks, { on: calm.t_on, off: calm.t_off });
    expect(found.transitions).toBe(calm.expect.transitions);
    const { tracks, expect: wanted } = goldenCase('drift.json', 'jitter_mean_abs_step');
    for (const [track, jitter] of flickerStatistics(tracks, { on: 0.5, off: 0.5 }).jitter.entries()) {
      if (jitter === null) expect(wanted.per_track[track]).toBeNull();
      else expect(jitter).toBeCloseTo(wanted.per_track[track], 12);
    }
  });

  it('gives no verdict below ten tracks', () => {
    const track = [0.6, 0.4, 0.6];
    const at = { on: 0.5, off: 0.5 };
    expect(flicker(Array(9).fill(track), at).rate.kind).toBe('none');
    expect(estimate(flicker(Array(10).fill(track), at, resampling).rate)).toMatchObject({ value: 1, low: 1 });
  });
});

describe('a change within cameras and over all', () => {
  // Camera a is easy and mostly seen by day; both cameras do better at dusk, yet the pooled mean falls.
  const scores = [
    ...Array(30).fill(0.9),
    ...Array(10).fill(0.2),
    ...Array(10).fill(0.95),
    ...Array(30).fill(0.3),
  ];
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  const ratio = { numerators: Float64Array.from(scores), denominators: new Float64Array(80).fill(1) };
  const day = {
    name: 'day',
    cameras: new Map([
      ['a', range(0, 30)],
      ['b', range(30, 40)],
    ]),
  };
  const dusk = {
    name: 'dusk',
    cameras: new Map([
      ['a', range(40, 50)],
      ['b', range(50, 80)],
    ]),
  };

  it('warns where cameras and pool disagree in sign (Simpson)', () => {
    const effect = conditionEffect(ratio, { first: day, second: dusk }, resampling);
    expect(estimate(effect.pooled).value).toBeCloseTo(0.4625 - 0.725, 12);
    expect(estimate(effect.within).value).toBeCloseTo(0.075, 12);
    expect(effect.signsDisagree).toBe(true);
    expect(effect.perCamera.map(({ camera, change }) => [camera, Number(change.toFixed(3))])).toEqual([
      ['a', 0.05],
      ['b', 0.1],
    ]);
    expect(effect.byCamera).toMatchObject({ kind: 'none', reason: /^2 groups/ });
  });

  it('turns only signs when the conditions are exchanged', () => {
    const random = createRandom(8);
    const noisy = { ...ratio, numerators: ratio.numerators.map((score) => score + 0.1 * random.normal()) };
    const there = conditionEffect(noisy, { first: day, second: dusk }, resampling);
    const back = conditionEffect(noisy, { first: dusk, second: day }, resampling);
    expect(back.pooled).toEqual(negated(there.pooled));
    expect(back.within).toEqual(negated(there.within));
    expect([back.first, back.second]).toEqual([there.second, there.first]);
  });

  it('gives no verdict on too little', () => {
    const little = { name: 'night', cameras: new Map([['a', range(0, 9)]]) };
    expect(conditionEffect(ratio, { first: day, second: little }).pooled).toMatchObject({
      kind: 'none',
      reason: /^9 counted/,
    });
  });
});

describe('resampling', () => {
  it('draws by the name of a stratum, not by its place, and repeats with the seed', () => {
    const values = Float64Array.from({ length: 40 }, (_, index) => Math.sin(index));
    const strata = [
      { key: 'a', groups: Array.from({ length: 20 }, (_, index) => index) },
      { key: 'b', groups: Array.from({ length: 20 }, (_, index) => 20 + index) },
    ];
    const mean = (counts: Int32Array) => ({
      mean: counts.reduce((sum, count, group) => sum + count * values[group]!, 0) / 40,
    });
    const once = bootstrapFigures(40, strata, mean, resampling);
    expect(bootstrapFigures(40, strata.toReversed(), mean, resampling)).toEqual(once);
    expect(bootstrapFigures(40, strata, mean, { ...resampling, seed: 4 })).not.toEqual(once);
  });

  it('covers the mean of a known law about as often as it says', () => {
    const random = createRandom(11);
    let covered = 0;
    for (let trial = 0; trial < 200; trial++) {
      const values = Float64Array.from({ length: 40 }, () => random.normal());
      const strata = [{ key: String(trial), groups: [...values.keys()] }];
      const { mean } = bootstrapFigures(
        40,
        strata,
        (counts) => ({
          mean: counts.reduce((sum, count, group) => sum + count * values[group]!, 0) / 40,
        }),
        { resamples: 200, seed: trial },
      );
      if (estimate(mean).low <= 0 && estimate(mean).high >= 0) covered++;
    }
    expect(covered).toBeGreaterThan(176);
    expect(covered).toBeLessThan(199);
  });

  it('has quantiles that mirror exactly', () => {
    const sorted = Float64Array.of(0.1, 0.4, 0.7, 0.9);
    const counts = Int32Array.of(2, 0, 1, 3);
    expect(weightedQuantile(sorted, counts, 0.5)).toBeCloseTo(0.8, 12);
    expect(weightedQuantile(sorted, counts, 0)).toBe(0.1);
    expect(weightedQuantile(sorted, counts, 1)).toBe(0.9);
    const mirrored = sorted.map((value) => -value).reverse();
    const back = weightedQuantile(mirrored, counts.toReversed(), 0.1)!;
    expect(back).toBeCloseTo(-weightedQuantile(sorted, counts, 0.9)!, 12);
    expect(weightedQuantile(sorted, new Int32Array(4), 0.5)).toBeUndefined();
  });
});
