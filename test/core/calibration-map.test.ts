// Maps from raw to calibrated scores: golden fits, their limits, and the laws that follow them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CalibrationMap } from '#core';
import {
  calibrateLaw,
  calibrateScore,
  calibrationSlope,
  fitBeta,
  fitIsotonic,
  fitPlatt,
  fitTemperature,
  logLoss,
} from '#core';
import { goldenCase } from '../support/golden.ts';

const TOLERANCE = 10;

describe('maps', () => {
  it.each(['posthoc_iou_targets', 'posthoc_tp_targets'])('%s', (id) => {
    const { scores, targets, expect: want } = goldenCase('calib_basic.json', id);
    const platt = fitPlatt(scores, targets)!;
    expect(platt.slope).toBeCloseTo(want.platt.a, 9);
    expect(platt.intercept).toBeCloseTo(want.platt.b, 9);
    for (const [place, score] of scores.entries()) {
      expect(calibrateScore(platt, score)).toBeCloseTo(want.platt.outputs[place], 9);
    }
    const { temperature } = fitTemperature(scores, targets)!;
    expect(temperature).toBeCloseTo(want.temperature.T, 9);
    for (const [place, score] of scores.entries()) {
      expect(calibrateScore({ kind: 'temperature', temperature }, score)).toBeCloseTo(
        want.temperature.outputs[place],
        9,
      );
    }
    const isotonic = fitIsotonic(scores, targets)!;
    for (const [place, x] of want.isotonic.x.entries()) {
      expect(calibrateScore(isotonic, x)).toBeCloseTo(want.isotonic.fit[place], TOLERANCE);
    }
    for (const [place, query] of want.isotonic.query.entries()) {
      expect(calibrateScore(isotonic, query)).toBeCloseTo(
        want.isotonic.linear_interpolation[place],
        TOLERANCE,
      );
    }
  });

  it('isotonic averages equal scores first', () => {
    const { x, y, expect: want } = goldenCase('calib_basic.json', 'isotonic_ties');
    const map = fitIsotonic(x, y)!;
    for (const [place, score] of want.x.entries()) {
      expect(calibrateScore(map, score)).toBeCloseTo(want.fit[place], TOLERANCE);
    }
  });

  it('has no Platt map for targets that are all 0 or all 1, nor an endless one for parted targets', () => {
    expect(fitPlatt([0.1, 0.5, 0.9], [0, 0, 0])).toBeUndefined();
    expect(fitPlatt([0.1, 0.5, 0.9], [1, 1, 1])).toBeUndefined();
    expect(fitPlatt([], [])).toBeUndefined();
    const parted = fitPlatt([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])!;
    expect(Number.isFinite(parted.slope) && Number.isFinite(parted.intercept)).toBe(true);
    expect(calibrateScore(parted, 0.9)).toBeGreaterThan(0.99);
    expect(calibrateScore(parted, 0.1)).toBeLessThan(0.01);
  });

  it('never turns the ranking around, and fits equal scores by their mean', () => {
    expect(fitPlatt([0.1, 0.3, 0.7, 0.9], [1, 0.8, 0.2, 0])).toEqual({
      kind: 'platt',
      slope: 0,
      intercept: expect.closeTo(0, 12),
    });
    const equal = fitPlatt([0.4, 0.4, 0.4, 0.4], [0, 0, 0, 1])!;
    expect(calibrateScore(equal, 0.4)).toBeCloseTo(0.25, 9);
  });

  it('is monotone, stays in [0, 1], and has the slope that differences show', () => {
    const sample = fc.array(fc.tuple(fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.boolean()), {
      minLength: 5,
      maxLength: 40,
    });
    fc.assert(
      fc.property(sample, (pairs) => {
        const [scores, targets] = [pairs.map(([score]) => score), pairs.map(([, hit]) => Number(hit))];
        const isotonic = fitIsotonic(scores, targets)!;
        const maps = [
          fitPlatt(scores, targets),
          fitTemperature(scores, targets),
          fitBeta(scores, targets),
          isotonic,
          { ...isotonic, tilt: 1e-3 },
        ].filter((map) => map !== undefined);
        for (const map of maps as CalibrationMap[]) {
          const grid = Array.from({ length: 101 }, (_, index) => calibrateScore(map, index / 100));
          expect(grid.every((value, index) => index === 0 || value >= grid[index - 1]! - 1e-12)).toBe(true);
          expect(grid[0]).toBeGreaterThanOrEqual(0);
          expect(grid[100]).toBeLessThanOrEqual(1);
        }
      }),
      { seed: 3, numRuns: 100 },
    );
    for (const map of [
      fitPlatt([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])!,
      fitTemperature([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])!,
      { kind: 'beta', low: 0.7, high: 1.4, intercept: 0.3 } as const,
      fitIsotonic([0.2, 0.5, 0.9], [0.1, 0.3, 0.8])!,
      { ...fitIsotonic([0.2, 0.5, 0.9], [0.1, 0.3, 0.8])!, tilt: 0.1 },
    ]) {
      for (const score of [0.25, 0.4, 0.61]) {
        const step = 1e-6;
        const numeric = (calibrateScore(map, score + step) - calibrateScore(map, score - step)) / (2 * step);
        expect(calibrationSlope(map, score)).toBeCloseTo(numeric, 6);
      }
    }
  });
});

