// Heads of several outputs or of feature maps, with box, score and variance worked out by hand.
import { describe, expect, it } from 'vitest';
import type { HeadLayout } from '#core';
import { createDecoder } from '#core';
import {
  closeTo,
  decodeOnce,
  FLOOR,
  LEVELS,
  OPTIONS,
  outputsOf,
  rowsOf,
  tensor,
} from '../support/head-outputs.ts';

/** Logits of a law that puts all but 1e-9 of its mass on one bin. */
function sharp(bins: number, bin: number): number[] {
  return Array.from({ length: bins }, (_, index) => (index === bin ? 30 : 0));
}

describe('gfl', () => {
  const level = { ...LEVELS[0]!, scores: 's', distances: 'd', firstRow: 0 };
  const layout = {
    kind: 'gfl',
    bins: 8,
    levels: [level],
    cellOffset: 0.5,
    scoresAre: 'probabilities',
    classCount: 2,
  } as const satisfies HeadLayout;
  const sides = [...sharp(8, 1), ...sharp(8, 0), ...sharp(8, 2), ...sharp(8, 1)];
  const expected = [(2.5 - 1) * 16, 1.5 * 16, (2.5 + 2) * 16, (1.5 + 1) * 16];

  it('steps from the cell centre by the mean of each side', () => {
    const s = tensor([1, 8, 2]);
    const d = tensor([1, 8, 32]);
    s.data.set([0.1, 0.7], 6 * 2);
    d.data.set(sides, 6 * 32);
    const { rows, decoder } = decodeOnce(layout, outputsOf({ s, d }));
    expect(rows).toMatchObject([{ anchor: 6, classId: 1, score: Math.fround(0.7) }]);
    closeTo(rows[0]!.box, expected);
    expect(decoder.boxVariance).toBe(true);
  });

  it('gives the variance of flat sides in px²', () => {
    const s = tensor([1, 8, 2], 0.9);
    const candidates = createDecoder(layout, OPTIONS).decode(outputsOf({ s, d: tensor([1, 8, 32]) }), FLOOR);
    closeTo([...candidates.boxVariances!.subarray(0, 4)], Array(4).fill((16 * 16 * (64 - 1)) / 12), 2);
  });

  it('reads levels that share one output with their distances, and logits', () => {
    const joined = { ...LEVELS[0]!, scores: 'o', distances: 'o', firstRow: 3 };
    const o = tensor([1, 11, 34], -20);
    o.data.set([-2, Math.log(0.7 / 0.3), ...sides], (3 + 6) * 34);
    const { rows } = decodeOnce({ ...layout, levels: [joined], scoresAre: 'logits' }, outputsOf({ o }));
    expect(rows).toHaveLength(1);
    expect(rows[0]!.score).toBeCloseTo(0.7, 5);
    closeTo(rows[0]!.box, expected);
  });

  it('numbers anchors through all levels, and moves the cell centre where told', () => {
    const first = { ...level, scores: 's1', distances: 'd1' };
    const s = tensor([1, 8, 2]);
    const d = tensor([1, 8, 32]);
    s.data.set([0.1, 0.7], 6 * 2);
    d.data.set(sides, 6 * 32);
    const outputs = outputsOf({ s, d, s1: tensor([1, 8, 2]), d1: tensor([1, 8, 32]) });
    const { rows } = decodeOnce({ ...layout, levels: [first, level], cellOffset: 0 }, outputs);
    expect(rows[0]!.anchor).toBe(8 + 6);
    closeTo(
      rows[0]!.box,
      expected.map((edge) => edge - 8),
    );
  });

  it('drops sides that are not numbers', () => {
    const d = tensor([1, 8, 32]);
    d.data[0] = Number.NaN;
    const { rows, decoder } = decodeOnce(layout, outputsOf({ s: tensor([1, 8, 2], 0.9), d }));
    expect([rows.length, decoder.nonFinite]).toEqual([7, 1]);
  });
});

describe('raw-dfl', () => {
  it('reads maps channel by channel, joined or apart', () => {
    const bins = 8;
    const level = { ...LEVELS[0]!, distances: 'm', scores: 'm', firstScoreChannel: 4 * bins };
    const layout: HeadLayout = { kind: 'raw-dfl', bins, levels: [level], scoresAre: 'logits', classCount: 2 };
    const m = tensor([1, 34, 2, 4], -20);
    const sides = [...sharp(bins, 1), ...sharp(bins, 0), ...sharp(bins, 2), ...sharp(bins, 1)];
    for (const [channel, value] of [...sides, -3, Math.log(0.6 / 0.4)].entries())
      m.data[channel * 8 + 6] = value;
    const { rows, decoder } = decodeOnce(layout, outputsOf({ m }));
    expect(rows).toMatchObject([{ anchor: 6, classId: 1 }]);
    expect(rows[0]!.score).toBeCloseTo(0.6, 5);
    closeTo(rows[0]!.box, [24, 24, 72, 40]);
    expect(decoder.boxVariance).toBe(true);
  });
});

