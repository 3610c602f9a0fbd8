// Heads of one output, on numbers small enough to be written out, with box and score worked out by hand.
import { describe, expect, it } from 'vitest';
import type { HeadLayout, YoloV8Layout } from '#core';
import { createDecoder, ModelError } from '#core';
import { goldenCase } from '../support/golden.ts';
import { closeTo, decodeOnce, FLOOR, LEVELS, OPTIONS, outputsOf, tensor } from '../support/head-outputs.ts';

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
