// A calibrator at work: after suppression, before the threshold, on score and variance alike.
import { describe, expect, it } from 'vitest';
import type { Decoder, PostprocessOptions, ScoreScale } from '#core';
import {
  calibrateScore,
  calibrationSlope,
  createDecoder,
  createLetterbox,
  createPostprocessor,
  HARD_SUPPRESSION,
  POSTPROCESS_DEFAULTS,
  SOFT_SUPPRESSION,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import { type CandidateRow, candidatesOf } from '../support/candidates.ts';

const LETTERBOX = createLetterbox({ width: 64, height: 64 }, { width: 64, height: 64 });
/** Class 0 loses 1 logit, class 1 has no map. */
const SHIFT = { kind: 'platt', slope: 1, intercept: -1 } as const;
const SCALE: ScoreScale = { maps: [SHIFT, null], minScore: 0.05 };

const OPTIONS: PostprocessOptions = {
  ...POSTPROCESS_DEFAULTS,
  classNames: ['car', 'person'],
  threshold: { kind: 'fixed', base: 0.25 },
  suppression: HARD_SUPPRESSION,
  scale: SCALE,
};

const LAYOUT = {
  kind: 'end-to-end',
  output: 'o',
  rowCount: 1,
  stride: 6,
  suppressed: false,
  classCount: 2,
} as const;

function run(
  rows: readonly CandidateRow[],
  options: Partial<PostprocessOptions> = {},
  abilities: Partial<Decoder> = {},
) {
  const decoder = Object.assign(
    {},
    createDecoder(LAYOUT, { input: LETTERBOX.input, boxVariance: false }),
    abilities,
  );
  return createPostprocessor({ ...OPTIONS, ...options }).process(candidatesOf(rows), LETTERBOX, decoder)
    .detections;
}

const APART = [
  { box: [0, 0, 9, 9], score: 0.5 },
  { box: [20, 0, 29, 9], score: 0.4 },
  { box: [40, 0, 49, 9], score: 0.4, classId: 1 },
];

describe('scores', () => {
  it('are calibrated, the raw one is kept, and the threshold acts on the calibrated one', () => {
    const found = run(APART);
    // sigmoid(-1) = .269 passes .25; logit(.4) - 1 is .197 and does not; class 1 keeps its own scale.
    expect(found.map(({ score, rawScore }) => [score, rawScore])).toEqual([
      [Math.fround(0.4), Math.fround(0.4)],
      [calibrateScore(SHIFT, 0.5), 0.5],
    ]);
  });

  it('are not reported where the map knows nothing', () => {
    const flat: ScoreScale = {
      maps: [{ kind: 'isotonic', scores: [0.1, 0.9], values: [0.3, 0.6] }, null],
      minScore: 0.05,
    };
    const rows = [
      { box: [0, 0, 9, 9], score: 0.06 },
      { box: [20, 0, 29, 9], score: 0.04 },
    ];
    const found = run(rows, { scale: flat });
    expect(found.map(({ score }) => score)).toEqual([0.3]);
  });

  it('on a plateau of the map keep the order of the raw ones', () => {
    const step: ScoreScale = {
      maps: [{ kind: 'isotonic', scores: [0.1], values: [0.5] }, null],
      minScore: 0,
    };
    const found = run(
      [
        { box: [0, 0, 9, 9], score: 0.3 },
        { box: [20, 0, 29, 9], score: 0.4 },
      ],
      { scale: step },
    );
    expect(found.map(({ rawScore }) => rawScore)).toEqual([Math.fround(0.4), Math.fround(0.3)]);
  });

  it('do not change who suppresses whom', () => {
    // Agnostic: the car wins by its raw score, although it is below the person after calibration.
    const rows = [
      { box: [0, 0, 9, 9], score: 0.6 },
      { box: [0, 0, 9, 9], score: 0.55, classId: 1 },
    ];
    const [found, ...others] = run(rows, { agnostic: true });
    expect(others).toEqual([]);
    expect([found?.className, found?.score]).toEqual(['car', calibrateScore(SHIFT, Math.fround(0.6))]);
  });

  it('that soft has lowered are judged anew', () => {
    const rows = [
      { box: [0, 0, 10, 10], score: 0.55 },
      { box: [0, 0, 10, 9], score: 0.54 },
    ];
    const scores = run(rows, { suppression: SOFT_SUPPRESSION }).map(({ score }) => score);
    expect(scores).toEqual([calibrateScore(SHIFT, Math.fround(0.55))]);
  });

  it('that are a mean are judged anew', () => {
    const rows = [
      { box: [0, 0, 10, 10], score: 0.5, scoreVariance: 0 },
      { box: [0, 0, 10, 9], score: 0.4, scoreVariance: 0.2 },
    ];
    const threshold = { kind: 'variance', base: 0.46, k: 0.4 } as const;
    const raw = { threshold, scale: { maps: [], minScore: 0 } };
    const able = { scoreVariance: true };
    // Either passes by itself; their mean of .45 has the variance of the best, 0.
    expect(run(rows, raw, able)).toHaveLength(1);
    expect(run(rows, { ...raw, suppression: { kind: 'wbf', score: 'highest' } }, able)).toHaveLength(1);
    expect(run(rows, { ...raw, suppression: { kind: 'wbf', score: 'mean' } }, able)).toHaveLength(0);
  });
});

describe('the floor for decoding', () => {
  const scale: ScoreScale = {
    maps: [SHIFT, null, { kind: 'isotonic', scores: [0.2, 0.6], values: [0.1, 0.2] }],
    minScore: 0.05,
  };
  const classNames = ['car', 'person', 'bus'];

  it('lies at the raw score that the threshold stands for', () => {
    const { floor } = createPostprocessor({ ...OPTIONS, classNames, scale });
    expect(calibrateScore(SHIFT, floor.perClass![0]!)).toBeCloseTo(0.25, 5);
    expect(calibrateScore(SHIFT, floor.perClass![0]!)).toBeLessThan(0.25);
    expect(floor.perClass![1]).toBe(0.25);
    expect(floor.perClass![2]).toBeCloseTo(1, 6); // no bus can reach .25
  });

  it('is never below what was fitted on, and follows the threshold', () => {
    const postprocessor = createPostprocessor({ ...OPTIONS, classNames, scale });
    postprocessor.useThreshold({ kind: 'fixed', base: 0.001 });
    expect(postprocessor.floor.perClass![0]).toBeCloseTo(0.05, 6);
    expect(postprocessor.floor.perClass![1]).toBeCloseTo(0.001, 6);
  });
});

describe('variances', () => {
  const row = { box: [0, 0, 9, 9], score: 0.5, scoreVariance: 0.01, epistemic: 0.004 };
  const able = { scoreVariance: true, epistemic: true };

  it('follow the slope of the map, the epistemic part too', () => {
    const [found] = run([row], { suppression: UNCERTAINTY_SUPPRESSION }, able);
    const slope = calibrationSlope(SHIFT, 0.5);
    expect(found?.scoreVariance).toBeCloseTo(slope * slope * 0.01, 8);
    expect(found?.scoreVarianceEpistemic).toBeCloseTo(slope * slope * 0.004, 8);
  });

  it('are exact over bins', () => {
    const probabilities = Float32Array.from([0.25, 0.5, 0.25]);
    const scoreLaw: Decoder['scoreLaw'] = {
      form: 'bins',
      distribution: () => ({ probabilities }),
      mixture: () => undefined,
      tailMass: () => 0,
    };
    const [found] = run([row], {}, { ...able, scoreLaw });
    const middle = calibrateScore(SHIFT, 0.5);
    const mean = 0.5 * middle + 0.25;
    const exact = 0.25 * mean ** 2 + 0.5 * (middle - mean) ** 2 + 0.25 * (1 - mean) ** 2;
    expect(found?.scoreVariance).toBeCloseTo(exact, 8);
  });

  it('never exceed what the score allows', () => {
    const steep: ScoreScale = { maps: [{ kind: 'platt', slope: 20, intercept: 0 }, null], minScore: 0 };
    const [found] = run([{ ...row, scoreVariance: 0.2 }], { scale: steep }, able);
    expect(found?.scoreVariance).toBeCloseTo(0.25, 8);
  });

  it('count calibrated in a rule that looks at them', () => {
    const rule = { kind: 'variance', base: 0.27, k: 0.3 } as const;
    // .269 > .27 - .3 · .62 · .01, but not > .27 - .3 · 0.
    expect(run([row], { threshold: rule }, able)).toHaveLength(1);
    expect(run([{ ...row, scoreVariance: 0 }], { threshold: rule }, able)).toHaveLength(0);
  });

  it('leave tail mass to the law of the raw score, asked at the raw base', () => {
    const asked: number[] = [];
    const scoreLaw: Decoder['scoreLaw'] = {
      form: 'mixture',
      distribution: () => undefined,
      mixture: () => undefined,
      tailMass: (_, __, base) => asked.push(base),
    };
    run(
      [row],
      { threshold: { kind: 'tail-mass', base: calibrateScore(SHIFT, 0.4), probability: 0.5 } },
      {
        ...able,
        scoreLaw,
      },
    );
    expect(asked[0]).toBeCloseTo(0.4, 10);
  });
});

describe('boxes that suppression moved', () => {
  it('are reported with the variance of the mean, in frame px', () => {
    const half = createLetterbox({ width: 128, height: 128 }, { width: 64, height: 64 });
    const rows = [
      { box: [0, 0, 20, 20], score: 0.9, boxVariance: [4, 4, 4, 4] },
      { box: [2, 0, 20, 20], score: 0.6, boxVariance: [1, 4, 4, 4] },
    ];
    const decoder = createDecoder(LAYOUT, { input: half.input, boxVariance: false });
    const postprocessor = createPostprocessor({
      ...OPTIONS,
      suppression: { kind: 'wbf', score: 'highest' },
    });
    const [found] = postprocessor.process(candidatesOf(rows), half, decoder).detections;
    expect(found?.box.x1).toBeCloseTo(2 * 0.8, 5);
    expect(found?.boxVariance?.x1).toBeCloseTo(4 * (0.6 * 4 + 0.4 + 0.24 * 4), 4);
  });
});
