// Calibrators of detectors: what they put right, what they leave alone, and how a model carries them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Calibrator, DetectionTable, StoredCalibrator } from '#core';
import {
  CALIBRATION_KINDS,
  calibrateDetections,
  calibrationRows,
  calibrationSlope,
  crossCalibrate,
  crossFitRows,
  DataError,
  detectionEce,
  evaluateDetections,
  fitCalibrator,
  fitCalibratorToRows,
  foldsOfGroups,
  localisationEce,
  ModelError,
  matchDetections,
  parseStoredCalibrator,
  toCalibrator,
  toStoredCalibrator,
  whyOtherSuppression,
} from '#core';
import { overConfident } from '../support/over-confident.ts';

describe('calibrators of detectors', () => {
  const { truth, detections } = overConfident(400, 7);
  const classes = { classCount: 1 };

  it.each(CALIBRATION_KINDS.filter((kind) => kind !== 'temperature'))(
    '%s, target quality: LaECE0 sinks, AP stays',
    (kind) => {
      const calibrator = fitCalibrator(truth, detections, { ...classes, kind, target: 'quality' });
      const after = calibrateDetections(detections, calibrator);
      const [raw, fitted] = [detections, after].map(
        (table) => localisationEce(truth, table, classes).laEce.mean!,
      );
      expect(raw).toBeGreaterThan(0.1);
      expect(fitted).toBeLessThan(0.3 * raw!);
      const [apRaw, apFitted] = [detections, after].map(
        (table) => evaluateDetections(truth, table, classes).ap!,
      );
      expect(apFitted).toBeCloseTo(apRaw!, 12);
    },
  );

  it('target correct: D-ECE sinks', () => {
    const calibrator = fitCalibrator(truth, detections, { ...classes, kind: 'platt', target: 'correct' });
    const dece = (table: DetectionTable) =>
      detectionEce(truth, table, { ...classes, minScore: 0.01 }).measured!.error;
    expect(dece(calibrateDetections(detections, calibrator))).toBeLessThan(0.3 * dece(detections));
  });

  it('leaves a class alone that has too few detections, and says so', () => {
    const calibrator = fitCalibrator(truth, detections, {
      ...classes,
      kind: 'platt',
      target: 'quality',
      minSamples: 1e6,
    });
    const [only] = calibrator.classes;
    expect(only!.samples).toBeGreaterThan(400);
    expect(only).toMatchObject({ map: null, whyKept: expect.stringContaining('a map needs 1000000') });
    expect(calibrateDetections(detections, calibrator).scores).toEqual(detections.scores);
  });

  it('lets the variance follow the map, within E (1 − E)', () => {
    const calibrator = fitCalibrator(truth, detections, { ...classes, kind: 'platt', target: 'quality' });
    const scoreVariances = detections.scores.map((score) => 0.1 * score * (1 - score));
    const after = calibrateDetections({ ...detections, scoreVariances }, calibrator);
    const map = calibrator.classes[0]!.map!;
    expect(after.scoreVariances![5]).toBeCloseTo(
      calibrationSlope(map, detections.scores[5]!) ** 2 * scoreVariances[5]!,
      12,
    );
    const wild = { ...detections, scoreVariances: detections.scores.map(() => 0.25) };
    const bounded = calibrateDetections(wild, calibrator);
    for (const [row, variance] of bounded.scoreVariances!.entries()) {
      const score = bounded.scores[row]!;
      expect(variance).toBeLessThanOrEqual(score * (1 - score) + 1e-15);
    }
  });
});

