// Slices that are clips: blocks of time in place of pictures, on made frames where the right answer is known.
import { describe, expect, it } from 'vitest';
import type { Detection } from '#core';
import { ConfigError, createRandom, DataError, negated, sureSign } from '#core';
import { type CompareReport, compareSlices, type PredictedSlice } from '#evaluate';

const size = { width: 400, height: 100 };
const fast = { resamples: 100, seed: 1 };
const STEP_S = 0.1;

interface ClipSpec {
  readonly name: string;
  readonly frames: number;
  readonly seed: number;
  /** How much of the wander of the scores is left in the next frame. */
  readonly phi?: number;
  readonly level?: number;
  readonly tracked?: boolean;
  readonly labelled?: boolean;
}

/** Five cars in fixed places, whose scores wander together. */
function clip({ name, frames, seed, phi = 0.95, level = 0.5, tracked, labelled }: ClipSpec): PredictedSlice {
  const random = createRandom(seed);
  let wander = random.normal();
  const rows = Array.from({ length: frames }, (_, frame) => {
    wander = phi * wander + Math.sqrt(1 - phi * phi) * random.normal();
    const scores = Array.from({ length: 5 }, () => level + 0.05 * wander + 0.01 * random.normal());
    return {
      picture: {
        path: `${name}#${String(frame).padStart(9, '0')}`,
        camera: '',
        timeSeconds: 7 + STEP_S * frame,
        pairKey: String(frame),
        ...(labelled ? { objects: [] } : {}),
      },
      prediction: {
        size,
        detections: scores.map((score, place) => car(place, score, tracked ? { trackId: place + 1 } : {})),
      },
    };
  });
  return {
    name,
    pictures: rows.map(({ picture }) => picture),
    predictions: rows.map(({ prediction }) => prediction),
  };
}

function car(place: number, score: number, more: Partial<Detection>): Detection {
  const box = { x1: 70 * place, y1: 20, x2: 70 * place + 60, y2: 80 };
  return { box, className: 'car', classId: 0, score, rawScore: score, ...more };
}

function compare(slices: readonly PredictedSlice[], more: Parameters<typeof compareSlices>[2] = {}) {
  const report = compareSlices(slices, { model: ['car'] }, { ...fast, timeBlocks: {}, ...more });
  const [comparison] = report.comparisons;
  if (comparison === undefined) throw new Error('nothing compared');
  return { report, comparison };
}

function shiftOf({ comparisons }: CompareReport) {
  const shift = comparisons[0]?.scores.overCameras;
  if (shift?.kind !== 'shift') throw new Error(`no verdict: ${shift?.reason}`);
  return shift;
}

const day = clip({ name: 'day', frames: 1200, seed: 1, level: 0.6 });
const dusk = clip({ name: 'dusk', frames: 1000, seed: 2, level: 0.5 });

describe('two clips', () => {
  const { report, comparison } = compare([day, dusk]);

  it('says how many blocks of what length stand for the frames, and how it was chosen', () => {
    const { timeBlocks } = report.convention;
    expect(timeBlocks?.chosenBy).toBe('autocorrelation');
    const seconds = timeBlocks?.seconds ?? 0;
    // Correlation of .95 from frame to frame: some 80 of them, by the formula of `blockLength`.
    expect(seconds).toBeGreaterThan(4);
    expect(seconds).toBeLessThan(12);
    expect(report.slices.map(({ blocks }) => blocks)).toEqual([
      Math.floor(120 / seconds),
      Math.floor(100 / seconds),
    ]);
    expect(shiftOf(report).groups).toEqual(report.slices.map(({ blocks }) => blocks));
    expect(comparison.effects.meanScore.pooled).toMatchObject({
      kind: 'estimate',
      groups: (report.slices[0]?.blocks ?? 0) + (report.slices[1]?.blocks ?? 0),
    });
    expect(comparison.effects.meanScore.perCamera[0]?.pictures).toEqual([1200, 1000]);
  });

  it('gives the same values as over pictures: only the intervals change', () => {
    const bare = compareSlices([day, dusk], { model: ['car'] }, fast);
    const [pictures] = bare.comparisons;
    const [one, two] = [comparison.effects.meanScore.pooled, pictures?.effects.meanScore.pooled];
    if (one.kind !== 'estimate' || two?.kind !== 'estimate') throw new Error('no verdict');
    expect(one.value).toBeCloseTo(two.value, 12);
    expect(one.high - one.low).toBeGreaterThan(3 * (two.high - two.low));
    expect(shiftOf(report).w1.value).toBeCloseTo(shiftOf(bare).w1.value, 12);
    expect(shiftOf(report).w1.nullExpectation).toBeGreaterThan(3 * shiftOf(bare).w1.nullExpectation);
  });

  it('finds a change that is there', () => {
    expect(sureSign(comparison.effects.meanScore.within)).toBe(-1);
    expect(shiftOf(report).w1.value).toBeGreaterThan(shiftOf(report).w1.nullQuantile95);
    expect(report.verdict).toMatch(
      /^day against dusk: in the same moments of both clips, confidence is lower/,
    );
  });

  it('turns only signs when the clips are exchanged', () => {
    const back = compare([dusk, day]);
    expect(back.report.slices.toReversed()).toEqual(report.slices);
    expect(back.report.convention).toEqual(report.convention);
    for (const name of ['meanScore', 'boxesPerPicture'] as const) {
      const [one, two] = [comparison.effects[name], back.comparison.effects[name]];
      for (const key of ['pooled', 'within', 'byCamera'] as const)
        expect(two[key]).toEqual(negated(one[key]));
      expect([two.first, two.second]).toEqual([one.second, one.first]);
    }
    const [there, turned] = [shiftOf(report), shiftOf(back.report)];
    expect(turned.meanChange).toEqual(negated(there.meanChange));
    for (const key of ['psi', 'ks', 'w1'] as const) expect(turned[key]).toEqual(there[key]);
    const [a, b] = [comparison.samePictures?.byPicture, back.comparison.samePictures?.byPicture];
    if (a?.kind !== 'drift' || b?.kind !== 'drift') throw new Error('no verdict');
    expect(b.meanDrop).toEqual(negated(a.meanDrop));
    expect([b.lost, b.gained, b.retained]).toEqual([a.gained, a.lost, a.retainedBackwards]);
  });

  it('pairs moments, and draws the pairs of a block together', () => {
    const { samePictures, tracks } = comparison;
    expect(samePictures).toMatchObject({ pairedBy: 'time', pairs: 5000 });
    expect(samePictures?.byPicture).toMatchObject({
      kind: 'drift',
      groups: Math.ceil((1000 / 1200) * (report.slices[0]?.blocks ?? 0)),
    });
    expect(tracks).toBeNull();
  });
});

