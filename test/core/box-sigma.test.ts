// Sigmas of box sides: right ones, too small ones, ones that say nothing, and which matches they are judged on.
import { describe, expect, it } from 'vitest';
import { binomialInterval, boxSigma, createRandom, sigmaCalibration } from '#core';

/** Normal errors of their stated sigmas, times a factor. */
function drawn(count: number, factor: number, seed: number) {
  const random = createRandom(seed);
  const sigmas = Float64Array.from({ length: count }, () => random.between(0.5, 6));
  const errors = sigmas.map((sigma) => {
    // Box and Muller (1958).
    const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
    return factor * sigma * radius * Math.cos(2 * Math.PI * random.next());
  });
  return { errors, sigmas };
}

describe('sigmas against errors', () => {
  it('right sigmas cover what a normal law covers, and beat every constant', () => {
    const { errors, sigmas } = drawn(20_000, 1, 2);
    const found = sigmaCalibration(errors, sigmas)!;
    const [one, two] = found.coverage;
    expect([one!.expected, two!.expected]).toEqual([
      expect.closeTo(0.6826894921370859, 12),
      expect.closeTo(0.9544997361036416, 12),
    ]);
    for (const { share, interval, expected } of [one!, two!]) {
      expect(interval).toEqual(binomialInterval(Math.round(share * 20_000), 20_000, 0.95));
      expect(Math.abs(share - expected)).toBeLessThan(0.01);
    }
    for (const count of found.pit) expect(Math.abs(count - 2000)).toBeLessThan(4 * Math.sqrt(1800));
    expect(found.scale).toBeCloseTo(1, 1);
    expect(found.nll).toBeLessThan(found.constantNll - 0.1);
    expect(found.scaledNll!).toBeLessThanOrEqual(found.nll);
  });

  it('sigmas too small by half: little covered, a valley, scale 2', () => {
    const { errors, sigmas } = drawn(20_000, 2, 3);
    const found = sigmaCalibration(errors, sigmas)!;
    expect(found.coverage[0]!.share).toBeLessThan(0.4);
    expect(found.pit[0]! + found.pit[9]!).toBeGreaterThan(0.4 * 20_000);
    expect(found.scale).toBeCloseTo(2, 1);
    const scaled = sigmaCalibration(
      errors,
      sigmas.map((sigma) => found.scale * sigma),
    )!;
    expect(scaled.nll).toBeCloseTo(found.scaledNll!, 10);
    expect(scaled.scale).toBeCloseTo(1, 10);
    // No other factor is better.
    for (const factor of [0.99, 1.01]) {
      const other = sigmaCalibration(
        errors,
        sigmas.map((sigma) => factor * found.scale * sigma),
      )!;
      expect(other.nll).toBeGreaterThan(found.scaledNll!);
    }
  });

  it('figures by hand', () => {
    const found = sigmaCalibration([1, -3, 0, 4], [2, 1, 0, 4], { leastSigmaPx: 0.5 })!;
    expect(found).toMatchObject({ count: 4, raised: 1, biasPx: 0.5, meanSigmaPx: 7.5 / 4 });
    expect(found.coverage.map(({ share }) => share)).toEqual([0.75, 0.75]);
    const squares = 0.25 + 9 + 0 + 1;
    expect(found.scale).toBeCloseTo(Math.sqrt(squares / 4), 12);
    const logs = (Math.log(2) + Math.log(1) + Math.log(0.5) + Math.log(4)) / 4;
    expect(found.nll).toBeCloseTo(0.5 * Math.log(2 * Math.PI) + logs + squares / 8, 12);
    expect(found.constantSigmaPx).toBeCloseTo(Math.sqrt(26 / 4), 12);
    expect(found.constantNll).toBeCloseTo(0.5 * Math.log((2 * Math.PI * 26) / 4) + 0.5, 12);
    // Φ(.5) = .69, Φ(−3) = .001, Φ(0) = .5, Φ(1) = .84
    expect(found.pit).toEqual([1, 0, 0, 0, 0, 1, 1, 0, 1, 0]);
    // An equal sigma for all is the constant, and no better.
    const equal = sigmaCalibration([1, -3, 0, 4], new Float64Array(4).fill(Math.sqrt(6.5)))!;
    expect(equal.nll).toBeCloseTo(equal.constantNll, 12);
    expect(sigmaCalibration([0, 0], [1, 1])!.scaledNll).toBeNull();
    expect(sigmaCalibration([], [])).toBeUndefined();
  });
});

describe('sigmas of matched boxes', () => {
  const truth = {
    starts: Int32Array.of(0, 2),
    boxes: Float64Array.of(10, 10, 110, 110, 300, 300, 400, 400),
    classIds: Int32Array.of(0, 0),
    areas: Float64Array.of(1e4, 1e4),
    kinds: new Uint8Array(2),
  };
  const detections = {
    starts: Int32Array.of(0, 4),
    // On the first, a double of it, on the second, far off.
    boxes: Float64Array.of(
      ...[12, 9, 111, 106],
      ...[20, 10, 110, 110],
      ...[300, 304, 400, 400],
      ...[700, 700, 720, 720],
    ),
    classIds: new Int32Array(4),
    scores: Float64Array.of(0.9, 0.8, 0.4, 0.7),
    boxVariances: Float64Array.of(...[4, 1, 1, 9], ...[100, 100, 100, 100], ...[0, 4, 1, 1], ...[1, 1, 1, 1]),
  };

  it('takes the errors of matches only, side by side', () => {
    const found = boxSigma(truth, detections, { classCount: 1 });
    expect(found.matches).toBe(2);
    expect(found.perSide.map((side) => side!.biasPx)).toEqual([1, 1.5, 0.5, -2]);
    expect(found.perSide.map((side) => side!.meanSigmaPx)).toEqual([1.05, 1.5, 1, 2]);
    expect(found.perSide[0]!.raised).toBe(1);
    expect(found.all!.count).toBe(8);
    expect(found.all!.biasPx).toBeCloseTo((2 - 1 + 1 - 4 + 0 + 4 + 0 + 0) / 8, 12);
    expect(found.convention).toEqual({
      iou: 0.5,
      minScore: 0.25,
      maxDets: 100,
      leastSigmaPx: 0.1,
      level: 0.95,
    });
  });

  it('above a score, and null where nothing is left', () => {
    expect(boxSigma(truth, detections, { classCount: 1, minScore: 0.5 }).matches).toBe(1);
    const none = boxSigma(truth, detections, { classCount: 1, minScore: 0.95 });
    expect(none).toMatchObject({ all: null, perSide: [null, null, null, null], matches: 0 });
  });
});