describe('rows and reasons', () => {
  const { truth, detections } = overConfident(60, 3);

  it('a row has the IoU of its match for quality, and whether it is one for correct', () => {
    const quality = calibrationRows(truth, detections, { classCount: 1, target: 'quality', minScore: 0.3 });
    const correct = calibrationRows(truth, detections, { classCount: 1, target: 'correct', minScore: 0.3 });
    const matches = matchDetections(truth, detections, { classCount: 1, iou: 0.5, maxDets: 100 });
    const kept = [...detections.scores.keys()].filter((row) => detections.scores[row]! >= 0.3);
    expect(quality.scores).toEqual(Float64Array.from(kept, (row) => detections.scores[row]!));
    expect(correct.targets).toEqual(Float64Array.from(kept, (row) => Number(matches.objects[row]! >= 0)));
    expect(quality.pictures).toEqual(Int32Array.from(kept, (row) => row >> 1));
    expect(quality.targets.some((target) => target > 0.5 && target < 1)).toBe(true);
  });

  it('a loose box has its IoU as quality, and is not correct', () => {
    const set = {
      starts: Int32Array.of(0, 1),
      boxes: Float64Array.of(0, 0, 10, 10),
      classIds: Int32Array.of(0),
      areas: Float64Array.of(100),
      kinds: Uint8Array.of(0),
    };
    const loose = { ...set, boxes: Float64Array.of(0, 6, 10, 16), scores: Float64Array.of(0.7) };
    const targets = (target: 'quality' | 'correct') => [
      ...calibrationRows(set, loose, { classCount: 1, target }).targets,
    ];
    expect(targets('quality')).toEqual([40 / 160]);
    expect(targets('correct')).toEqual([0]);
  });

  it('says why a class keeps its scores', () => {
    const rows = {
      target: 'correct',
      classCount: 1,
      classIds: new Int32Array(30),
      pictures: new Int32Array(30),
    } as const;
    const scores = Float64Array.from({ length: 30 }, (_, row) => (row + 1) / 31);
    const why = (targets: Float64Array, kind: Calibrator['kind']) =>
      fitCalibratorToRows({ ...rows, scores, targets }, { kind }).classes[0];
    expect(why(new Float64Array(30), 'isotonic')).toEqual({
      map: null,
      samples: 30,
      whyKept: 'none of 30 detections found an object',
    });
    expect(why(new Float64Array(30).fill(1), 'platt')).toMatchObject({
      whyKept: 'all 30 detections are right',
    });
    expect(
      why(
        scores.map((score) => 1 - score),
        'temperature',
      ),
    ).toMatchObject({
      whyKept: expect.stringContaining('no temperature fits'),
    });
    const none = {
      target: 'correct',
      classCount: 1,
      scores: new Float64Array(),
      targets: new Float64Array(),
    } as const;
    const empty = { ...none, classIds: new Int32Array(), pictures: new Int32Array() };
    expect(fitCalibratorToRows(empty, { kind: 'platt', minSamples: 0 }).classes[0]).toMatchObject({
      map: null,
      whyKept: '0 detections, a map needs 1',
    });
  });
});