describe('temperature', () => {
  it('cannot move a score across .5, whatever came true', () => {
    const { scores, targets } = goldenCase('calib_basic.json', 'posthoc_iou_targets');
    const map = fitTemperature(scores, targets)!;
    expect(calibrateScore(map, 0.5)).toBeCloseTo(0.5, 12);
    expect(calibrateScore(map, 0.51)).toBeGreaterThan(0.5);
    expect(calibrateScore(fitPlatt(scores, targets)!, 0.6)).toBeLessThan(0.5);
  });

  it('is absent where the targets fall with the score, or are all alike', () => {
    expect(fitTemperature([0.1, 0.3, 0.7, 0.9], [1, 0.8, 0.2, 0])).toBeUndefined();
    expect(fitTemperature([0.1, 0.9], [0, 0])).toBeUndefined();
    expect(fitTemperature([], [])).toBeUndefined();
    // Parted at .5: no endless map.
    expect(fitTemperature([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])!.temperature).toBeGreaterThan(1e-4);
  });

  it.each(['1', '2'])('undoes the GRA map of gamma %s', (gamma) => {
    const rows = goldenCase('calib_basic.json', 'inverse_of_the_binary_gra_map').rows.filter(
      (row: { gamma: number }) => row.gamma === Number(gamma),
    );
    expect(rows.length).toBeGreaterThan(0);
    const map = { kind: 'temperature', temperature: 1 / (Number(gamma) + 1) } as const;
    for (const { eta, gra_score: score } of rows) {
      expect(calibrateScore(map, score)).toBeCloseTo(eta, TOLERANCE);
    }
  });
});

