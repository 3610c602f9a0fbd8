// What cross-fitting says of a calibrator, on tables whose answer is known.
import { describe, expect, it } from 'vitest';
import { studyCalibration } from '../../../src/evaluate/calibrate/calibration-study.ts';
import { pictureFolds } from '../../../src/evaluate/calibrate/picture-folds.ts';
import { overConfident } from '../../support/over-confident.ts';

const PICTURES = 240;
const paths = Array.from({ length: PICTURES }, (_, index) => `cam${index % 6}-${index}.jpg`);
const tables = { ...overConfident(PICTURES, 7), classNames: ['thing'] };

describe('a detector whose scores are too high', () => {
  it.each([
    ['quality', 'laEce0'],
    ['correct', 'dEce'],
  ] as const)('target %s: its own error on cameras not fitted on is less than half', (target, own) => {
    const { study } = studyCalibration(tables, pictureFolds(paths), { target });
    const { raw, calibrated, sameBoxes, intervals } = study.crossFit;
    const errorOf = (side: typeof raw) =>
      own === 'dEce' ? (side.dEce.measured?.error ?? 1) : (side.quality.laEce.mean ?? 1);
    expect(errorOf(raw)).toBeGreaterThan(0.1);
    expect(errorOf(calibrated)).toBeLessThan(errorOf(raw) / 2);
    expect(sameBoxes.calibrated.nll).toBeLessThan(sameBoxes.raw.nll ?? 0);
    expect(Math.abs(sameBoxes.calibrated.signed ?? 1)).toBeLessThan(0.02);
    const { change } = intervals[own];
    expect(change.kind === 'estimate' && [change.value, change.high < 0, change.groups]).toEqual([
      expect.closeTo(errorOf(calibrated) - errorOf(raw), 12),
      true,
      6,
    ]);
  });

  it.each(['beta', 'platt', 'isotonic'] as const)('%s keeps the AP of the class', (method) => {
    const { study } = studyCalibration(tables, pictureFolds(paths), { method });
    expect(study.averagePrecision.largestChange).toBeLessThan(1e-9);
    const [thing] = study.classes;
    expect(thing?.ap50.raw).toBeGreaterThan(0.2);
    expect(thing?.ap50.calibrated).toBeCloseTo(thing?.ap50.raw ?? 0, 9);
    expect(thing?.becomes[1]).toBeLessThan(0.4);
  });
});

it('judges a camera by what the others say', () => {
  // Five cameras are always right, one always wrong: a map that had seen the last one would know.
  const count = 120;
  const isWrong = (picture: number) => picture % 6 === 5;
  const box = (picture: number) => (isWrong(picture) ? [500, 500, 540, 540] : [0, 0, 40, 40]);
  const starts = Int32Array.from({ length: count + 1 }, (_, picture) => picture);
  const places = [...Array(count).keys()];
  const { study } = studyCalibration(
    {
      classNames: ['thing'],
      truth: {
        starts,
        boxes: Float64Array.from(places.flatMap(() => [0, 0, 40, 40])),
        classIds: new Int32Array(count),
        areas: new Float64Array(count).fill(1600),
        kinds: new Uint8Array(count),
      },
      detections: {
        starts,
        boxes: Float64Array.from(places.flatMap(box)),
        classIds: new Int32Array(count),
        scores: Float64Array.from(places, (picture) => 0.5 + 0.001 * (picture % 100)),
      },
    },
    pictureFolds(paths.slice(0, count)),
    { target: 'correct' },
  );
  // Five folds hold one wrong camera of five, and the wrong camera meets maps of five right ones: kept raw.
  expect(study.crossFit.sameBoxes.calibrated.error).toBeGreaterThan(0.1);
  expect(study.classes[0]?.map).not.toBeNull();
});

it('says why a class keeps its scores, and what it leaves out of the error of mapped classes', () => {
  const { truth, detections } = tables;
  const classIds = detections.classIds.map((_, row) => (row < 8 ? 1 : 0));
  const truthIds = truth.classIds.map((_, row) => (row < 4 ? 1 : 0));
  const { study, calibrator } = studyCalibration(
    {
      truth: { ...truth, classIds: truthIds },
      detections: { ...detections, classIds },
      classNames: ['thing', 'rare', 'absent'],
    },
    pictureFolds(paths),
  );
  expect(study.classes.map(({ className }) => className)).toEqual(['thing', 'rare']);
  expect(study.classes[1]?.whyKept).toMatch(/^8 detections, a map needs 20$/);
  expect(study.classes[1]?.laEce0.calibrated).toBe(study.classes[1]?.laEce0.raw);
  expect(calibrator.classes[2]?.map).toBeNull();
  const { calibrated } = study.crossFit;
  expect(calibrated.laEce0OfMapped).toBe(study.classes[0]?.laEce0.calibrated);
  expect(calibrated.quality.laEce.mean).toBeGreaterThan(calibrated.laEce0OfMapped ?? 1);
});
