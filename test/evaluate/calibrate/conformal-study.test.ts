// Conformal thresholds on tables whose law is known: the promise is kept where pictures are alike, and no number is
// given where nothing can be promised.
import { describe, expect, it } from 'vitest';
import { calibrateScore, createRandom } from '#core';
import { studyCalibration } from '../../../src/evaluate/calibrate/calibration-study.ts';
import {
  type Conditions,
  type ConformalGoal,
  studyConformal,
} from '../../../src/evaluate/calibrate/conformal-study.ts';
import { pictureFolds } from '../../../src/evaluate/calibrate/picture-folds.ts';

interface Law {
  readonly pictures: number;
  /** Share of objects that are found at all. */
  readonly found?: number;
  /** Scores of a picture are drawn below this. */
  readonly top?: (picture: number) => number;
  readonly classOf?: (picture: number) => number;
  readonly seed?: number;
}

/** One object and one false alarm a picture; scores of objects are even up to a limit, those of alarms half as high. */
function tablesOf({ pictures, found = 1, top = () => 1, classOf = () => 0, seed = 5 }: Law) {
  const random = createRandom(seed);
  const places = [...Array(pictures).keys()];
  const starts = Int32Array.from({ length: pictures + 1 }, (_, picture) => picture);
  const scores = places.flatMap((picture) => [
    0.02 + 0.96 * top(picture) * random.next(),
    0.02 + 0.45 * top(picture) * random.next(),
  ]);
  const classIds = Int32Array.from(places, classOf);
  return {
    classNames: ['car', 'bus'],
    truth: {
      starts,
      boxes: Float64Array.from(places.flatMap(() => [0, 0, 40, 40])),
      classIds,
      areas: new Float64Array(pictures).fill(1600),
      kinds: new Uint8Array(pictures),
    },
    detections: {
      starts: starts.map((start) => 2 * start),
      boxes: Float64Array.from(
        places.flatMap(() => [
          ...(random.next() < found ? [0, 0, 40, 40] : [300, 0, 340, 40]),
          500,
          500,
          540,
          540,
        ]),
      ),
      classIds: Int32Array.from(places.flatMap((picture) => [classIds[picture]!, classIds[picture]!])),
      scores: Float64Array.from(scores),
    },
  };
}

function study(
  law: Law,
  goal: ConformalGoal,
  conditionOf?: (picture: number) => string | undefined,
  told: readonly string[] = ['car', 'bus'],
) {
  const tables = tablesOf(law);
  const folds = pictureFolds(
    Array.from(
      { length: law.pictures },
      (_, picture) => `cam${picture % 4}-${String(picture).padStart(5, '0')}.png`,
    ),
  );
  const { calibrator, study: calibration } = studyCalibration(tables, folds, { resamples: 100 });
  const ofPicture = Array.from({ length: law.pictures }, (_, picture) => conditionOf?.(picture));
  const conditions: Conditions = {
    ofPicture,
    names: [...new Set(ofPicture.flatMap((name) => name ?? []))],
    slicedBy: 'column',
    remarks: [],
  };
  const { minScore, maxDets } = calibration;
  const conformal = studyConformal(tables, folds, {
    ...{ goal, calibrator, minScore, maxDets, classNames: told },
    ...(conditionOf && { conditions }),
  });
  const of = (className: string | null, slice: string | null = null) =>
    conformal.verdicts.find((one) => one.className === className && one.slice === slice)!;
  return { conformal, of, calibrator };
}

