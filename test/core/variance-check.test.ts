// The check of a variance must tell a true one from one that is too large, and from one that repeats the score.
import { describe, expect, it } from 'vitest';
import type { CorrelationRows } from '#core';
import { checkVariance, createRandom, partialCorrelation, twoHotVariance } from '#core';

const PICTURES = 300;
const EACH = 8;

/**
 * Every detection overlaps an object of its own by y, drawn from a law with the stated mean and variance:
 * E ± √Var with equal chance.
 */
function scene(seed: number, stated: (variance: number, expectation: number) => number) {
  const random = createRandom(seed);
  const count = PICTURES * EACH;
  const truthBoxes = new Float64Array(4 * count);
  const boxes = new Float64Array(4 * count);
  const scores = new Float64Array(count);
  const scoreVariances = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    const expectation = random.between(0.3, 0.7);
    const deviation = random.between(0.02, 0.28);
    const y = expectation + (random.next() < 0.5 ? -1 : 1) * deviation;
    const left = (row % EACH) * 1000;
    truthBoxes.set([left, 0, left + 100, 100], 4 * row);
    // A box inside the object with IoU y.
    boxes.set([left, 0, left + 100 * y, 100], 4 * row);
    scores[row] = expectation;
    scoreVariances[row] = stated(deviation * deviation, expectation);
  }
  const starts = Int32Array.from({ length: PICTURES + 1 }, (_, picture) => picture * EACH);
  const common = { starts, classIds: new Int32Array(count) };
  return {
    truth: {
      ...common,
      boxes: truthBoxes,
      areas: new Float64Array(count).fill(1e4),
      kinds: new Uint8Array(count),
    },
    detections: { ...common, boxes, scores, scoreVariances },
  };
}

const check = (stated: (variance: number, expectation: number) => number, more = {}) => {
  const { truth, detections } = scene(5, stated);
  return checkVariance(truth, detections, { classCount: 1, ...more })!;
};

describe('variance against squared error', () => {
  it('finds the ratio 1 in every fifth where the variance is true', () => {
    const { fifths, count, meanPredicted, meanMeasured } = check((variance) => variance);
    expect(count).toBe(PICTURES * EACH);
    expect(fifths).toHaveLength(5);
    expect(fifths.reduce((sum, fifth) => sum + fifth.count, 0)).toBe(count);
    for (const { ratio } of fifths) expect(ratio).toBeCloseTo(1, 6);
    expect(meanPredicted).toBeCloseTo(meanMeasured, 9);
    for (const [place, fifth] of fifths.entries()) {
      if (place > 0) expect(fifth.meanPredicted).toBeGreaterThan(fifths[place - 1]!.meanPredicted);
    }
  });

  it('finds the factor by which a variance is too large', () => {
    for (const { ratio } of check((variance) => 3 * variance).fifths) expect(ratio).toBeCloseTo(3, 6);
  });

  it('counts a false alarm with y = 0', () => {
    const { truth, detections } = scene(5, (variance) => variance);
    const away = { ...detections, boxes: detections.boxes.map((value) => value + 1e6) };
    const { meanMeasured } = checkVariance(truth, away, { classCount: 1 })!;
    const expected =
      detections.scores.reduce((sum, score) => sum + score * score, 0) / detections.scores.length;
    expect(meanMeasured).toBeCloseTo(expected, 9);
  });

  it('is silent where the model states no variance, or on too few detections', () => {
    const { truth, detections } = scene(5, (variance) => variance);
    const { scoreVariances: _, ...without } = detections;
    expect(checkVariance(truth, without, { classCount: 1 })).toBeUndefined();
    expect(checkVariance(truth, detections, { classCount: 1, minScore: 0.699 })).toBeUndefined();
  });

  it('takes the floor of the bins away where asked', () => {
    const floor = (expectation: number) => twoHotVariance(expectation, 10);
    const plain = check((variance) => variance);
    const excess = check((variance, expectation) => variance + floor(expectation), { excessOverBins: 10 });
    expect(excess.meanPredicted).toBeCloseTo(plain.meanPredicted, 9);
  });
});

describe('partial correlation beyond the expectation', () => {
  it('is high, with an interval above 0, for a variance that knows more than the score', () => {
    const { value, interval } = check((variance) => variance).partialCorrelation!;
    expect(value).toBeGreaterThan(0.95);
    expect(interval![0]).toBeGreaterThan(0.9);
    expect(interval![0]).toBeLessThanOrEqual(value);
    expect(interval![1]).toBeGreaterThanOrEqual(value);
  });

  it('is near 0, the interval holding 0, for a variance that is the score again plus noise', () => {
    const random = createRandom(11);
    const { value, interval } = check((_, e) => e * (1 - e) * 0.5 + 0.001 * random.next())
      .partialCorrelation!;
    expect(Math.abs(value)).toBeLessThan(0.08);
    expect(interval![0]).toBeLessThan(0);
    expect(interval![1]).toBeGreaterThan(0);
  });

  it('is absent for a variance that is a function of the score', () => {
    expect(check((_, expectation) => expectation * (1 - expectation)).partialCorrelation).toBeNull();
    expect(check(() => 0.1).partialCorrelation).toBeNull();
  });

  it('agrees with residuals of least squares, written out', () => {
    const rows = randomRows(60);
    const expected = correlation(
      residuals(rows.expectations, rows.predicted),
      residuals(rows.expectations, rows.squaredErrors),
    );
    expect(partialCorrelation(rows, { resamples: 0, seed: 0 })).toEqual({
      value: expect.closeTo(expected, 9),
      interval: null,
    });
  });

  it('gives the same interval for the same seed, and resamples whole pictures', () => {
    const rows = randomRows(200);
    const once = partialCorrelation(rows, { resamples: 200, seed: 4 });
    expect(partialCorrelation(rows, { resamples: 200, seed: 4 })).toEqual(once);
    expect(partialCorrelation(rows, { resamples: 200, seed: 5 })).not.toEqual(once);
    // With one picture every resample is the sample.
    const single = partialCorrelation(
      { ...rows, pictures: new Int32Array(200) },
      { resamples: 20, seed: 4 },
    )!;
    expect(single.interval![0]).toBeCloseTo(single.value, 9);
    expect(single.interval![1]).toBeCloseTo(single.value, 9);
  });
});

function randomRows(count: number): CorrelationRows {
  const random = createRandom(9);
  const draw = () => Float64Array.from({ length: count }, () => random.next());
  const predicted = draw();
  return {
    expectations: draw(),
    predicted,
    squaredErrors: predicted.map((value) => 0.4 * value + random.next()),
    pictures: Int32Array.from({ length: count }, (_, row) => row >> 2),
  };
}

/** y − its least-squares polynomial of degree 5 in x, by Gram-Schmidt on the powers. */
function residuals(x: Float64Array, y: Float64Array): Float64Array {
  const basis: Float64Array[] = [];
  const strip = (values: Float64Array) => {
    const left = values.slice();
    // Twice, for the digits.
    for (let pass = 0; pass < 2; pass++) {
      for (const one of basis) {
        const share = dot(left, one);
        for (let row = 0; row < left.length; row++) left[row]! -= share * one[row]!;
      }
    }
    return left;
  };
  for (let power = 0; power <= 5; power++) {
    const left = strip(x.map((value) => (value - 0.5) ** power));
    const norm = Math.sqrt(dot(left, left));
    basis.push(left.map((value) => value / norm));
  }
  return strip(y);
}

const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, value, row) => sum + value * b[row]!, 0);
const correlation = (a: Float64Array, b: Float64Array) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
