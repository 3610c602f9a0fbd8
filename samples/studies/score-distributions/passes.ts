// The spread of the law and the disagreement of dropout passes, asked which of them tells noisy pictures and which tells
// scenes that no training has shown.
import { openDetector } from 'edge-detect';
import { checkVariance, createRandom, deriveSeed, HARD_SUPPRESSION, type Random } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { evaluationTables, type PicturePrediction, predictPictures } from 'edge-detect/evaluate';
import type { Detector } from 'edge-detect/runtime';
import type { Figures } from '../common/seeded-tables.ts';
import { auroc, aurocAtEqualScores, type ScoredValue } from './auroc.ts';
import { SUPPRESSION_IOU } from './decode.ts';

/** Boxes below are background for all. */
const LEAST_SCORE = 0.05;

/** Standard deviation of the noise, in steps of 255, on every channel of the scaled picture. */
export const NOISE_SIGMA = 25;

const PARTS = ['law', 'dropout'] as const;
type Part = (typeof PARTS)[number];

export interface PassPictures {
  /** Lights that the training has seen, on cameras that it has not. */
  readonly seen: readonly LabelledPicture[];
  /** The light that was held out, on the same cameras. */
  readonly night: readonly LabelledPicture[];
  /** Another world; empty where there is none. */
  readonly other: readonly LabelledPicture[];
  readonly classNames: readonly string[];
}

interface SplitBox {
  readonly score: number;
  readonly law: number;
  readonly dropout: number;
}

/** @param modelPath a detector with dropout passes @returns figures by the set that is to be told from `seen` */
export async function passFigures(
  modelPath: string,
  { seen, night, other, classNames }: PassPictures,
  { seed, signal }: { readonly seed: number; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, Figures>> {
  const detector = await openDetector(modelPath, {
    threshold: { kind: 'fixed', base: LEAST_SCORE },
    suppression: HARD_SUPPRESSION,
    iou: SUPPRESSION_IOU,
    maxDet: 300,
    calibrator: 'off',
    threads: 2,
  });
  try {
    const predict = async (pictures: readonly LabelledPicture[], by: Detector = detector) => {
      const found: PicturePrediction[] = [];
      for await (const one of predictPictures(by, pictures, signal)) found.push(one);
      return found;
    };
    const clean = await predict(seen);
    const noisy = await predict(seen, noisyDetector(detector, seen, seed));
    const dark = await predict(night);
    const foreign = await predict(other);
    const base = boxesOf(clean);
    const rows = new Map<string, Figures>([
      ['as they are', { ...meanFigures(base), ...errorFigures(classNames, seen, clean) }],
    ]);
    const sets = [
      { row: 'noise', found: noisy, pictures: seen },
      { row: 'night', found: dark, pictures: night },
      { row: 'another world', found: foreign, pictures: [] },
    ];
    for (const { row, found, pictures } of sets) {
      if (found.length === 0) continue;
      const boxes = boxesOf(found);
      rows.set(row, {
        ...meanFigures(boxes),
        ...tellFigures(base, boxes),
        ...(pictures.length > 0 && errorFigures(classNames, pictures, found)),
      });
    }
    return rows;
  } finally {
    await detector.close();
  }
}

function boxesOf(found: readonly PicturePrediction[]): readonly SplitBox[] {
  return found.flatMap(({ detections }) =>
    detections.map(({ score, scoreVariance = 0, scoreVarianceEpistemic = 0 }) => ({
      score,
      law: scoreVariance - scoreVarianceEpistemic,
      dropout: scoreVarianceEpistemic,
    })),
  );
}

function meanFigures(boxes: readonly SplitBox[]): Figures {
  const mean = (of: (box: SplitBox) => number) =>
    boxes.length === 0 ? null : boxes.reduce((sum, box) => sum + of(box), 0) / boxes.length;
  return {
    boxes: boxes.length,
    'mean score': mean(({ score }) => score),
    'mean law': mean(({ law }) => law),
    'mean dropout': mean(({ dropout }) => dropout),
  };
}

/** AUROC of both parts, of any boxes and at equal scores, and what the law tells more than the dropout. */
function tellFigures(seen: readonly SplitBox[], unseen: readonly SplitBox[]): Figures {
  const valued = (boxes: readonly SplitBox[], part: Part): readonly ScoredValue[] =>
    boxes.map((box) => ({ value: box[part], score: box.score }));
  const [law, dropout] = PARTS.map((part) => ({
    any: auroc(valued(seen, part), valued(unseen, part)),
    equal: aurocAtEqualScores(valued(seen, part), valued(unseen, part)),
  }));
  const minus = (a: number | null, b: number | null) => (a === null || b === null ? null : a - b);
  return {
    'law tells': law!.any,
    'dropout tells': dropout!.any,
    'law − dropout': minus(law!.any, dropout!.any),
    'law tells, equal score': law!.equal,
    'dropout tells, equal score': dropout!.equal,
    'law − dropout, equal score': minus(law!.equal, dropout!.equal),
  };
}

/** Partial correlation of each part with the squared error, the score taken out. */
function errorFigures(
  classNames: readonly string[],
  pictures: readonly LabelledPicture[],
  found: readonly PicturePrediction[],
): Figures {
  const correlationOf = (of: (total: number, epistemic: number) => number) => {
    const replaced = found.map(({ detections, size }) => ({
      size,
      detections: detections.map((detection) => ({
        ...detection,
        scoreVariance: of(detection.scoreVariance ?? 0, detection.scoreVarianceEpistemic ?? 0),
      })),
    }));
    const tables = evaluationTables({ classNames, pictures }, { classNames, pictures: replaced });
    const check = checkVariance(tables.truth, tables.detections, {
      classCount: classNames.length,
      minScore: LEAST_SCORE,
      resamples: 0,
    });
    return check?.partialCorrelation?.value ?? null;
  };
  return {
    'law and error': correlationOf((total, epistemic) => total - epistemic),
    'dropout and error': correlationOf((_, epistemic) => epistemic),
  };
}

/** The same detector behind a camera whose sensor is noisy. Every picture has noise of its own, in whatever order they come. */
function noisyDetector(detector: Detector, pictures: readonly LabelledPicture[], seed: number): Detector {
  const places = new Map(pictures.map(({ path }, place) => [path, place]));
  return {
    ...detector,
    detect: (frames) =>
      detector.detect(
        frames.map((frame) => {
          const random = createRandom(deriveSeed(seed, places.get(frame.source) ?? places.size));
          return { ...frame, content: withNoise(frame.content, random) };
        }),
      ),
  };
}

export function withNoise(content: Uint8Array, random: Random): Uint8Array {
  const noisy = new Uint8ClampedArray(content.length);
  for (let at = 0; at < content.length; at++) noisy[at] = content[at]! + NOISE_SIGMA * random.normal();
  return new Uint8Array(noisy.buffer);
}