describe('fastestdet', () => {
  it('weighs class and objectness, places by tanh and sizes by sigmoid', () => {
    const layout: HeadLayout = { kind: 'fastestdet', output: 'o', level: LEVELS[0]!, classCount: 2 };
    const o = tensor([1, 7, 2, 4]);
    const logit = (p: number) => Math.log(p / (1 - p));
    const values = [0.9, 0.5, -0.5, logit(0.25), logit(0.5), 0.2, 0.8];
    for (const [channel, value] of values.entries()) o.data[channel * 8 + 6] = value;
    const { rows } = decodeOnce(layout, outputsOf({ o }));
    expect(rows).toMatchObject([{ anchor: 6, classId: 1 }]);
    expect(rows[0]!.score).toBeCloseTo(0.8 ** 0.4 * 0.9 ** 0.6, 6);
    const x = (2 + Math.tanh(0.5)) * 16;
    const y = (1 - Math.tanh(0.5)) * 16;
    closeTo(rows[0]!.box, [x - 8, y - 8, x + 8, y + 8]);
  });
});

describe('corners', () => {
  const layout: HeadLayout = {
    kind: 'corners',
    boxes: 'b',
    scores: 's',
    anchorCount: 2,
    normalized: true,
    background: true,
    classCount: 1,
  };
  const b = tensor([1, 2, 4]);
  b.data.set([0.25, 0.5, 0.5, 1], 4);

  it('skips the background and scales to the input', () => {
    const s = tensor([1, 2, 2]);
    s.data.set([0.99, 0.01, 0.1, 0.9]);
    const { rows } = decodeOnce(layout, outputsOf({ b, s }));
    expect(rows).toEqual([{ anchor: 1, classId: 0, score: Math.fround(0.9), box: [16, 16, 32, 32] }]);
  });

  it('takes px as they are, and class 0 as a class where there is no background', () => {
    const s = tensor([1, 2, 2]);
    s.data.set([0, 0, 0.9, 0.1]);
    const px = { ...layout, normalized: false, background: false, classCount: 2 };
    expect(decodeOnce(px, outputsOf({ b, s })).rows).toMatchObject([
      { classId: 0, box: [0.25, 0.5, 0.5, 1] },
    ]);
  });
});

describe('yunet', () => {
  it('takes the geometric mean of class and objectness', () => {
    const level = { ...LEVELS[0]!, cls: 'c', obj: 'o', bbox: 'b' };
    const layout: HeadLayout = { kind: 'yunet', levels: [level], classCount: 1 };
    const [c, o, b] = [tensor([1, 8, 1]), tensor([1, 8, 1]), tensor([1, 8, 4])];
    c.data[6] = 0.9;
    o.data[6] = 0.4;
    b.data.set([0.5, 0.25, Math.log(2), 0], 24);
    const { rows } = decodeOnce(layout, outputsOf({ c, o, b }));
    expect(rows).toMatchObject([{ anchor: 6, classId: 0 }]);
    expect(rows[0]!.score).toBeCloseTo(0.6, 6);
    closeTo(rows[0]!.box, [40 - 16, 20 - 8, 40 + 16, 20 + 8]);
  });
});

