// Worked out by hand: the same detection in every shape that other tools read.
import { describe, expect, it } from 'vitest';
import type { Detection } from '#core';
import { toCocoRow, toColumns, toUltralyticsRow, toXywh, toYoloRow } from '#runtime';

const car: Detection = {
  box: { x1: 10.1234, y1: 20, x2: 50.1234, y2: 100 },
  classId: 2,
  className: 'car',
  score: 0.8123456,
  rawScore: 0.8123456,
};
const unsure: Detection = {
  ...car,
  scoreVariance: 0.0123456,
  boxVariance: { x1: 1.23456, y1: 4, x2: 9, y2: 16 },
};
const split: Detection = { ...unsure, scoreVarianceEpistemic: 0.00456789 };
const size = { width: 200, height: 100 };

describe('detections in habitual shapes', () => {
  it('gives corner and size', () => {
    expect(toXywh(car.box)).toEqual([10.1234, 20, 40, 80]);
  });

  it('gives an entry as Ultralytics has it, with nothing that the model does not know', () => {
    expect(JSON.stringify(toUltralyticsRow(car))).toBe(
      '{"name":"car","class":2,"confidence":0.81235,"box":{"x1":10.12,"y1":20,"x2":50.12,"y2":100}}',
    );
    expect(toUltralyticsRow(unsure)).toMatchObject({
      score_var: 0.01235,
      box_var: { x1: 1.235, y1: 4, x2: 9, y2: 16 },
    });
  });

  it('gives an entry of a COCO results file, its category from the map where there is one', () => {
    expect(toCocoRow(car, 139)).toEqual({
      image_id: 139,
      category_id: 2,
      bbox: [10.123, 20, 40, 80],
      score: 0.81235,
    });
    expect(toCocoRow(unsure, 'street_7', [1, 2, 3])).toMatchObject({
      image_id: 'street_7',
      category_id: 3,
      score_var: 0.01235,
      box_var: [1.235, 4, 9, 16],
    });
  });

  it('tells the epistemic part of the variance apart where there is one', () => {
    expect(toUltralyticsRow(split)).toMatchObject({ score_var: 0.01235, score_var_epistemic: 0.004568 });
    expect(toCocoRow(split, 1)).toMatchObject({ score_var: 0.01235, score_var_epistemic: 0.004568 });
    expect([...(toColumns([split]).score_var_epistemic ?? [])]).toEqual([Math.fround(0.00456789)]);
    expect(toUltralyticsRow(unsure)).not.toHaveProperty('score_var_epistemic');
    expect(toCocoRow(unsure, 1)).not.toHaveProperty('score_var_epistemic');
    expect(toColumns([split, unsure])).not.toHaveProperty('score_var_epistemic');
    expect(toColumns([split, unsure])).toHaveProperty('score_var');
  });

  it('gives a line of a YOLO label file, clipped to the picture', () => {
    expect(toYoloRow(car, size)).toBe('2 0.150617 0.6 0.2 0.8');
    expect(toYoloRow(car, size, true)).toBe('2 0.150617 0.6 0.2 0.8 0.812346');
    const outside = { ...car, box: { x1: 201, y1: 0, x2: 240, y2: 50 } };
    expect(toYoloRow(outside, size)).toBeUndefined();
    const across = { ...car, box: { x1: 150, y1: -50, x2: 250, y2: 50 } };
    expect(toYoloRow(across, size)).toBe('2 0.875 0.25 0.25 0.5');
  });

  it('gives columns, order kept', () => {
    const person = { ...unsure, classId: 0, className: 'person', score: 0.5 };
    const columns = toColumns([unsure, person]);
    expect([...columns.xyxy]).toEqual(
      [10.1234, 20, 50.1234, 100, 10.1234, 20, 50.1234, 100].map(Math.fround),
    );
    expect([...columns.class_id]).toEqual([2, 0]);
    expect([...columns.confidence]).toEqual([0.8123456, 0.5].map(Math.fround));
    expect(columns.class_name).toEqual(['car', 'person']);
    expect([...(columns.score_var ?? [])]).toEqual([0.0123456, 0.0123456].map(Math.fround));
    expect([...(columns.box_var ?? [])]).toEqual([1.23456, 4, 9, 16, 1.23456, 4, 9, 16].map(Math.fround));
  });

  it('has no variance column where one of the detections has none', () => {
    expect(toColumns([unsure, car])).not.toHaveProperty('score_var');
    expect(toColumns([unsure, car])).not.toHaveProperty('box_var');
    expect(toColumns([])).toMatchObject({ class_name: [] });
    expect(toColumns([])).not.toHaveProperty('box_var');
  });
});
