// A comparison of slices from made pictures, where the right answer is known.
import { describe, expect, it } from 'vitest';
import type { Detection, Figure } from '#core';
import { ConfigError, createRandom, DataError, negated } from '#core';
import type { LabelledObject } from '#data/datasets';
import { type CompareReport, compareSlices, type PredictedSlice, thresholdTables } from '#evaluate';

const size = { width: 400, height: 100 };
const names = { model: ['car', 'bus'], labels: ['car', 'bus'] };
const fast = { resamples: 60, seed: 1 };

interface SliceSpec {
  readonly name: string;
  readonly cameras: Readonly<Record<string, number>>;
  /** Score of the n-th object; 0: not found. */
  readonly score: (object: number, camera: string) => number;
  readonly falseAlarm?: number;
  readonly startSeconds?: number;
  readonly labelled?: boolean;
  readonly tracked?: boolean;
}

/** Three cars in fixed places per picture, some of them found, and a false alarm in the fourth place. */
function slice(spec: SliceSpec): PredictedSlice {
  let object = 0;
  const rows = Object.entries(spec.cameras).flatMap(([camera, count]) =>
    Array.from({ length: count }, (_, index) => {
      const scores = [0, 1, 2].map(() => spec.score(object++, camera));
      const found = scores.flatMap((score, place) =>
        score > 0 ? [detection(place, score, spec.tracked ? { trackId: place } : {})] : [],
      );
      const wrong = spec.falseAlarm === undefined ? [] : [detection(3, spec.falseAlarm)];
      return {
        picture: {
          path: `${spec.name}/${camera}-${String(index).padStart(3, '0')}.jpg`,
          camera,
          timeSeconds: (spec.startSeconds ?? 0) + 60 * index,
          pairKey: `${camera}-${index}`,
          ...(spec.labelled === false ? {} : { objects: [0, 1, 2].map(labelledCar) }),
        },
        prediction: { size, detections: [...found, ...wrong] },
      };
    }),
  );
  return {
    name: spec.name,
    pictures: rows.map(({ picture }) => picture),
    predictions: rows.map(({ prediction }) => prediction),
  };
}

function labelledCar(place: number): LabelledObject {
  const x1 = place / 4;
  return { classId: 0, x1, y1: 0.2, x2: x1 + 0.2, y2: 0.8, crowd: false, difficult: false };
}

function detection(place: number, score: number, more: Partial<Detection> = {}): Detection {
  const box = { x1: 100 * place, y1: 20, x2: 100 * place + 80, y2: 80 };
  return { box, className: 'car', classId: 0, score, rawScore: score, ...more };
}

function estimate(figure: Figure | undefined) {
  if (figure?.kind !== 'estimate') throw new Error(`no verdict: ${figure?.reason}`);
  return figure;
}

function pairOf(report: CompareReport) {
  const [comparison] = report.comparisons;
  if (comparison === undefined) throw new Error('nothing compared');
  return comparison;
}

const cameras = { a: 6, b: 6, c: 6, d: 6, e: 6 };
const dayScore = (object: number) => 0.6 + 0.02 * (object % 10);
const day = slice({ name: 'day', cameras, score: dayScore, falseAlarm: 0.3 });
const dusk = slice({
  name: 'dusk',
  cameras,
  // Every ninth object is lost, the others score .1 less.
  score: (object) => (object % 9 === 0 ? 0 : dayScore(object) - 0.1),
  falseAlarm: 0.5,
  startSeconds: 36_000,
});