describe('edge-detect', () => {
  const layout = {
    kind: 'edge-detect',
    anchorCount: 2,
    boxes: 'b',
    classProbs: 'p',
    quality: 'q',
    classCount: 2,
  } as const satisfies HeadLayout;
  const b = tensor([1, 2, 4]);
  b.data.set([1, 2, 3, 4], 4);
  const p = tensor([1, 2, 2]);
  p.data.set([0.25, 0.75], 2);
  const q = tensor([1, 2, 2]);
  q.data.set([0.8, 0.05], 2);
  const mean = 0.75 * 0.8;
  const variance = 0.75 * (0.05 + 0.64) - mean * mean;

  it('multiplies class and quality, and combines their variances', () => {
    const decoder = createDecoder(layout, OPTIONS);
    const candidates = decoder.decode(outputsOf({ b, p, q }), FLOOR);
    expect(rowsOf(candidates)).toMatchObject([{ anchor: 1, classId: 1, box: [1, 2, 3, 4] }]);
    expect(candidates.scores[0]).toBeCloseTo(mean, 6);
    expect(candidates.scoreVariances![0]).toBeCloseTo(variance, 6);
    expect([decoder.scoreVariance, decoder.boxVariance, decoder.scoreLaw]).toEqual([true, false, undefined]);
  });

  it('adds the epistemic part, hands on box variances, and needs no class output for one class', () => {
    const e = tensor([1, 2, 1], 0.01);
    const v = tensor([1, 2, 4], 2.5);
    const { classProbs: _, ...oneClass } = layout;
    const full: HeadLayout = { ...oneClass, classCount: 1, qualityEpistemic: 'e', boxVar: 'v' };
    const candidates = createDecoder(full, OPTIONS).decode(outputsOf({ b, q, e, v }), FLOOR);
    expect(candidates.scoreVariances![0]).toBeCloseTo(0.05 + 0.01, 6);
    expect([...candidates.boxVariances!.subarray(0, 4)]).toEqual([2.5, 2.5, 2.5, 2.5]);
    expect(candidates.scoreVariancesEpistemic![0]).toBeCloseTo(0.01, 7);
  });

  it('tells the epistemic part of a class score apart, and only where the model has one', () => {
    const e = tensor([1, 2, 1], 0.01);
    const decoder = createDecoder({ ...layout, qualityEpistemic: 'e' }, OPTIONS);
    const { scoreVariances, scoreVariancesEpistemic } = decoder.decode(outputsOf({ b, p, q, e }), FLOOR);
    // p = 0.75 is common to the passes, so their means 0.75 E[Q] differ by 0.75² Var.
    expect(scoreVariancesEpistemic![0]).toBeCloseTo(0.75 ** 2 * 0.01, 8);
    expect(scoreVariances![0]).toBeCloseTo(variance + 0.75 * 0.01, 7);
    const negative = tensor([1, 2, 1], -1e-4);
    decoder.decode(outputsOf({ b, p, q, e: negative }), FLOOR);
    expect(scoreVariancesEpistemic![0]).toBe(0);
    const plain = createDecoder(layout, OPTIONS);
    expect([decoder.epistemic, plain.epistemic]).toEqual([true, false]);
    expect(plain.decode(outputsOf({ b, p, q }), FLOOR).scoreVariancesEpistemic).toBeUndefined();
  });

  it('keeps parts and whole together when it grows', () => {
    const anchorCount = 2100;
    const { classProbs: _, ...oneClass } = layout;
    const many = { ...oneClass, anchorCount, classCount: 1, qualityEpistemic: 'e' };
    const parts = tensor([1, anchorCount, 1]);
    for (let anchor = 0; anchor < anchorCount; anchor++) parts.data[anchor] = anchor / 10_000;
    const moments = tensor([1, anchorCount, 2], 0.5);
    const boxes = tensor([1, anchorCount, 4], 1);
    const candidates = createDecoder(many, OPTIONS).decode(
      outputsOf({ b: boxes, q: moments, e: parts }),
      FLOOR,
    );
    expect(candidates.count).toBe(anchorCount);
    for (const place of [0, 1023, 1024, 2047, 2048, 2099]) {
      expect(candidates.scoreVariancesEpistemic![place]).toBe(Math.fround(place / 10_000));
      expect(candidates.scoreVariances![place]).toBeCloseTo(0.5 + place / 10_000, 6);
    }
  });

  it('makes the distribution of a class score from bins', () => {
    const d = tensor([1, 2, 3]);
    d.data.set([0.1, 0.2, 0.7], 3); // E .8
    const decoder = createDecoder({ ...layout, qualityBins: { output: 'd', bins: 3 } }, OPTIONS);
    decoder.decode(outputsOf({ b, p, q, d }), FLOOR);
    const law = decoder.scoreLaw!;
    closeTo([...law.distribution(1, 1)!.probabilities], [0.25 + 0.075, 0.15, 0.525], 6);
    expect(law.mixture(1, 1)).toBeUndefined();
    expect(law.tailMass(1, 1, 0.5)).toBeCloseTo(0.675, 6);
    expect(law.tailMass(1, 0, 0.5)).toBeCloseTo(0.225, 6);
  });

  it('keeps the moments of a class score in a mixture', () => {
    const m = tensor([1, 2, 5]);
    m.data.set([0.25, 0.2, 0.8, 0.01, 0.02], 5);
    const decoder = createDecoder({ ...layout, qualityMixture: 'm' }, OPTIONS);
    decoder.decode(outputsOf({ b, p, q, m }), FLOOR);
    const { weight, means, variances } = decoder.scoreLaw!.mixture(1, 1)!;
    const qualityMean = 0.25 * 0.2 + 0.75 * 0.8;
    const qualitySquare = 0.25 * (0.01 + 0.04) + 0.75 * (0.02 + 0.64);
    expect(weight * means[0] + (1 - weight) * means[1]).toBeCloseTo(0.75 * qualityMean, 6);
    const square = weight * (variances[0] + means[0] ** 2) + (1 - weight) * (variances[1] + means[1] ** 2);
    expect(square).toBeCloseTo(0.75 * qualitySquare, 6);
    expect(decoder.scoreLaw!.tailMass(1, 1, 0.8)).toBeCloseTo(0.75 * 0.75 * 0.5, 5);
  });
});