describe('cross-fitting', () => {
  const { truth, detections } = overConfident(300, 11);
  const groups = Array.from({ length: 300 }, (_, picture) => `camera ${picture % 3}`);

  it('keeps groups whole and folds even', () => {
    const names = ['a', 'a', 'a', 'b', 'c', 'c', 'd', 'b'];
    expect([...foldsOfGroups(names, 2)]).toEqual([0, 0, 0, 1, 1, 1, 0, 1]);
    expect([...foldsOfGroups(names)]).toEqual([0, 0, 0, 1, 2, 2, 3, 1]);
    expect(() => foldsOfGroups(['a', 'a'])).toThrow(DataError);
    expect(() => foldsOfGroups(['a', 'b'], 3)).toThrow('found 2 groups');
    expect(() => foldsOfGroups(['a', 'b'], 1)).toThrow(DataError);
  });

  it('no picture is calibrated by what it taught', () => {
    const folds = foldsOfGroups(groups);
    const options = { classCount: 1, kind: 'platt', target: 'quality' } as const;
    const crossed = crossCalibrate(truth, detections, { ...options, folds });
    // Other truth in the pictures of fold 0 changes the other calibrators, not the one that those pictures get.
    const moved = { ...truth, boxes: truth.boxes.slice() };
    for (const [picture, fold] of folds.entries()) {
      if (fold === 0)
        moved.boxes.fill(5000, 4 * picture, 4 * picture + 2).fill(5060, 4 * picture + 2, 4 * picture + 4);
    }
    const again = crossCalibrate(moved, detections, { ...options, folds });
    expect(again.calibrators[0]).toEqual(crossed.calibrators[0]);
    expect(again.calibrators[1]).not.toEqual(crossed.calibrators[1]);
    const ofFold = (table: DetectionTable, wanted: number) =>
      table.scores.filter((_, row) => folds[row >> 1] === wanted);
    expect(ofFold(again.detections, 0)).toEqual(ofFold(crossed.detections, 0));
    expect(ofFold(again.detections, 1)).not.toEqual(ofFold(crossed.detections, 1));
    const error = (table: DetectionTable) => localisationEce(truth, table, { classCount: 1 }).laEce.mean!;
    expect(error(crossed.detections)).toBeLessThan(0.5 * error(detections));
  });

  it('on rows it gives the same scores as on tables, and variances follow', () => {
    const folds = foldsOfGroups(groups);
    const options = { classCount: 1, kind: 'beta', target: 'correct', minScore: 0 } as const;
    const scoreVariances = detections.scores.map((score) => 0.2 * score * (1 - score));
    const crossed = crossCalibrate(truth, { ...detections, scoreVariances }, { ...options, folds });
    const rows = calibrationRows(truth, detections, options);
    expect(crossFitRows(rows, folds, options).scores).toEqual(crossed.detections.scores);
    const map = crossed.calibrators[folds[1]!]!.classes[0]!.map!;
    expect(crossed.detections.scoreVariances![2]).toBeCloseTo(
      calibrationSlope(map, detections.scores[2]!) ** 2 * scoreVariances[2]!,
      12,
    );
  });
});

const SUPPRESSION = { kind: 'uncertainty', lambda: 2, iou: 0.6, agnostic: false };
const NAMES = ['car', 'person'];

function stored(changes: object = {}): unknown {
  const calibrator: Calibrator = {
    kind: 'isotonic',
    target: 'correct',
    classes: [
      { map: { kind: 'isotonic', scores: [0.1, 0.5, 0.9], values: [0, 0.2, 0.2], tilt: 1e-6 }, samples: 40 },
      { map: null, samples: 3, whyKept: '3 detections, a map needs 20' },
    ],
  };
  const data = { description: 'two cameras, by day', pictures: 30, objects: 80, detections: 43 };
  const origin = { classNames: NAMES, minScore: 0.01, maxDets: 100, suppression: SUPPRESSION, data };
  return { ...JSON.parse(JSON.stringify(toStoredCalibrator(calibrator, origin))), ...changes };
}

