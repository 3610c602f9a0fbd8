import { describe, expect, it } from 'vitest';
import type { DetectionChanges } from '../../../export/gate/detection-changes.ts';
import { checkFloors, GATE_FLOORS, type GateFloors } from '../../../export/gate/floors.ts';
import type { LabelChanges } from '../../../export/gate/label-changes.ts';

const spread = (p99: number) => ({ p50: 0, p99, largest: p99, mean: 0 });

const CHANGES: DetectionChanges = {
  sourceBoxes: 100,
  artefactBoxes: 100,
  found: 0.995,
  known: 0.99,
  boxPx: spread(1),
  score: spread(0.01),
  scoreStd: spread(0.01),
  worst: [],
};

const LABELS: LabelChanges = {
  apBefore: 0.5,
  apAfter: 0.498,
  apDrop: 0.002,
  ap50Drop: 0.001,
  laEceBefore: 0.01,
  laEceAfter: 0.015,
  laEceRise: 0.005,
  dEceBefore: null,
  dEceAfter: null,
  classes: [],
  minObjects: 20,
};

function failed(changes: Partial<DetectionChanges>, labels?: LabelChanges, floors: Partial<GateFloors> = {}) {
  return checkFloors({ ...GATE_FLOORS.float16, ...floors }, { ...CHANGES, ...changes }, labels)
    .filter(({ passed }) => !passed)
    .map(({ floor }) => floor);
}

describe('checkFloors', () => {
  it('lets pass what lies exactly on every floor', () => {
    expect(failed({}, LABELS)).toEqual([]);
  });

  it.each([
    ['minFound', { found: 0.98 }],
    ['minFound', { known: 0.98 }],
    ['maxBoxPx', { boxPx: spread(1.01) }],
    ['maxScore', { score: spread(0.0101) }],
    ['maxScoreStd', { scoreStd: spread(0.0101) }],
  ] as const)('holds %s', (floor, changes) => {
    expect(failed(changes, LABELS)).toEqual([floor]);
  });

  it('lets one box of twenty or more be gone, and none of fewer', () => {
    expect(failed({ sourceBoxes: 25, artefactBoxes: 24, found: 24 / 25, known: 1 }, LABELS)).toEqual([]);
    expect(failed({ sourceBoxes: 25, artefactBoxes: 23, found: 23 / 25, known: 1 }, LABELS)).toEqual([
      'minFound',
    ]);
    expect(failed({ sourceBoxes: 10, artefactBoxes: 9, found: 0.9, known: 1 }, LABELS)).toEqual(['minFound']);
  });

  it('holds AP, the worst class and calibration where there are labels', () => {
    expect(failed({}, { ...LABELS, apDrop: 0.0021 })).toEqual(['maxApDrop']);
    expect(failed({}, { ...LABELS, laEceRise: 0.0051 })).toEqual(['maxLaEceRise']);
    const worstClass = {
      className: 'bus',
      objects: 30,
      ap50Before: 0.5,
      ap50After: 0,
      ap50Drop: 0.5,
      laEceBefore: null,
      laEceAfter: null,
    };
    const [check] = checkFloors(GATE_FLOORS.int8, CHANGES, { ...LABELS, worstClass }).filter(
      ({ passed }) => !passed,
    );
    expect(check).toMatchObject({ floor: 'maxClassApDrop', found: 0.5, note: 'bus, 30 objects' });
  });

  it('says what could not be judged, and does not fail it', () => {
    const checks = checkFloors(
      GATE_FLOORS.float16,
      { ...CHANGES, found: null, known: null, boxPx: null },
      undefined,
    );
    expect(checks.every(({ passed }) => passed)).toBe(true);
    expect(checks.find(({ floor }) => floor === 'maxApDrop')).toMatchObject({
      found: null,
      note: expect.stringMatching(/no labels/),
    });
    expect(checks.find(({ floor }) => floor === 'minFound')).toMatchObject({
      found: null,
      note: expect.stringMatching(/no box/),
    });
  });

  it('takes the floors that are given, and refuses impossible ones', () => {
    expect(failed({ boxPx: spread(5) }, LABELS, { maxBoxPx: 5 })).toEqual([]);
    expect(() => failed({}, LABELS, { maxBoxPx: Number.NaN })).toThrow(/maxBoxPx is NaN/);
  });
});
