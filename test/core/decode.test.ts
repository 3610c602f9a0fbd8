// Every head kind, on outputs small enough to be written out, with the box and score worked out by hand.
import { describe, expect, it } from 'vitest';
import type {
  Candidates,
  DecoderOptions,
  HeadLayout,
  HeadOutputs,
  HeadTensor,
  ScoreFloor,
  YoloV8Layout,
} from '#core';
import { createDecoder, levelsFor, ModelError } from '#core';
import { goldenCase } from '../support/golden.ts';

const OPTIONS: DecoderOptions = { input: { width: 64, height: 32 }, boxVariance: true };
const LEVELS = levelsFor(OPTIONS.input, [16]); // 4 columns, 2 rows
const FLOOR: ScoreFloor = { default: 0.25 };

function tensor(shape: readonly number[], fill = 0): HeadTensor & { data: Float32Array } {
  return { shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(fill) };
}

function outputsOf(entries: Record<string, HeadTensor>): HeadOutputs {
  return new Map(Object.entries(entries));
}

function rowsOf(candidates: Candidates) {
  return Array.from({ length: candidates.count }, (_, place) => ({
    anchor: candidates.anchors[place]!,
    classId: candidates.classIds[place]!,
    score: candidates.scores[place]!,
    box: [...candidates.boxes.subarray(4 * place, 4 * place + 4)],
  }));
}

function decodeOnce(layout: HeadLayout, outputs: HeadOutputs, floor = FLOOR) {
  const decoder = createDecoder(layout, OPTIONS);
  return { rows: rowsOf(decoder.decode(outputs, floor)), decoder };
}

function closeTo(values: readonly number[], expected: readonly number[], digits = 4): void {
  expect(values.length).toBe(expected.length);
  for (const [index, value] of values.entries()) expect(value).toBeCloseTo(expected[index]!, digits);
}

describe('yolov5', () => {
  const layout: HeadLayout = { kind: 'yolov5', output: 'o', anchorCount: 3, stride: 8, classCount: 2 };

  it('multiplies objectness and class, and skips what follows the classes', () => {
    const o = tensor([1, 3, 8]);
    o.data.set([10, 20, 4, 6, 0.9, 0.1, 0.8, 99], 8); // cx cy w h obj c0 c1 mask
    o.data.set([10, 20, 4, 6, 0.4, 0.5, 0.5, 99], 16); // .2: below
    o.data.set([10, 20, 4, 6, 0.3, 0.9, 0.1, 99], 0); // .27: just above
    const { rows } = decodeOnce(layout, outputsOf({ o }));
    expect(rows).toMatchObject([
      { anchor: 0, classId: 0 },
      { anchor: 1, classId: 1, box: [8, 17, 12, 23] },
    ]);
    expect(rows[1]!.score).toBeCloseTo(0.72, 6);
  });
});

