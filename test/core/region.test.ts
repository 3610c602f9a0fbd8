// Zones and lines: which side a point lies on, and which way a step goes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crossesItself, crossing, isInside, type Point, regionArea } from '#core';

const square = Float64Array.of(0.2, 0.2, 0.8, 0.2, 0.8, 0.8, 0.2, 0.8);
const horseshoe = Float64Array.of(0, 0, 1, 0, 1, 1, 0.7, 1, 0.7, 0.3, 0.3, 0.3, 0.3, 1, 0, 1);

describe('a region', () => {
  it('knows what lies inside, in its bay and outside', () => {
    expect(isInside(square, [0.5, 0.5])).toBe(true);
    expect(isInside(square, [0.1, 0.5])).toBe(false);
    expect(isInside(horseshoe, [0.5, 0.7])).toBe(false);
    expect(isInside(horseshoe, [0.5, 0.2])).toBe(true);
    expect(isInside(horseshoe, [0.85, 0.7])).toBe(true);
  });

  it('gives every point of two neighbours to exactly one of them', () => {
    const left = Float64Array.of(0, 0, 0.5, 0, 0.5, 1, 0, 1);
    const right = Float64Array.of(0.5, 0, 1, 0, 1, 1, 0.5, 1);
    const inside = fc.integer({ min: 1, max: 63 }).map((step) => step / 64);
    fc.assert(fc.property(inside, inside, (x, y) => isInside(left, [x, y]) !== isInside(right, [x, y])));
  });

  it('does not mind which way round its corners go', () => {
    const corners = Array.from({ length: 4 }, (_, at) => [square[2 * at] ?? 0, square[2 * at + 1] ?? 0]);
    const turned = Float64Array.from(corners.reverse().flat());
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(fc.property(share, share, (x, y) => isInside(square, [x, y]) === isInside(turned, [x, y])));
    expect(regionArea(square)).toBeCloseTo(0.36, 12);
    expect(regionArea(turned)).toBeCloseTo(-0.36, 12);
  });

  it('tells a bow tie from a zone', () => {
    expect(crossesItself(square)).toBe(false);
    expect(crossesItself(horseshoe)).toBe(false);
    expect(crossesItself(Float64Array.of(0, 0, 1, 1, 1, 0, 0, 1))).toBe(true);
  });
});

describe('a step over a line', () => {
  const up: Point = [0.5, 0.9];
  const to: Point = [0.5, 0.1];

  it('has a direction: from left to right along the line is 1', () => {
    expect(crossing(up, to, [0.4, 0.5], [0.6, 0.5])).toBe(1);
    expect(crossing(up, to, [0.6, 0.5], [0.4, 0.5])).toBe(-1);
    expect(crossing(to, up, [0.4, 0.5], [0.6, 0.5])).toBe(-1);
  });

  it('is none beside the line, along it, or short of it', () => {
    expect(crossing(up, to, [0.4, 0.95], [0.6, 0.95])).toBe(0);
    expect(crossing(up, to, [0.4, 0.5], [0.45, 0.5])).toBe(0);
    expect(crossing(up, to, [0.5, 0.3], [0.5, 0.6])).toBe(0);
  });

  it('that stops on the line and goes on counts once', () => {
    const steps = [crossing(up, to, [0.4, 0.5], [0.5, 0.5]), crossing(up, to, [0.5, 0.5], [0.6, 0.5])];
    expect(steps).toEqual([1, 0]);
  });

  it('turned round in time goes the other way', () => {
    const coordinate = fc.integer({ min: 0, max: 40 }).map((step) => step / 40 + 1 / 97);
    fc.assert(
      fc.property(coordinate, coordinate, coordinate, coordinate, (x1, y1, x2, y2) => {
        const there = crossing(up, to, [x1, y1], [x2, y2]);
        expect(crossing(up, to, [x2, y2], [x1, y1])).toBe(there === 0 ? 0 : -there);
      }),
    );
  });
});
