// Candidates become detections: rules, clipping, order, what is attached and what is refused.
import { describe, expect, it } from 'vitest';
import type { Decoder, EdgeDetectLayout, PostprocessOptions } from '#core';
import {
  createDecoder,
  createLetterbox,
  createPostprocessor,
  HARD_SUPPRESSION,
  POSTPROCESS_DEFAULTS,
  PUBLISHED_THRESHOLD,
  SOFT_SUPPRESSION,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import { type CandidateRow, candidatesOf } from '../support/candidates.ts';

const OPTIONS: PostprocessOptions = {
  ...POSTPROCESS_DEFAULTS,
  classNames: ['car', 'person'],
  threshold: { kind: 'fixed', base: 0.25 },
  suppression: HARD_SUPPRESSION,
};
// Frame 64x32 in an input of 64x64: 16 px of padding above and below.
const LETTERBOX = createLetterbox({ width: 64, height: 32 }, { width: 64, height: 64 });

function decoderWith(abilities: Partial<Decoder> = {}): Decoder {
  const layout = {
    kind: 'end-to-end',
    output: 'o',
    rowCount: 1,
    stride: 6,
    suppressed: false,
    classCount: 2,
  } as const;
  const real = createDecoder(layout, { input: LETTERBOX.input, boxVariance: false });
  return Object.assign({}, real, abilities);
}

function process(
  rows: readonly CandidateRow[],
  options: Partial<PostprocessOptions> = {},
  decoder = decoderWith(),
) {
  return createPostprocessor({ ...OPTIONS, ...options }).process(candidatesOf(rows), LETTERBOX, decoder);
}

describe('detections', () => {
  it('are in frame px, clipped, and dropped where they lie outside', () => {
    const { detections } = process([
      { box: [-20, 6, 30, 46], score: 0.9 },
      { box: [50, 40, 90, 90], score: 0.8, classId: 1 },
      { box: [10, 2, 20, 15], score: 0.7 }, // wholly in the padding
      { box: [30, 20, 30, 40], score: 0.6 }, // no area
    ]);
    expect(detections).toEqual([
      {
        box: { x1: 0, y1: 0, x2: 30, y2: 30 },
        classId: 0,
        className: 'car',
        score: Math.fround(0.9),
        rawScore: Math.fround(0.9),
      },
      {
        box: { x1: 50, y1: 24, x2: 64, y2: 32 },
        classId: 1,
        className: 'person',
        score: Math.fround(0.8),
        rawScore: Math.fround(0.8),
      },
    ]);
  });

  it('come by falling score, also where suppression orders otherwise', () => {
    const rows = [
      { box: [0, 16, 9, 30], score: 0.8, scoreVariance: 0 },
      { box: [20, 16, 29, 30], score: 0.9, scoreVariance: 0.25, epistemic: 0.125 },
      { box: [40, 16, 49, 30], score: 0.8, scoreVariance: 0 },
    ];
    const able = decoderWith({ scoreVariance: true });
    const { detections } = process(rows, { suppression: UNCERTAINTY_SUPPRESSION }, able);
    expect(detections.map(({ box }) => box.x1)).toEqual([20, 0, 40]);
    expect(detections.map(({ scoreVariance }) => scoreVariance)).toEqual([0.25, 0, 0]);
    expect(detections.map(({ scoreVarianceEpistemic }) => scoreVarianceEpistemic)).toEqual([0.125, 0, 0]);
    const without = process([{ box: [0, 16, 9, 30], score: 0.8, scoreVariance: 0.1 }], {}, able);
    expect(without.detections[0]).not.toHaveProperty('scoreVarianceEpistemic');
  });

  it('have box variances in frame px²', () => {
    const half = createLetterbox({ width: 128, height: 128 }, { width: 64, height: 64 });
    const rows = [{ box: [8, 8, 16, 16], score: 0.9, boxVariance: [1, 2, 3, 4] }];
    const postprocessor = createPostprocessor(OPTIONS);
    const [detection] = postprocessor.process(candidatesOf(rows), half, decoderWith()).detections;
    expect(detection!.boxVariance).toEqual({ x1: 4, y1: 8, x2: 12, y2: 16 });
  });

  it('are only of the classes asked for', () => {
    const rows = [
      { box: [0, 16, 9, 30], score: 0.8, classId: 0 },
      { box: [20, 16, 29, 30], score: 0.9, classId: 1 },
    ];
    expect(process(rows, { classes: [0] }).detections.map(({ className }) => className)).toEqual(['car']);
  });
});

describe('rules', () => {
  const rows = [
    { box: [0, 16, 9, 30], score: 0.49, scoreVariance: 0.05 },
    { box: [20, 16, 29, 30], score: 0.48, scoreVariance: 0.06 },
  ];

  it('use the variance where asked', () => {
    const able = decoderWith({ scoreVariance: true });
    const { detections, candidateCount } = process(rows, { threshold: PUBLISHED_THRESHOLD }, able);
    expect(detections.map(({ box }) => box.x1)).toEqual([0]);
    expect(candidateCount).toBe(1);
  });

  it('are refused where the model lacks what they need', () => {
    expect(() => process(rows, { threshold: PUBLISHED_THRESHOLD })).toThrow(
      "threshold 'variance' cannot be used: the model gives no variance of the score",
    );
    expect(() => process(rows, { suppression: UNCERTAINTY_SUPPRESSION })).toThrow(
      "suppression 'uncertainty'",
    );
    const tail = { kind: 'tail-mass', base: 0.5, probability: 0.5 } as const;
    expect(() => process(rows, { threshold: tail }, decoderWith({ scoreVariance: true }))).toThrow(
      'tail mass',
    );
  });

  it('can change between two pictures, floor included', () => {
    const postprocessor = createPostprocessor(OPTIONS);
    expect(postprocessor.floor).toEqual({ default: 0.25 });
    postprocessor.useThreshold({ kind: 'fixed', base: 0.485 });
    expect(postprocessor.floor).toEqual({ default: 0.485 });
    expect(postprocessor.process(candidatesOf(rows), LETTERBOX, decoderWith()).detections).toHaveLength(1);
  });

  it('act on the score that soft suppression lowered, and the raw score stays', () => {
    const doubled = [
      { box: [0, 16, 20, 30], score: 0.9 },
      { box: [0, 16, 20, 24], score: 0.8 },
      { box: [0, 16, 20, 29], score: 0.7 },
    ];
    const { detections } = process(doubled, { suppression: SOFT_SUPPRESSION });
    expect(detections).toHaveLength(2);
    expect(detections[1]!.rawScore).toBeCloseTo(0.8, 6);
    expect(detections[1]!.score).toBeLessThan(0.6);
  });
});

describe('limits', () => {
  const rows = Array.from({ length: 8 }, (_, index) => ({
    box: [8 * index, 20, 8 * index + 7, 30],
    score: 0.9 - index / 20,
  }));

  it('are told', () => {
    const two = process(rows, { maxDet: 2 });
    expect([two.detections.length, two.detectionLimitReached]).toEqual([2, true]);
    const few = process(rows, { maxCandidates: 3 });
    expect([few.detections.length, few.candidateLimitReached]).toEqual([3, true]);
    const all = process(rows);
    expect([all.detections.length, all.detectionLimitReached, all.candidateLimitReached]).toEqual([
      8,
      false,
      false,
    ]);
  });

  it('hold for heads that suppress their own rows, which are not suppressed again', () => {
    const twins = [rows[0]!, rows[0]!, { ...rows[0]!, score: 0.95 }];
    const own = decoderWith({ suppressed: true });
    expect(process(twins, {}, own).detections.map(({ score }) => score)).toEqual(
      [0.95, 0.9, 0.9].map(Math.fround),
    );
    expect(process(twins, { maxDet: 2 }, own).detectionLimitReached).toBe(true);
    expect(process(twins).detections).toHaveLength(1);
  });
});

describe('laws of the score', () => {
  const layout: EdgeDetectLayout = {
    kind: 'edge-detect',
    anchorCount: 1,
    boxes: 'b',
    quality: 'q',
    qualityBins: { output: 'd', bins: 3 },
    classCount: 1,
  };
  const outputs = new Map([
    ['b', { shape: [1, 1, 4], data: Float32Array.from([0, 16, 20, 30]) }],
    ['q', { shape: [1, 1, 2], data: Float32Array.from([0.8, 0.11]) }],
    ['d', { shape: [1, 1, 3], data: Float32Array.from([0.1, 0.2, 0.7]) }],
  ]);
  const decoder = createDecoder(layout, { input: LETTERBOX.input, boxVariance: false });

  it('go out with the detection where asked', () => {
    for (const scoreLaws of [true, false]) {
      const postprocessor = createPostprocessor({ ...OPTIONS, scoreLaws });
      const candidates = decoder.decode(outputs, postprocessor.floor);
      const [detection] = postprocessor.process(candidates, LETTERBOX, decoder).detections;
      expect(detection!.distribution?.probabilities).toEqual(
        scoreLaws ? Float32Array.from([0.1, 0.2, 0.7]) : undefined,
      );
    }
  });

  it('decide by tail mass', () => {
    for (const [probability, kept] of [
      [0.89, 1],
      [0.91, 0],
    ] as const) {
      const postprocessor = createPostprocessor({
        ...OPTIONS,
        threshold: { kind: 'tail-mass', base: 0.5, probability },
      });
      const candidates = decoder.decode(outputs, postprocessor.floor);
      expect(postprocessor.process(candidates, LETTERBOX, decoder).detections).toHaveLength(kept);
    }
  });
});