describe('a stored calibrator', () => {
  it('comes back as it was, in the order of the classes of the model', () => {
    const { truth, detections } = overConfident(60, 5);
    const data = { description: 'drawn', pictures: 60, objects: 60, detections: 120 };
    for (const kind of CALIBRATION_KINDS) {
      const calibrator = fitCalibrator(truth, detections, { classCount: 1, kind, target: 'quality' });
      const origin = { classNames: ['car'], minScore: 0.01, maxDets: 100, suppression: SUPPRESSION, data };
      const written = toStoredCalibrator(calibrator, origin);
      const read = parseStoredCalibrator(JSON.parse(JSON.stringify(written)), 'model.onnx');
      expect(read).toEqual(JSON.parse(JSON.stringify(written)));
      expect(toCalibrator(read, ['car'], 'model.onnx')).toEqual(calibrator);
    }
    const read = parseStoredCalibrator(stored(), 'model.onnx');
    const { classes } = toCalibrator(read, ['bus', 'person', 'car'], 'model.onnx');
    expect(classes.map(({ samples }) => samples)).toEqual([0, 3, 40]);
    expect(classes[0]).toMatchObject({ map: null, whyKept: 'the calibrator does not name it' });
    expect(() => toCalibrator(read, ['car'], 'model.onnx')).toThrow(
      "class 'person', which the model does not have",
    );
  });

  const car = (map: object) => ({ classes: { car: { map, samples: 9 } } });
  it.each<[string, object, string]>([
    ['version', { version: 2 }, "'version' is 2, expected 1"],
    ['kind', { kind: 'cubic' }, "'kind' is \"cubic\", expected 'platt', 'temperature'"],
    ['target', { target: 'iou' }, "'target' is \"iou\", expected 'quality' or 'correct'"],
    ['a missing key', { data: undefined }, "key 'data' is missing"],
    ['a key too many', { extra: 1 }, "'extra' is not a key"],
    ['suppression', { suppression: { kind: 'hard', iou: 2, agnostic: false } }, "'suppression.iou' is 2"],
    [
      'counts',
      { data: { description: 'x', pictures: -1, objects: 1, detections: 1 } },
      "'data.pictures' is -1",
    ],
    ['another kind', car({ kind: 'platt', slope: 1, intercept: 0 }), "'classes.car.map.kind' is 'platt'"],
    [
      'falling levels',
      car({ kind: 'isotonic', scores: [0.1, 0.2], values: [0.5, 0.4] }),
      "'classes.car.map.values'",
    ],
    [
      'equal knots',
      car({ kind: 'isotonic', scores: [0.1, 0.1], values: [0.1, 0.4] }),
      'rising numbers from 0 to 1',
    ],
    ['odd lengths', car({ kind: 'isotonic', scores: [0.1, 0.2], values: [0.1] }), '2 scores and 1 values'],
    ['no knots', car({ kind: 'isotonic', scores: [], values: [] }), "'classes.car.map.scores'"],
    [
      'a map that turns',
      { kind: 'platt', ...car({ kind: 'platt', slope: -1, intercept: 0 }) },
      "'classes.car.map.slope' is -1, expected a number of 0 or more",
    ],
    [
      'temperature 0',
      { kind: 'temperature', ...car({ kind: 'temperature', temperature: 0 }) },
      "'classes.car.map.temperature' is 0, expected a number above 0",
    ],
    ['neither map nor reason', { classes: { car: { samples: 4 } } }, "key 'classes.car.whyKept' is missing"],
    ['not an object', { classes: { car: 3 } }, "'classes.car' is 3, expected"],
  ])('names the fault: %s', (_, changes, message) => {
    const read = () => parseStoredCalibrator(stored(changes), 'model.onnx');
    expect(read).toThrow(ModelError);
    expect(read).toThrow(/^calibrator of model\.onnx: /);
    expect(read).toThrow(message);
  });

  it('is bound to the suppression that it was fitted after', () => {
    const calibrator: StoredCalibrator = parseStoredCalibrator(stored(), 'model.onnx');
    const { iou, agnostic, lambda, kind } = SUPPRESSION;
    expect(whyOtherSuppression(calibrator, { agnostic, iou, lambda, kind })).toBeUndefined();
    expect(whyOtherSuppression(calibrator, { kind: 'hard', iou: 0.7, agnostic })).toBe(
      'the calibrator was fitted after another suppression: kind "hard" instead of "uncertainty", iou 0.7 instead of 0.6, lambda none instead of 2',
    );
    const soft = { kind: 'soft', iou, agnostic, decay: { shape: 'linear', iou: 0.3 } };
    const fitted = { ...calibrator, suppression: soft };
    expect(whyOtherSuppression(fitted, { ...soft, decay: { iou: 0.3, shape: 'linear' } })).toBeUndefined();
    expect(whyOtherSuppression(fitted, { ...soft, decay: { iou: 0.4, shape: 'linear' } })).toContain('decay');
  });
});

describe('isotonic levels', () => {
  it('keep the order of the raw scores', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), (seed) => {
        const { truth, detections } = overConfident(30, seed);
        const options = { classCount: 1, kind: 'isotonic', target: 'quality' } as const;
        const { scores } = calibrateDetections(detections, fitCalibrator(truth, detections, options));
        const order = [...detections.scores.keys()].sort(
          (a, b) => detections.scores[a]! - detections.scores[b]!,
        );
        expect(order.every((row, place) => place === 0 || scores[row]! > scores[order[place - 1]!]!)).toBe(
          true,
        );
      }),
      { seed: 5, numRuns: 20 },
    );
  });
});