describe('beta', () => {
  it('finds the law that the targets were drawn from', () => {
    const scores = Array.from({ length: 400 }, (_, index) => (index + 0.5) / 400);
    const law = { kind: 'beta', low: 0.6, high: 1.7, intercept: -0.4 } as const;
    const targets = scores.map((score) => calibrateScore(law, score));
    const found = fitBeta(scores, targets)!;
    expect(found.low).toBeCloseTo(law.low, 7);
    expect(found.high).toBeCloseTo(law.high, 7);
    expect(found.intercept).toBeCloseTo(law.intercept, 7);
  });

  it('with both bends equal it is Platt, and it fits no worse', () => {
    const beta = { kind: 'beta', low: 0.8, high: 0.8, intercept: 0.2 } as const;
    const platt = { kind: 'platt', slope: 0.8, intercept: 0.2 } as const;
    for (const score of [0.01, 0.3, 0.5, 0.99]) {
      expect(calibrateScore(beta, score)).toBeCloseTo(calibrateScore(platt, score), 12);
    }
    const { scores, targets } = goldenCase('calib_basic.json', 'posthoc_iou_targets');
    const lossOf = (map: CalibrationMap) =>
      logLoss(
        scores.map((score: number) => calibrateScore(map, score)),
        targets,
      );
    expect(lossOf(fitBeta(scores, targets)!)).toBeLessThanOrEqual(lossOf(fitPlatt(scores, targets)!) + 1e-12);
  });

  it('holds a bend at 0 that would turn the ranking, at the best place that is left', () => {
    const scores = [0.02, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.9, 0.97];
    // Rises, then falls: a free fit has one bend below 0.
    const targets = [0.05, 0.4, 0.6, 0.8, 0.8, 0.75, 0.7, 0.6, 0.5];
    const map = fitBeta(scores, targets)!;
    expect(map.low).toBeGreaterThan(0);
    expect(map.high).toBe(0);
    const lossAt = (low: number, high: number, intercept: number) =>
      logLoss(
        scores.map((score) => calibrateScore({ kind: 'beta', low, high, intercept }, score)),
        targets,
      );
    const best = lossAt(map.low, map.high, map.intercept);
    for (const [a, b, c] of [
      [0.01, 0, 0],
      [-0.01, 0, 0],
      [0, 0.01, 0],
      [0, 0, 0.01],
      [0, 0, -0.01],
    ] as const) {
      expect(lossAt(map.low + a, map.high + b, map.intercept + c)).toBeGreaterThan(best);
    }
    expect(fitBeta([0.1, 0.3, 0.7, 0.9], [1, 0.8, 0.2, 0])).toMatchObject({ low: 0, high: 0 });
    expect(fitBeta([0.1, 0.9], [1, 1])).toBeUndefined();
    expect(
      Object.values(fitBeta([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])!)
        .slice(1)
        .every(Number.isFinite),
    ).toBe(true);
  });
});

describe('laws through a map', () => {
  const map = { kind: 'platt', slope: 1.5, intercept: -0.5 } as const;

  it('bins: exact', () => {
    const probabilities = Float32Array.of(0.1, 0.2, 0.4, 0.3);
    const values = [0, 1 / 3, 2 / 3, 1].map((score) => calibrateScore(map, score));
    const mean = values.reduce((sum, value, bin) => sum + probabilities[bin]! * value, 0);
    const found = calibrateLaw(map, { probabilities });
    expect(found.mean).toBeCloseTo(mean, 12);
    expect(found.variance).toBeCloseTo(
      values.reduce((sum, value, bin) => sum + probabilities[bin]! * (value - mean) ** 2, 0),
      12,
    );
  });

  it('Gaussians: as many draws say, and as the slope says where they are narrow', () => {
    const narrow = { weight: 1, means: [0.6, 0.6], variances: [1e-6, 1e-6] } as const;
    const slope = calibrationSlope(map, 0.6);
    expect(calibrateLaw(map, narrow).variance / (slope * slope * 1e-6)).toBeCloseTo(1, 3);
    expect(calibrateLaw(map, narrow).mean).toBeCloseTo(calibrateScore(map, 0.6), 5);
    const atoms = { weight: 0.25, means: [0.2, 0.9], variances: [0, 0] } as const;
    const [low, high] = atoms.means.map((score) => calibrateScore(map, score)) as [number, number];
    expect(calibrateLaw(map, atoms).variance).toBeCloseTo(0.25 * 0.75 * (high - low) ** 2, 12);
    // The identity keeps the moments of a law that stays inside [0, 1].
    const same = { kind: 'platt', slope: 1, intercept: 0 } as const;
    const wide = calibrateLaw(same, { weight: 0.4, means: [0.3, 0.6], variances: [0.002, 0.003] });
    expect(wide.mean).toBeCloseTo(0.48, 6);
    expect(wide.variance).toBeCloseTo(0.4 * 0.002 + 0.6 * 0.003 + 0.24 * 0.09, 6);
    // What would lie outside counts at the end.
    const outside = calibrateLaw(same, { weight: 1, means: [1, 1], variances: [0.01, 0.01] });
    expect(outside.mean).toBeCloseTo(1 - 0.1 / Math.sqrt(2 * Math.PI), 5);
  });
});
