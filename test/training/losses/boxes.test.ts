// CIoU and the codecs of boxes: values, gradients, variances.
import { describe, expect, it } from 'vitest';
import type { BoxCode } from '#onnx';
import { createBoxCodec } from '../../../training/losses/box-codec.ts';
import { createCiou } from '../../../training/losses/ciou.ts';
import { golden, goldenCase } from '../../support/golden.ts';
import { differences, near, relativeError } from './differences.ts';

const ciou = createCiou();
const pairs = [...golden('tal_ciou.json').values()].filter(({ id }) => id.startsWith('ciou'));

describe('CIoU', () => {
  it.each(pairs.map((entry) => [entry.id, entry]))('%s', (_, entry) => {
    const expected = entry['expect_eps_1e-7_yolov8_layout'];
    const found = ciou.value(Float64Array.from(entry.a), 0, Float64Array.from(entry.b), 0);
    expect(near(found.iou, expected.iou)).toBe(true);
    expect(near(found.ciou, expected.ciou)).toBe(true);
    expect(near(found.alpha, expected.alpha)).toBe(true);
    if (entry.id === 'ciou_0') expect(near(found.ciou, entry.expect_eps_0.ciou)).toBe(false);
  });

  const boxes: [string, number[], number[]][] = [
    ['overlapping', [0, 0, 10, 20], [2, 3, 14, 18]],
    ['inside', [3, 3, 6, 9], [0, 0, 12, 11]],
    ['around', [-1, -2, 30, 31], [4, 5, 9, 20]],
    ['apart', [0, 0, 10, 10], [30, 35, 42, 50]],
    ['apart on one axis', [0, 0, 10, 10], [30, 2, 42, 7]],
    ['turned inside out', [10, 3, 4, 9], [0, 0, 12, 11]],
    ['tall', [5, 5, 25, 15], [0, 0, 10, 40]],
  ];
  it.each(boxes)('gradient, %s', (_, a, b) => {
    const predicted = Float64Array.from(a);
    const target = Float64Array.from(b);
    const gradient = new Float64Array(4);
    const { alpha } = ciou.valueAndGradient(predicted, 0, target, 0, gradient);
    const slopes = differences(() => ciou.value(predicted, 0, target, 0, alpha).ciou, predicted);
    expect(relativeError(gradient, slopes)).toBeLessThan(1e-7);
  });

  it('alpha is detached: with a live one the difference quotient is another', () => {
    const predicted = Float64Array.of(5, 5, 25, 15);
    const target = Float64Array.of(0, 0, 10, 40);
    const gradient = new Float64Array(4);
    ciou.valueAndGradient(predicted, 0, target, 0, gradient);
    const live = differences(() => ciou.value(predicted, 0, target, 0).ciou, predicted);
    expect(relativeError(gradient, live)).toBeGreaterThan(0.01);
  });

  it('is finite for boxes without area', () => {
    const gradient = new Float64Array(4);
    for (const [a, b] of [
      [
        [5, 5, 5, 5],
        [5, 5, 5, 5],
      ],
      [
        [0, 0, 0, 0],
        [0, 0, 8, 8],
      ],
      [
        [9, 9, 1, 1],
        [2, 2, 2, 6],
      ],
    ]) {
      const found = ciou.valueAndGradient(Float64Array.from(a!), 0, Float64Array.from(b!), 0, gradient);
      expect(Number.isFinite(found.ciou)).toBe(true);
      expect(gradient.every(Number.isFinite)).toBe(true);
    }
  });
});

describe('codecs', () => {
  const codes: BoxCode[] = [
    { kind: 'dfl', bins: 5 },
    { kind: 'distance' },
    { kind: 'yolox' },
    {
      kind: 'anchors',
      sizes: [
        [],
        [
          [10, 13],
          [16, 30],
          [33, 23],
        ],
      ],
    },
  ];
  it.each(codes.map((code) => [code.kind, code] as const))(
    '%s: d corners goes back to the channels',
    (_, code) => {
      const codec = createBoxCodec(code);
      const stride = 3;
      const raw = Float64Array.from({ length: 2 + codec.channels * stride }, (_unused, index) =>
        Math.sin(3 * index),
      );
      const place = { raw, offset: 2, stride, column: 4, row: 7, cellPx: 16, level: 1, location: 2 };
      const dCorners = Float64Array.of(0.3, -1.1, 0.7, 0.4);
      const corners = new Float64Array(4);
      const value = () => {
        codec.decodeInto(place, corners, 0);
        return corners.reduce((sum, corner, side) => sum + corner * dCorners[side]!, 0);
      };
      const gradient = new Float64Array(raw.length);
      codec.backwardInto(place, dCorners, 2, gradient);
      const wanted = differences(value, raw).map((slope) => 2 * slope);
      expect(relativeError(gradient, wanted)).toBeLessThan(1e-8);
      const before = gradient.slice();
      codec.backwardInto(place, dCorners, 2, gradient);
      expect(
        relativeError(
          gradient,
          before.map((slope) => 2 * slope),
        ),
      ).toBeLessThan(1e-12);
    },
  );

  it.each([8, 32])('side laws at stride %i, with the variance of every side', (stride) => {
    const entry = goldenCase('dfl_box.json', `box_decode_with_variance_stride${stride}`);
    const codec = createBoxCodec({ kind: 'dfl', bins: entry.bins });
    const [x, y] = entry.anchor_point_cells;
    const raw = Float64Array.from(entry.side_logits_ltrb.flat() as number[]);
    const corners = new Float64Array(4);
    const variances = new Float64Array(4);
    const place = {
      raw,
      offset: 0,
      stride: 1,
      column: x - 0.5,
      row: y - 0.5,
      cellPx: stride,
      level: 0,
      location: 0,
    };
    codec.decodeInto(place, corners, 0, variances);
    for (const side of [0, 1, 2, 3]) {
      expect(near(corners[side]!, entry.expect.xyxy_px[side])).toBe(true);
      expect(near(variances[side]!, entry.expect.var_xyxy_px2[side])).toBe(true);
    }
  });

  it('decodes the others as their hosts do', () => {
    const corners = new Float64Array(4);
    const place = { offset: 0, stride: 1, column: 2, row: 1, cellPx: 8, level: 0, location: 0 };
    createBoxCodec({ kind: 'yolox' }).decodeInto(
      { ...place, raw: Float64Array.of(0.5, 0.25, Math.log(2), 0) },
      corners,
      0,
    );
    expect(Array.from(corners)).toEqual([12, 6, 28, 14].map((corner) => expect.closeTo(corner, 10)));
    createBoxCodec({ kind: 'distance' }).decodeInto(
      { ...place, raw: Float64Array.of(1, 0.5, 2, 3) },
      corners,
      0,
    );
    expect(Array.from(corners)).toEqual([12, 8, 36, 36]);
    const anchors = createBoxCodec({ kind: 'anchors', sizes: [[[10, 20]]] });
    anchors.decodeInto({ ...place, raw: Float64Array.of(0, 0, 0, 0) }, corners, 0);
    expect(Array.from(corners)).toEqual([15, 2, 25, 22].map((corner) => expect.closeTo(corner, 10)));
  });

  it('have a variance only where there is a distribution', () => {
    const place = {
      raw: new Float64Array(4),
      offset: 0,
      stride: 1,
      column: 0,
      row: 0,
      cellPx: 8,
      level: 0,
      location: 0,
    };
    const codec = createBoxCodec({ kind: 'yolox' });
    expect(() => codec.decodeInto(place, new Float64Array(4), 0, new Float64Array(4))).toThrow(
      /no distribution/,
    );
  });
});