describe('yolov8', () => {
  const layout: YoloV8Layout = {
    kind: 'yolov8',
    output: 'o',
    anchorCount: 8,
    channels: 7,
    classCount: 2,
    transposed: false,
  };
  const values = [10, 20, 4, 6, 0.3, 0.8, 99]; // cx cy w h c0 c1 mask

  function filled(transposed: boolean) {
    const o = tensor(transposed ? [1, 8, 7] : [1, 7, 8]);
    for (const [channel, value] of values.entries()) {
      o.data[transposed ? 5 * 7 + channel : channel * 8 + 5] = value;
    }
    return o;
  }

  it.each([false, true])('reads channels, transposed %s', (transposed) => {
    const { rows } = decodeOnce({ ...layout, transposed }, outputsOf({ o: filled(transposed) }));
    expect(rows).toEqual([{ anchor: 5, classId: 1, score: Math.fround(0.8), box: [8, 17, 12, 23] }]);
  });

  it.each([false, true])('gives a tie to the lower class, transposed %s', (transposed) => {
    const o = filled(transposed);
    o.data[transposed ? 5 * 7 + 4 : 4 * 8 + 5] = 0.8;
    expect(decodeOnce({ ...layout, transposed }, outputsOf({ o })).rows[0]!.classId).toBe(0);
  });

  it('reads the one-class form', () => {
    const o = tensor([1, 5, 8]);
    for (const [channel, value] of [10, 20, 4, 6, 0.5].entries()) o.data[channel * 8 + 2] = value;
    const { rows } = decodeOnce({ ...layout, channels: 5, classCount: 1 }, outputsOf({ o }));
    expect(rows).toEqual([{ anchor: 2, classId: 0, score: 0.5, box: [8, 17, 12, 23] }]);
  });

  it('drops a score that equals the floor', () => {
    const o = filled(false);
    o.data[5 * 8 + 5] = 0.25;
    o.data[4 * 8 + 5] = 0;
    expect(decodeOnce(layout, outputsOf({ o })).rows).toEqual([]);
  });

  it('has floors per class and a choice of classes, judged on the best class', () => {
    const o = filled(false);
    const perClass = (c0: number, c1: number) => ({ default: 0, perClass: Float32Array.from([c0, c1]) });
    expect(decodeOnce(layout, outputsOf({ o }), perClass(0.1, 0.9)).rows).toEqual([]);
    expect(decodeOnce(layout, outputsOf({ o }), perClass(0.9, 0.1)).rows).toHaveLength(1);
    const only = (c0: number, c1: number) => ({ default: 0.1, classes: Uint8Array.from([c0, c1]) });
    expect(decodeOnce(layout, outputsOf({ o }), only(1, 0)).rows).toEqual([]);
    expect(decodeOnce(layout, outputsOf({ o }), only(0, 1)).rows).toHaveLength(1);
  });

  it.each([false, true])('drops and counts NaN and Infinity, transposed %s', (transposed) => {
    const at = (channel: number, anchor: number) =>
      transposed ? anchor * 7 + channel : channel * 8 + anchor;
    const o = filled(transposed);
    o.data[at(4, 0)] = Number.NaN;
    o.data[at(5, 0)] = 0.9; // a NaN beside a good class: not to be trusted
    o.data[at(5, 1)] = Number.POSITIVE_INFINITY;
    for (const [channel, value] of values.entries()) o.data[at(channel, 3)] = value;
    o.data[at(2, 3)] = Number.NaN; // a box without a width
    const { rows, decoder } = decodeOnce({ ...layout, transposed }, outputsOf({ o }));
    expect(rows.map(({ anchor }) => anchor)).toEqual([5]);
    expect(decoder.nonFinite).toBe(3);
    decoder.decode(outputsOf({ o: filled(transposed) }), FLOOR);
    expect(decoder.nonFinite).toBe(0);
  });

  const golden = goldenCase('dfl_box.json', 'box_decode_with_variance_stride8');

  it.each(['bins-sides-anchors', 'sides-bins-anchors', 'anchors-sides-bins', 'sides-anchors-bins'] as const)(
    'reads box variances from a tap in order %s, logits and probabilities alike',
    (order) => {
      const bins = golden.bins as number;
      const steps = {
        'bins-sides-anchors': [32, 8, 1],
        'sides-bins-anchors': [8, bins * 8, 1],
        'anchors-sides-bins': [1, bins, 4 * bins],
        'sides-anchors-bins': [1, 8 * bins, bins],
      }[order] as [number, number, number];
      for (const form of ['logits', 'probabilities'] as const) {
        const tap = tensor([1, 4 * bins * 8]);
        for (const [side, logits] of golden.side_logits_ltrb.entries()) {
          const total = logits.reduce((sum: number, logit: number) => sum + Math.exp(logit), 0);
          for (const [bin, logit] of logits.entries()) {
            const value = form === 'logits' ? logit : Math.exp(logit) / total;
            tap.data[bin * steps[0] + side * steps[1] + 5 * steps[2]] = value;
          }
        }
        const levels = [{ stride: 8, columns: 4, rows: 2 }];
        const boxDistribution = { output: 't', bins, order, values: form, levels };
        const decoder = createDecoder({ ...layout, boxDistribution }, OPTIONS);
        expect(decoder.boxVariance).toBe(true);
        const { boxVariances } = decoder.decode(outputsOf({ o: filled(false), t: tap }), FLOOR);
        for (const [side, variance] of golden.expect.var_xyxy_px2.entries()) {
          expect(boxVariances![side]! / variance).toBeCloseTo(1, 5);
        }
      }
    },
  );

  it('does not read the tap where nobody asked, and says that it has none without one', () => {
    const boxDistribution = {
      output: 't',
      bins: 16,
      order: 'bins-sides-anchors',
      values: 'logits',
      levels: LEVELS,
    } as const;
    const quiet = createDecoder({ ...layout, boxDistribution }, { ...OPTIONS, boxVariance: false });
    expect(quiet.boxVariance).toBe(false);
    expect(quiet.decode(outputsOf({ o: filled(false) }), FLOOR).boxVariances).toBeUndefined();
    expect(createDecoder(layout, OPTIONS).boxVariance).toBe(false);
  });

  it('grows for a picture full of candidates and keeps the room', () => {
    const count = 5000;
    const many = tensor([1, 7, count], 0.9);
    const decoder = createDecoder({ ...layout, anchorCount: count }, OPTIONS);
    for (let anchor = 0; anchor < count; anchor++) many.data[anchor] = anchor; // cx
    const first = decoder.decode(outputsOf({ o: many }), FLOOR);
    expect(first.count).toBe(count);
    for (const place of [0, 1023, 1024, 4999]) {
      expect(first.boxes[4 * place]).toBeCloseTo(place - 0.45, 2);
      expect(first.anchors[place]).toBe(place);
      expect([first.scores[place], first.classIds[place]]).toEqual([Math.fround(0.9), 0]);
    }
    const { boxes } = first;
    expect(decoder.decode(outputsOf({ o: tensor([1, 7, count]) }), FLOOR).count).toBe(0);
    expect(decoder.decode(outputsOf({ o: many }), FLOOR).boxes).toBe(boxes);
  });

  it('names what does not fit', () => {
    const wrong = () => decodeOnce(layout, outputsOf({ o: tensor([1, 7, 9]) }));
    expect(wrong).toThrow(ModelError);
    expect(wrong).toThrow("output 'o' has shape [1, 7, 9], expected [1, 7, 8]");
    expect(() => decodeOnce(layout, outputsOf({ p: tensor([1]) }))).toThrow("no output 'o', only 'p'");
    const bytes = { shape: [1, 7, 8], data: new Uint8Array(56) };
    expect(() => decodeOnce(layout, outputsOf({ o: bytes }))).toThrow('not float32, found Uint8Array');
  });
});

