import { describe, expect, it } from 'vitest';
import type { Box } from '#core';
import {
  boxOfMotionInto,
  correctMotion,
  type Motion,
  predictMotion,
  startMotion,
} from '../../../runtime/tracker/motion.ts';

const START: Box<'frame'> = { x1: 100, y1: 50, x2: 140, y2: 130 };

function boxOf(motion: Motion): Box<'frame'> {
  const corners = new Float64Array(4);
  boxOfMotionInto(corners, 0, motion);
  return { x1: corners[0]!, y1: corners[1]!, x2: corners[2]!, y2: corners[3]! };
}

function moved(box: Box<'frame'>, dx: number, dy: number): Box<'frame'> {
  return { x1: box.x1 + dx, y1: box.y1 + dy, x2: box.x2 + dx, y2: box.y2 + dy };
}

/** Covariance [4, 4] of an axis. */
function covariance(axis: Float64Array): number[][] {
  return [0, 1, 2, 3].map((row) => [...axis.subarray(4 + 4 * row, 8 + 4 * row)]);
}

describe('the motion of a box', () => {
  it('learns a constant velocity and goes on with it', () => {
    const motion = startMotion({ box: START });
    for (let frame = 1; frame <= 30; frame++) {
      predictMotion(motion, 1 / 25, false);
      correctMotion(motion, { box: moved(START, 2 * frame, frame) });
    }
    predictMotion(motion, 10 / 25, false);
    const box = boxOf(motion);
    expect(Math.abs(box.x1 - 180)).toBeLessThan(1.5);
    expect(Math.abs(box.y1 - 90)).toBeLessThan(1.5);
    expect(Math.abs(box.x2 - box.x1 - 40)).toBeLessThan(0.5);
  });

  it('does not depend on how time is cut into steps', () => {
    const seen = () => {
      const motion = startMotion({ box: START });
      predictMotion(motion, 0.04, false);
      correctMotion(motion, { box: moved(START, 3, 1) });
      return motion;
    };
    const [once, often] = [seen(), seen()];
    predictMotion(once, 0.5, true);
    // The noise follows the side, which stays here.
    for (let step = 0; step < 50; step++) predictMotion(often, 0.01, true);
    expect(boxOf(often).x1).toBeCloseTo(boxOf(once).x1, 9);
    for (const [row, values] of covariance(once.x).entries()) {
      for (const [column, value] of values.entries()) {
        expect(covariance(often.x)[row]![column]).toBeCloseTo(value, 6);
      }
    }
  });

  it('is the textbook filter: sequential readings equal the joint update of a Kalman filter', () => {
    // One axis, centre and side both measured at rest: prior variance p = (2/20 40)^2 = 16, noise r = (40/20)^2 = 4;
    // gain p / (p + r) = 0.8, variance left p r / (p + r) = 3.2.
    const motion = startMotion({ box: START });
    correctMotion(motion, { box: { x1: 106, y1: 50, x2: 154, y2: 130 } });
    expect(motion.x[0]).toBeCloseTo(120 + 0.8 * 10, 9);
    expect(motion.x[1]).toBeCloseTo(40 + 0.8 * 8, 9);
    expect(covariance(motion.x)[0]![0]).toBeCloseTo(3.2, 9);
    expect(covariance(motion.x)[1]![1]).toBeCloseTo(3.2, 9);
    expect(covariance(motion.x)[0]![1]).toBeCloseTo(0, 9);
  });

  it('weighs each edge by its own variance, as the joint update with correlated centre and side does', () => {
    // Edges (a, b) of variance (1, 9) measure centre c and side s: a = c - s/2, b = c + s/2. Prior variances 16, 16,
    // so of the edges: variance 20, covariance 12. Residual (6, 14); S = [[21, 12], [12, 29]], det 465.
    // S^-1 (6, 14) = ((29 6 - 12 14) / 465, (21 14 - 12 6) / 465) = (6 / 465, 222 / 465).
    // c += 16 (6 + 222) / 465, s += 16 (222 - 6) / 2 / 465.
    const motion = startMotion({ box: START });
    correctMotion(motion, {
      box: { x1: 106, y1: 50, x2: 154, y2: 130 },
      boxVariance: { x1: 1, y1: 1, x2: 9, y2: 1 },
    });
    expect(motion.x[0]).toBeCloseTo(120 + (16 * 228) / 465, 9);
    expect(motion.x[1]).toBeCloseTo(40 + (8 * 216) / 465, 9);
    for (let row = 0; row < 4; row++) {
      for (let column = 0; column < row; column++) {
        expect(covariance(motion.x)[row]![column]).toBeCloseTo(covariance(motion.x)[column]![row]!, 9);
      }
    }
  });

  it('lets a sure edge stand where the other one is hidden', () => {
    const shrunk = { ...START, x2: 120 }; // the right half is behind something
    const [plain, told] = [startMotion({ box: START }), startMotion({ box: START })];
    correctMotion(plain, { box: shrunk });
    correctMotion(told, { box: shrunk, boxVariance: { x1: 1, y1: 1, x2: 400, y2: 1 } });
    expect(boxOf(plain).x2).toBeLessThan(128);
    expect(boxOf(told).x2).toBeGreaterThan(137);
    expect(Math.abs(boxOf(told).x1 - 100)).toBeLessThan(1);
  });

  it('keeps variances positive and values finite for boxes without an area and edges without noise', () => {
    const point = { x1: 5, y1: 5, x2: 5, y2: 5 };
    const motion = startMotion({ box: point });
    for (let frame = 0; frame < 500; frame++) {
      predictMotion(motion, frame % 7 === 0 ? 0 : 0.04, frame % 2 === 0);
      correctMotion(motion, { box: point, boxVariance: { x1: 0, y1: 0, x2: 0, y2: 0 } });
      for (const axis of [motion.x, motion.y]) {
        expect(axis.every(Number.isFinite)).toBe(true);
        expect(Math.min(...[0, 1, 2, 3].map((place) => covariance(axis)[place]![place]!))).toBeGreaterThan(0);
      }
    }
  });
});
