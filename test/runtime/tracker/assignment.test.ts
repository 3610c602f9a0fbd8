import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '#core';
import { type CostTable, createAssigner } from '../../../runtime/tracker/assignment.ts';

const LIMIT = 0.8;

function table(rows: number, columns: number, cost: () => number): CostTable {
  return { rows, columns, values: Float64Array.from({ length: rows * columns }, cost) };
}

/** Sum of cost - limit over the pairs; fails where a column is given twice or a pair is above the limit. */
function valueOfPairs({ rows, columns, values }: CostTable, columnOfRow: Int32Array): number {
  const taken = new Set<number>();
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    const column = columnOfRow[row]!;
    if (column < 0) continue;
    expect(column).toBeLessThan(columns);
    expect(taken.has(column)).toBe(false);
    taken.add(column);
    expect(values[row * columns + column]).toBeLessThan(LIMIT);
    sum += values[row * columns + column]! - LIMIT;
  }
  return sum;
}

/** Tries every pairing. */
function leastValue({ rows, columns, values }: CostTable, row = 0, taken = 0): number {
  if (row === rows) return 0;
  let least = leastValue({ rows, columns, values }, row + 1, taken);
  for (let column = 0; column < columns; column++) {
    if ((taken >> column) & 1) continue;
    const gain = values[row * columns + column]! - LIMIT;
    least = Math.min(least, gain + leastValue({ rows, columns, values }, row + 1, taken | (1 << column)));
  }
  return least;
}

/** As the costs of tracks are: most pairs do not touch, and some are alike. */
function trackCost(random: Random): number {
  if (random.next() < 0.5) return 1;
  return random.next() < 0.3 ? random.integer(4) / 4 : random.next();
}

describe('pairing at least cost', () => {
  it('is never worse than the best of all pairings, whatever the shape', () => {
    const random = createRandom(11);
    const assigner = createAssigner(); // one for all: what it kept of a table must not reach the next
    for (let round = 0; round < 600; round++) {
      const costs = table(random.integer(6), random.integer(7), () =>
        round % 3 === 0 ? random.between(-1, 2) : trackCost(random),
      );
      expect(valueOfPairs(costs, assigner.solve(costs, LIMIT))).toBeCloseTo(leastValue(costs), 9);
    }
  });

  it('does not mind which side is larger', () => {
    const random = createRandom(12);
    for (let round = 0; round < 20; round++) {
      const costs = table(30, 70, () => trackCost(random));
      const turned = table(70, 30, () => 0);
      for (let row = 0; row < 30; row++) {
        for (let column = 0; column < 70; column++) {
          turned.values[column * 30 + row] = costs.values[row * 70 + column]!;
        }
      }
      const value = valueOfPairs(costs, createAssigner().solve(costs, LIMIT));
      expect(valueOfPairs(turned, createAssigner().solve(turned, LIMIT))).toBeCloseTo(value, 9);
    }
  });

  it('takes the pairing of least sum, not the cheapest pair first', () => {
    const costs = { rows: 2, columns: 2, values: Float64Array.of(0.1, 0.2, 0.15, 0.7) };
    expect([...createAssigner().solve(costs, LIMIT).subarray(0, 2)]).toEqual([1, 0]);
  });

  it('leaves a row alone rather than pairing it at the limit, or with what is no number', () => {
    const costs = { rows: 3, columns: 1, values: Float64Array.of(LIMIT, Number.NaN, 1) };
    expect([...createAssigner().solve(costs, LIMIT).subarray(0, 3)]).toEqual([-1, -1, -1]);
  });
});