describe('recall', () => {
  it('is kept on pictures of the same law that were not looked at', () => {
    const { of, calibrator } = study({ pictures: 800 }, { target: 'object-recall', level: 0.8 });
    const { rawThreshold, threshold, heldOut, objects } = of('car');
    // A fifth of even scores from .02 to .98.
    expect(rawThreshold).toBeCloseTo(0.02 + 0.96 * 0.2, 1);
    expect(threshold).toBeCloseTo(calibrateScore(calibrator.classes[0]!.map!, rawThreshold!), 12);
    expect(objects).toBe(800);
    expect([heldOut.count, heldOut.parts, heldOut.partsWithout]).toEqual([800, 4, 0]);
    expect(Math.abs(heldOut.achieved! - 0.8)).toBeLessThan(0.03);
  });

  it('is kept on average over many small draws, and not without the finite-sample rank', () => {
    let kept = 0;
    const draws = 120;
    for (let seed = 0; seed < draws; seed++) {
      const { of } = study({ pictures: 24, seed }, { target: 'object-recall', level: 0.8 });
      const at = (of('car').rawThreshold! - 0.02) / 0.96;
      kept += (1 - at) / draws;
    }
    // Rank 5 of 24: 1 − 5 / 25 on average.
    expect(kept).toBeGreaterThan(0.8 - 0.02);
    expect(kept).toBeLessThan(0.8 + 0.03);
  });

  it('is apart by condition: dusk has its own threshold, and the pooled one fails there', () => {
    const dusk = (picture: number) => Math.floor(picture / 4) % 2 === 1;
    const { of } = study(
      { pictures: 800, top: (picture) => (dusk(picture) ? 0.5 : 1) },
      { target: 'object-recall', level: 0.8 },
      (picture) => (dusk(picture) ? 'dusk' : 'day'),
    );
    const [day, night, all] = [of('car', 'day'), of('car', 'dusk'), of('car')];
    expect(night.rawThreshold).toBeLessThan(0.65 * day.rawThreshold!);
    expect(all.rawThreshold).toBeGreaterThan(night.rawThreshold!);
    expect(night.general!.achieved).toBeLessThan(0.78);
    expect(day.general!.achieved).toBeGreaterThan(0.83);
    expect(all.general).toBeUndefined();
    for (const { heldOut } of [day, night]) expect(Math.abs(heldOut.achieved! - 0.8)).toBeLessThan(0.05);
  });

  it.each([
    ['too few objects', { pictures: 12 }, 0.95, /it needs 19 objects, and there are 12/],
    [
      'a model that misses more',
      { pictures: 400, found: 0.5 },
      0.8,
      /finds \d+ of 400 objects \(\d+ %\) at most/,
    ],
  ] as const)('is no promise with %s', (_, law, level, why) => {
    const {
      threshold,
      rawThreshold,
      why: said,
      heldOut,
    } = study(law, { target: 'object-recall', level }).of('car');
    expect([threshold, rawThreshold, heldOut.achieved, heldOut.partsWithout]).toEqual([null, null, null, 4]);
    expect(said).toMatch(why);
  });

  it('names no class without objects or boxes, and one class cannot lend its promise to another', () => {
    const alone = study({ pictures: 100 }, { target: 'object-recall', level: 0.8 });
    expect(alone.conformal.verdicts.map(({ className }) => className)).toEqual([null, 'car']);
    const { of } = study(
      { pictures: 103, classOf: (picture) => (picture < 3 ? 1 : 0) },
      { target: 'object-recall', level: 0.8 },
    );
    expect(of('car').threshold).not.toBeNull();
    expect(of('bus').why).toBe('it needs 4 objects, and there are 3');
    expect(of(null).threshold).not.toBeNull();
  });
});

it('objects of a class that the model cannot name are no part of the whole', () => {
  const law = { pictures: 200, classOf: (picture: number) => (picture % 5 === 0 ? 1 : 0) };
  const goal = { target: 'object-recall', level: 0.8 } as const;
  expect(study(law, goal).of(null).objects).toBe(200);
  expect(study(law, goal, undefined, ['car']).of(null).objects).toBe(160);
});

describe('other promises', () => {
  it('recall of a picture on average', () => {
    const { of, conformal } = study({ pictures: 800 }, { target: 'miss-rate', level: 0.7 });
    expect(conformal.alpha).toBeCloseTo(0.3, 12);
    expect(of('car').rawThreshold).toBeCloseTo(0.02 + 0.96 * 0.3, 1);
    expect(Math.abs(of('car').heldOut.achieved! - 0.7)).toBeLessThan(0.04);
    expect(study({ pictures: 8 }, { target: 'miss-rate', level: 0.95 }).of('car').why).toMatch(
      /needs 19 pictures with objects, and there are 8/,
    );
  });

  it('precision, with its certainty', () => {
    const { of, conformal } = study({ pictures: 800 }, { target: 'precision', level: 0.85, delta: 0.05 });
    expect(conformal.delta).toBe(0.05);
    // No false alarm scores above .47.
    expect(of('car').rawThreshold).toBeGreaterThan(0.25);
    expect(of('car').rawThreshold).toBeLessThan(0.5);
    expect(of('car').heldOut.achieved).toBeGreaterThan(0.85);
    const bad = study({ pictures: 400, found: 0.5 }, { target: 'precision', level: 0.9 }).of('car');
    expect([bad.threshold, bad.why]).toEqual([
      null,
      expect.stringMatching(/boxes of score 0\.\d+ or more are false/),
    ]);
    expect(study({ pictures: 7 }, { target: 'precision', level: 0.9 }).of(null).why).toMatch(
      /needs 15 boxes, and there are 14/,
    );
  });
});
