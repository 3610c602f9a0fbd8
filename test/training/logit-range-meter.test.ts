// The ranges that a model file states for its class logits.
import { expect, it } from 'vitest';
import { createRandom } from '#core';
import { createLogitRangeMeter, toStoredRanges } from '../../training/logit-range-meter.ts';

/** Rows of three classes, one after the other, step 2. */
function fill(rows: readonly (readonly [classId: number, logits: readonly number[]])[], seed = 0) {
  const meter = createLogitRangeMeter(3, seed, 1);
  for (const [classId, logits] of rows) {
    const spread = Float32Array.from(logits.flatMap((logit) => [logit, 99]));
    meter.add(classId, { logits: spread, offset: 0, stride: 2, classes: 3 });
  }
  return meter.value();
}

it('are percentiles: of the logit of the class, and of the least logit of its rows', () => {
  // Logit of class 1 is 0 ... 100, the least logit of the row its negative.
  const rows = Array.from({ length: 101 }, (_, at) => [1, [3, at, -at]] as const);
  const ranges = fill([...rows].reverse());
  expect(ranges[1]).toEqual({ greatest: 99, least: -99, positives: 101 });
  expect(ranges[0]).toBeUndefined();
});

it('leave out what one odd anchor says, and classes with too few anchors', () => {
  const rows = Array.from({ length: 400 }, () => [0, [2, -1, 0]] as const);
  const odd = [0, [80, -70, 0]] as const;
  const few = Array.from({ length: 19 }, () => [2, [0, 0, 5]] as const);
  const ranges = fill([odd, ...rows, ...few]);
  expect(ranges[0]).toEqual({ greatest: 2, least: -1, positives: 401 });
  expect(ranges[2]).toBeUndefined();
  expect(fill([...few, few[0]!])[2]).toEqual({ greatest: 5, least: 0, positives: 20 });
});

it('are drawn from at random, and the same way again, where there are very many anchors', () => {
  const random = createRandom(3);
  const rows = Array.from({ length: 30_000 }, () => [0, [random.normal(), -9, -9]] as const);
  const ranges = fill(rows);
  expect(ranges[0]!.positives).toBe(30_000);
  expect(Math.abs(ranges[0]!.greatest - 2.326)).toBeLessThan(0.12);
  expect(fill(rows)).toEqual(ranges);
  expect(fill(rows, 1)).not.toEqual(ranges);
  // The last third is as likely to be kept as the first.
  const late = rows.map(([id, [, ...others]], at) => [id, [at < 20_000 ? 0 : 1, ...others]] as const);
  expect(fill(late)[0]!.greatest).toBe(1);
});

it('go into the file by name', () => {
  const range = { least: -1, greatest: 2, positives: 30 };
  const { statistic, classes } = toStoredRanges([undefined, range, undefined], ['car', 'bus', 'bike']);
  expect(classes).toEqual({ bus: range });
  expect(statistic).toMatch(/99th percentile/);
});