describe('day against dusk, labelled', () => {
  const report = compareSlices([day, dusk], names, { ...fast, threshold: 0.55 });
  const found = pairOf(report);

  it('pairs objects and says how many were lost', () => {
    const { objects } = found;
    expect(objects).toMatchObject({ pairs: 90, unpaired: [0, 0], pairedBy: 'object' });
    if (objects?.byPicture.kind !== 'drift') throw new Error('no verdict');
    expect(objects.byPicture.lost).toBe(10);
    expect(objects.byPicture.gained).toBe(0);
    const seen = estimate(objects.byPicture.meanDropSeenInBoth);
    // Within a camera pairs meet in an order of their own; the mean over all is exact.
    expect(estimate(found.effects.objectScore?.pooled).value).toBeLessThan(-0.1);
    expect(seen.low).toBeLessThan(0.1);
    expect(seen.high).toBeGreaterThan(0.1);
    expect(objects.byCamera.kind).toBe('drift');
  });

  it('pairs rendered pictures one to one: the drop is exactly .1 where seen in both', () => {
    if (found.samePictures?.byPicture.kind !== 'drift') throw new Error('no verdict');
    const drift = found.samePictures.byPicture;
    expect(estimate(drift.meanDropSeenInBoth).value).toBeCloseTo(0.1, 12);
    expect(estimate(drift.meanDropSeenInBoth).low).toBeCloseTo(0.1, 12);
    const lostSum = Array.from({ length: 10 }, (_, index) => dayScore(9 * index)).reduce((a, b) => a + b, 0);
    expect(estimate(drift.meanDrop).value).toBeCloseTo((80 * 0.1 + lostSum) / 90, 12);
    expect(drift).toMatchObject({ lost: 10, gained: 0, pairs: 90 });
  });

  it('measures each slice and the difference, each with an interval', () => {
    const [first, second] = report.slices;
    expect(first?.evaluation?.averagePrecision.ap50).toBeCloseTo(1, 12);
    expect(estimate(first?.figures?.ap50).value).toBeCloseTo(
      first?.evaluation?.averagePrecision.ap50 ?? 0,
      12,
    );
    expect(estimate(second?.figures?.ap50).value).toBeCloseTo(
      second?.evaluation?.averagePrecision.ap50 ?? 0,
      12,
    );
    expect(estimate(second?.figures?.ap).value).toBeCloseTo(second?.evaluation?.averagePrecision.ap ?? 0, 12);
    expect(estimate(second?.figures?.dEce).value).toBeCloseTo(
      second?.evaluation?.calibration.dEce.measured?.error ?? 0,
      12,
    );
    expect(estimate(second?.figures?.laEce0).value).toBeCloseTo(
      second?.evaluation?.calibration.quality.laEce.mean ?? 0,
      12,
    );
    expect(estimate(found.effects.signedQuality?.second).value).toBeCloseTo(
      second?.evaluation?.calibration.quality.signed ?? 0,
      12,
    );
    expect(estimate(found.differences?.ap50).high).toBeLessThan(0);
    expect(estimate(found.effects.recall?.first).value).toBe(1);
    expect(estimate(found.effects.falseAlarmsPerPicture?.first).value).toBe(0);
  });

  it('gives the verdict in words with figure, interval and n', () => {
    expect(report.verdict).toMatch(/^day against dusk: in the same pictures, confidence is lower in dusk/);
    expect(report.verdict).toMatch(/90 pairs; 10 lost, 0 gained/);
    expect(report.verdict).toMatch(/\[.*\]/);
    expect(report.warnings).toEqual([]);
  });

  it('chooses thresholds per condition, and none for a class without objects', () => {
    const [all, car, bus] = report.thresholds ?? [];
    expect([all?.className, car?.className, bus?.className]).toEqual(['*', 'car', 'bus']);
    expect(bus?.conditions.every(({ bestF1 }) => bestF1.kind === 'none')).toBe(true);
    const tables = thresholdTables(report.thresholds ?? [], 'bestF1');
    expect(Object.keys(tables?.conditions ?? {})).toEqual(['day', 'dusk']);
    expect(tables?.conditions['day']).toEqual({ '*': 0.599999, car: 0.599999 });
    expect(tables?.classes['bus']).toBeUndefined();
    // At dusk the false alarms score .5, the weakest object .5 as well.
    expect(tables?.conditions['dusk']?.['*']).toBeLessThan(0.6);
  });

  it('is plain data', () => {
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it('turns only signs when the slices are exchanged', () => {
    const random = createRandom(4);
    const noisy = (name: string, shift: number, startSeconds: number) =>
      slice({
        name,
        cameras: { a: 9, b: 5, c: 8, d: 7, e: 6 },
        score: () =>
          random.next() < 0.2 ? 0 : Math.min(0.99, Math.max(0.06, 0.5 + shift + 0.1 * random.normal())),
        falseAlarm: 0.4,
        startSeconds,
      });
    const [one, two] = [noisy('first', 0, 0), noisy('second', -0.05, 36_000)];
    const there = compareSlices([one, two], names, { ...fast, threshold: 0.45 });
    const back = compareSlices([two, one], names, { ...fast, threshold: 0.45 });
    const [a, b] = [pairOf(there), pairOf(back)];
    expect(back.slices.toReversed()).toEqual(there.slices);
    for (const [name, effect] of Object.entries(a.effects)) {
      const other = b.effects[name as keyof typeof b.effects];
      for (const key of ['pooled', 'within', 'byCamera'] as const)
        expect(other?.[key]).toEqual(negated(effect[key]));
    }
    for (const [name, figure] of Object.entries(a.differences ?? {})) {
      expect(b.differences?.[name as keyof typeof b.differences]).toEqual(negated(figure));
    }
    if (a.objects?.byPicture.kind !== 'drift' || b.objects?.byPicture.kind !== 'drift')
      throw new Error('none');
    expect(b.objects.pairs).toBe(a.objects.pairs);
    expect(estimate(b.objects.byPicture.meanDrop).value).toBeCloseTo(
      -estimate(a.objects.byPicture.meanDrop).value,
      12,
    );
    expect(b.objects.byPicture.lost).toBe(a.objects.byPicture.gained);
    if (a.scores.overCameras.kind === 'none' || b.scores.overCameras.kind === 'none') throw new Error('none');
    expect(b.scores.overCameras.psi).toEqual(a.scores.overCameras.psi);
    expect(back.trials).toMatchObject((there.trials ?? []).map(({ f1Gain }) => ({ f1Gain })));
  });
});

describe('odd cases', () => {
  it('warns where the camera mix turns the sign', () => {
    const score = (lift: number) => (_: number, camera: string) => (camera === 'easy' ? 0.9 : 0.4) + lift;
    const report = compareSlices(
      [
        slice({ name: 'day', cameras: { easy: 20, hard: 6 }, score: score(0) }),
        slice({ name: 'dusk', cameras: { easy: 6, hard: 20 }, score: score(0.05) }),
      ],
      names,
      fast,
    );
    const { objectScore } = pairOf(report).effects;
    expect(estimate(objectScore?.pooled).value).toBeLessThan(0);
    expect(estimate(objectScore?.within).value).toBeCloseTo(0.05, 12);
    expect(objectScore?.signsDisagree).toBe(true);
    expect(report.warnings.join()).toMatch(/objectScore.*Simpson/);
    expect(report.verdict).toMatch(/disagree in sign/);
  });

  it('compares without labels: scores per camera, no word about right or wrong', () => {
    const bare = { labelled: false, cameras, falseAlarm: 0.3 };
    const random = createRandom(9);
    const report = compareSlices(
      [
        slice({ ...bare, name: 'day', score: () => 0.7 + 0.02 * random.next() }),
        slice({
          ...bare,
          name: 'dusk',
          score: () => 0.5 + 0.02 * random.next(),
          cameras: { ...cameras, a: 11 },
        }),
      ],
      { model: names.model },
      fast,
    );
    const { scores, effects, objects, differences, samePictures } = pairOf(report);
    expect([objects, differences, report.thresholds, report.trials]).toEqual([null, null, null, null]);
    expect(estimate(effects.meanScore.within).value).toBeCloseTo(-0.15, 2);
    expect(effects.recall).toBeUndefined();
    expect(scores.perCamera.map(({ camera, shift }) => [camera, shift.kind])).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((camera) => [camera, 'shift']),
    );
    if (scores.overCameras.kind === 'none' || samePictures?.byPicture.kind !== 'drift')
      throw new Error('none');
    expect(scores.overCameras.w1.value).toBeGreaterThan(scores.overCameras.w1.nullQuantile95);
    // Three cars drop by .2, the false alarm by nothing.
    expect(estimate(samePictures.byPicture.meanDrop).value).toBeCloseTo(0.15, 2);
    expect(report.convention.threshold).toBe(0.25);
    expect(report.verdict).toMatch(/^day against dusk: in the same pictures, confidence is lower in dusk/);
  });

  it('reads tracks: flicker of each slice, and the same track in both', () => {
    const tracked = { tracked: true, cameras: { a: 8, b: 8, c: 8, d: 8, e: 8, f: 8, g: 8 } };
    const report = compareSlices(
      [
        slice({ ...tracked, name: 'day', score: () => 0.8 }),
        slice({
          ...tracked,
          name: 'dusk',
          score: (object) => (Math.floor(object / 3) % 2 === 0 ? 0.6 : 0.4),
        }),
      ],
      names,
      { ...fast, threshold: 0.5 },
    );
    expect(report.slices.map(({ flicker }) => estimate(flicker?.rate).value)).toEqual([0, 1]);
    const { tracks } = pairOf(report);
    if (tracks?.byPicture.kind !== 'drift') throw new Error('none');
    expect(tracks).toMatchObject({ pairs: 21, unpaired: [0, 0] });
    expect(estimate(tracks.byPicture.meanDrop).value).toBeCloseTo(0.3, 12);
  });

  it('gives no verdict on too little, and says why', () => {
    const few = { a: 2, b: 1 };
    const report = compareSlices(
      [
        slice({ name: 'day', cameras: few, score: dayScore }),
        slice({ name: 'dusk', cameras: few, score: dayScore }),
      ],
      names,
      fast,
    );
    const { objects, effects, differences, scores } = pairOf(report);
    expect(objects?.byPicture).toMatchObject({ kind: 'none', reason: /^9 pairs/ });
    expect(differences?.ap50).toMatchObject({ kind: 'none', reason: /3 pictures/ });
    expect(effects.recall?.within).toMatchObject({ kind: 'none' });
    expect(scores.overCameras.kind).toBe('none');
    expect(report.trials?.every(({ f1Gain }) => f1Gain.kind === 'none')).toBe(true);
    expect(thresholdTables(report.thresholds ?? [], 'bestF1')?.conditions).toEqual({ day: {}, dusk: {} });
    expect(report.verdict).toMatch(/no verdict/);
    expect(report.verdict).not.toMatch(/\[/);
  });

  it('refuses one slice, two of one name, an empty one, labels in part, a missing prediction', () => {
    expect(() => compareSlices([day], names)).toThrow(ConfigError);
    expect(() => compareSlices([day, { ...dusk, name: 'day' }], names)).toThrow(/two slices are named "day"/);
    expect(() => compareSlices([day, { name: 'x', pictures: [], predictions: [] }], names)).toThrow(
      DataError,
    );
    const bare = slice({ name: 'dusk', cameras, score: dayScore, labelled: false });
    expect(() => compareSlices([day, bare], names)).toThrow(/30 of 60 pictures are labelled/);
    expect(() => compareSlices([day, { ...dusk, predictions: dusk.predictions.slice(1) }], names)).toThrow(
      /a prediction is missing/,
    );
  });
});

describe('thresholds per condition on pictures that did not choose them', () => {
  const many = { a: 20, b: 20, c: 20, d: 20, e: 20 };

  it('gain where the conditions need different ones, under both protocols', () => {
    const report = compareSlices(
      [
        slice({ name: 'day', cameras: many, score: () => 0.8, falseAlarm: 0.5 }),
        slice({ name: 'night', cameras: many, score: () => 0.4, falseAlarm: 0.2, startSeconds: 50_000 }),
      ],
      names,
      fast,
    );
    for (const trial of report.trials ?? []) {
      expect(trial).toMatchObject({ cameras: 5, chosenCells: 10, cells: 10 });
      expect(trial.pictures).toBe(trial.protocol === 'first-half-per-camera' ? 100 : 200);
      expect(estimate(trial.perCondition.f1).value).toBe(1);
      expect(estimate(trial.f1Gain).low).toBeGreaterThan(0);
      expect(estimate(trial.f1GainByCamera).value).toBe(estimate(trial.f1Gain).value);
      // The fixed one keeps the false alarms by day: of 240 boxes 180 + 60 wrong at most; all objects are found by both.
      expect(estimate(trial.recallGainAtEqualPrecision).value).toBeCloseTo(0, 12);
    }
  });

  it('gain nothing where the conditions are alike', () => {
    const report = compareSlices(
      [
        slice({ name: 'day', cameras: many, score: dayScore, falseAlarm: 0.3 }),
        slice({ name: 'night', cameras: many, score: dayScore, falseAlarm: 0.3, startSeconds: 50_000 }),
      ],
      names,
      fast,
    );
    for (const trial of report.trials ?? []) expect(estimate(trial.f1Gain).value).toBe(0);
  });
});

describe('a slice of few pictures', () => {
  const few = slice({ name: 'dusk', cameras: { a: 5, b: 4 }, score: () => 0.4, startSeconds: 36_000 });

  it('gets no verdict, however many objects it shows', () => {
    const { effects, differences } = pairOf(compareSlices([day, few], names, fast));
    expect(effects.recall?.within).toEqual({
      kind: 'none',
      reason: 'dusk has 9 pictures; a change needs 10 or more',
    });
    expect(differences?.ap50).toEqual({
      kind: 'none',
      reason: 'dusk has 9 pictures; figures need 10 or more',
    });
    expect(effects.recall?.perCamera.map(({ pictures }) => pictures)).toEqual([
      [6, 5],
      [6, 4],
    ]);
  });
});
