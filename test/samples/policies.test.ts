// The study of policies in its parts: what counts as equally many boxes, what is found with them, what it is told.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUSION_SUPPRESSION, HARD_SUPPRESSION } from '#core';
import type { Predictions } from '#evaluate';
import { classMapText } from '../../samples/studies/common/class-map.ts';
import { suppressAll } from '../../samples/studies/policies/boxes.ts';
import {
  compareFound,
  found,
  highest,
  type Judged,
  placesBySlice,
  total,
} from '../../samples/studies/policies/measure.ts';
import { CHOICE_OPTIONS, loadSliced, readChoiceSetting } from '../../samples/studies/policies/setting.ts';
import { writeShapeSet } from '../support/training-sets.ts';

/** Two pictures with one object each; in the first a hit and a false alarm, in the second a hit with a lower score. */
const JUDGED: Judged = {
  truth: {
    starts: Int32Array.from([0, 1, 2]),
    boxes: Float64Array.from([0, 0, 10, 10, 0, 0, 10, 10]),
    classIds: Int32Array.from([0, 0]),
    areas: Float64Array.from([100, 100]),
    kinds: Uint8Array.from([0, 0]),
  },
  detections: {
    starts: Int32Array.from([0, 2, 3]),
    boxes: Float64Array.from([0, 0, 10, 10, 50, 50, 60, 60, 0, 0, 10, 10]),
    classIds: Int32Array.from([0, 0, 0]),
    scores: Float64Array.from([0.9, 0.5, 0.5]),
  },
  classCount: 1,
  classes: [0],
};

describe('equally many boxes', () => {
  it('are the highest scores of all pictures, ties by row', () => {
    const keeps = highest(JUDGED, 2);
    expect([0, 1, 2].map(keeps)).toEqual([true, true, false]);
  });

  it('are compared by what they find', () => {
    const byScore = found(JUDGED, highest(JUDGED, 2), 0.5);
    const better = found(JUDGED, (row) => row !== 1, 0.5);
    expect([total(byScore.hits), total(byScore.kept), total(byScore.objects)]).toEqual([1, 2, 2]);
    // An interval needs 5 groups; the same picture may stand in a slice more than once.
    const { recall, plainRecall, precision, plainPrecision, recallGain, precisionGain, boxes } = compareFound(
      better,
      byScore,
      [0, 0, 0, 1, 1, 1],
    );
    expect(recall).toMatchObject({ value: 1 });
    expect([plainRecall, precision, plainPrecision]).toMatchObject([
      { value: 0.5 },
      { value: 1 },
      { value: 0.5 },
    ]);
    expect(recallGain).toMatchObject({ value: 0.5 });
    expect(precisionGain).toMatchObject({ value: 0.5 });
    expect(boxes).toEqual([1, 1]);
    expect(compareFound(better, byScore, [0, 1]).recallGain).toMatchObject({ kind: 'none' });
  });
});

it('slices come after all pictures', () => {
  expect([...placesBySlice(['day', 'dusk', 'day'])]).toEqual([
    ['all', [0, 1, 2]],
    ['day', [0, 2]],
    ['dusk', [1]],
  ]);
  expect([...placesBySlice(['all', 'all'])]).toEqual([['all', [0, 1]]]);
});

it('suppression is tried on the same proposals again and again', () => {
  const box = (x2: number, score: number) => ({
    box: { x1: 0, y1: 0, x2, y2: 10 },
    classId: 0,
    className: 'car',
    score,
    rawScore: score,
  });
  const proposed = {
    classNames: ['car'],
    pictures: [{ size: { width: 20, height: 20 }, detections: [box(10, 0.75), box(9, 0.25)] }],
  } as unknown as Predictions;
  const left = (policy: typeof HARD_SUPPRESSION | typeof FUSION_SUPPRESSION) =>
    suppressAll(proposed, policy, 0.7).pictures[0]?.detections.map((one) => one.box.x2);
  expect(left(HARD_SUPPRESSION)).toEqual([10]);
  expect(left(FUSION_SUPPRESSION)).toEqual([9.75]);
  expect(left(HARD_SUPPRESSION)).toEqual([10]);
});

describe('the setting', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'policies-'));
  const folder = join(scratch, 'set');
  const data = join(folder, 'data.yaml');
  const frames = join(folder, 'frames.csv');
  beforeAll(() => writeShapeSet(folder, { train: 2 }));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const read = (more: Readonly<Record<string, string>>, kind: 'real' | 'given' | 'sample world' = 'given') =>
    readChoiceSetting(new Map(Object.entries({ ...CHOICE_OPTIONS, ...more })), { kind });

  it('maps classes and names mistakes', () => {
    expect(read({ map: 'car:car,truck:lorry' })).toMatchObject({
      classMap: { car: 'car', truck: 'lorry' },
      conf: 0.25,
      threads: 1,
    });
    expect(read({})).not.toHaveProperty('classMap');
    expect(classMapText(read({}, 'sample world').classMap)).toBe('of the same names');
    expect(classMapText(read({}, 'real').classMap)).toBe('car:car,truck:lorry_truck,motorcycle:bike,bus:bus');
    expect(() => read({ map: 'car' })).toThrow(/"car" is no pair of names/);
    expect(() => read({ conf: '2' })).toThrow(/conf=2: expected a number above 0, at most 1/);
    expect(() => read({ alpha: '' })).toThrow(/alpha=: expected a number above 0/);
  });

  it('takes slices from the table beside the set, for every picture', async () => {
    const { pictures, slices } = await loadSliced(data);
    expect(slices).toEqual(pictures.map(() => 'all'));
    const names = pictures.map(({ path }) => path.split('/').at(-1));
    const words = ['dawn', 'overcast'];
    const rows = names.map((name, place) => `images/train/${name},${words[place]}\n`);
    writeFileSync(frames, `file,period\n${rows.join('')}`);
    expect((await loadSliced(data)).slices).toEqual(['dawn', 'day']);
    expect((await loadSliced(folder)).slices).toEqual(['dawn', 'day']);
    writeFileSync(frames, `file,period\n${rows[0]}`);
    await expect(loadSliced(data)).rejects.toThrow(/nothing tells the light of/);
    rmSync(frames);
  });
});