describe('blocks of time', () => {
  it('seldom see a change where there is none, which frames drawn one by one do half the time', () => {
    const seeds = Array.from({ length: 40 }, (_, index) => 100 + 2 * index);
    const wrong = (timeBlocks: Record<string, never> | undefined) =>
      seeds.filter((seed) => {
        const clips = [seed, seed + 1].map((one) =>
          clip({ name: `clip ${one - seed}`, frames: 600, seed: one, phi: 0.8 }),
        );
        const { effects } =
          compareSlices(clips, { model: ['car'] }, { ...fast, ...(timeBlocks && { timeBlocks }) })
            .comparisons[0] ?? {};
        return effects === undefined || sureSign(effects.meanScore.within) !== 0;
      }).length;
    // 14 % of 150 pairs of such clips, where 5 % were promised: percentile intervals of few blocks are narrow.
    expect(wrong({})).toBeLessThanOrEqual(9);
    expect(wrong(undefined)).toBeGreaterThan(18);
  }, 120_000);

  it('take the length that is stated, and are as long at least', () => {
    const { report } = compare([day, dusk], { timeBlocks: { seconds: 7 } });
    expect(report.convention.timeBlocks).toEqual({ seconds: 7, chosenBy: 'stated' });
    expect(report.slices.map(({ blocks }) => blocks)).toEqual([17, 14]);
  });

  it('give no verdict on clips that are too short, and say what would be enough', () => {
    const { report, comparison } = compare([day, dusk], { timeBlocks: { seconds: 10.5 } });
    const none = { kind: 'none', reason: expect.stringMatching(/^9 blocks of 10\.50 s .*from 105\.0 s on$/) };
    const { effects, scores, samePictures } = comparison;
    expect([effects.meanScore.within, effects.boxesPerPicture.pooled]).toEqual([none, none]);
    expect([scores.overCameras, samePictures?.byPicture]).toEqual([none, none]);
    expect(report.verdict).toMatch(/no verdict/);
    expect(report.verdict).not.toMatch(/\[/);
  });

  it('give no verdict on clips that never vary: all their frames are one', () => {
    const still = (name: string, level: number): PredictedSlice => {
      const one = clip({ name, frames: 300, seed: 5, level });
      return { ...one, predictions: one.predictions.map(() => one.predictions[0]!) };
    };
    const { report, comparison } = compare([still('day', 0.6), still('dusk', 0.4)]);
    expect(report.slices.map(({ blocks }) => blocks)).toEqual([1, 1]);
    expect(comparison.effects.meanScore.within.kind).toBe('none');
  });

  it('see no shift between equal clips', () => {
    const { report, comparison } = compare([day, { ...day, name: 'again' }]);
    const { w1, ks, psi } = shiftOf(report);
    expect([w1.value, ks.value, psi.value, w1.pValue]).toEqual([0, 0, 0, 1]);
    expect(comparison.effects.meanScore.pooled).toMatchObject({ value: 0 });
    const drift = comparison.samePictures?.byPicture;
    if (drift?.kind !== 'drift') throw new Error('no verdict');
    expect(drift).toMatchObject({ lost: 0, gained: 0, meanDrop: { value: 0, low: 0, high: 0 } });
    expect(report.verdict).toMatch(/not shown to be distributed differently/);
  });

  it('are refused beside labels and for frames without a time', () => {
    const labelled = ['a', 'b'].map((name) => clip({ name, frames: 30, seed: 1, labelled: true }));
    expect(() => compareSlices(labelled, { model: ['car'], labels: ['car'] }, { timeBlocks: {} })).toThrow(
      ConfigError,
    );
    const timeless = {
      ...dusk,
      pictures: dusk.pictures.map(({ timeSeconds: _, ...picture }) => picture),
    };
    expect(() => compare([day, timeless])).toThrow(DataError);
  });
});