describe('end-to-end', () => {
  const layout: HeadLayout = {
    kind: 'end-to-end',
    output: 'o',
    rowCount: 3,
    stride: 6,
    suppressed: true,
    classCount: 80,
  };

  it('takes rows as they are', () => {
    const o = tensor([1, 3, 6]);
    o.data.set([1, 2, 30, 20, 0.9, 17]);
    o.data.set([0, 0, 0, 0, 0.1, -1], 6); // padding below the floor may name any class
    const { rows, decoder } = decodeOnce(layout, outputsOf({ o }));
    expect(rows).toEqual([{ anchor: 0, classId: 17, score: Math.fround(0.9), box: [1, 2, 30, 20] }]);
    expect(decoder.suppressed).toBe(true);
  });

  it('refuses a class that the model does not have', () => {
    const o = tensor([1, 3, 6]);
    o.data.set([1, 2, 30, 20, 0.9, 80]);
    expect(() => decodeOnce(layout, outputsOf({ o }))).toThrow(
      'names class 80, but the model has 80 classes',
    );
  });
});

describe('nms-outputs', () => {
  const layout: HeadLayout = {
    kind: 'nms-outputs',
    count: 'n',
    boxes: 'b',
    scores: 's',
    classes: 'c',
    classCount: 3,
  };
  const b = tensor([1, 2, 4]);
  b.data.set([1, 2, 3, 4, 5, 6, 7, 8]);
  const s = tensor([1, 2], 0.9);
  const c = { shape: [1, 2], data: Int32Array.from([2, 1]) };

  it('reads as many rows as were found, also where the count is an int64', () => {
    const n = { shape: [1, 1], data: BigInt64Array.from([1n]) };
    const { rows } = decodeOnce(layout, outputsOf({ n, b, s, c }));
    expect(rows).toEqual([{ anchor: 0, classId: 2, score: Math.fround(0.9), box: [1, 2, 3, 4] }]);
  });

  it('refuses a count beyond its rows', () => {
    const n = { shape: [1, 1], data: Int32Array.from([3]) };
    expect(() => decodeOnce(layout, outputsOf({ n, b, s, c }))).toThrow('says 3 detections, expected 0 to 2');
  });
});

describe('yolox', () => {
  it('adds the cell, takes exp of the size, times the stride', () => {
    const layout: HeadLayout = { kind: 'yolox', output: 'o', levels: LEVELS, classCount: 2 };
    const o = tensor([1, 8, 7]);
    o.data.set([0.5, 0.25, Math.log(2), Math.log(1), 0.8, 0.9, 0.1], 6 * 7); // cell 6: column 2, row 1
    o.data.set([0, 0, 0, 0, 0.27, 0.1, 0.99], 7 * 7); // .267: just above
    const { rows } = decodeOnce(layout, outputsOf({ o }));
    expect(rows).toMatchObject([
      { anchor: 6, classId: 0 },
      { anchor: 7, classId: 1 },
    ]);
    expect(rows[0]!.score).toBeCloseTo(0.72, 6);
    closeTo(rows[0]!.box, [40 - 16, 20 - 8, 40 + 16, 20 + 8]);
  });
});

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
