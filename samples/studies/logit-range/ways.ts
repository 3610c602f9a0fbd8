// The ways of holding logits that the study compares: what each makes of the rows of a head, beside those of the
// reference for the same picture.
import { LOGIT_NORM_TEMPERATURE, type TrainedWay } from './heads.ts';
import type { PictureRows, ScoredRows } from './network.ts';
import {
  heldBelow,
  logitsOfScores,
  normalised,
  probabilitiesOf,
  rescaled,
  sigmoidsOf,
  tempered,
} from './row-maps.ts';

/** What is fitted to the calibration pictures of an adaptation, for the ways that use it. */
export interface Fitted {
  /** Of the softmax, for the head that was adapted with nothing held. */
  readonly temperature: number;
  /** 99th percentile of the reference's logit of the score of an object's own class, at the anchors of objects. */
  readonly scoreCeiling: number;
}

export interface Way {
  readonly name: string;
  readonly text: string;
  /** Whose rows. */
  readonly head: 'reference' | TrainedWay;
  /** Class logits in force; absent where the way acts on scores, behind the classes. */
  readonly logits?: (own: PictureRows, reference: PictureRows, fitted: Fitted) => Float32Array;
  /** Scores in force, float32[N, C]; absent where they are quality times softmax of the logits. */
  readonly scores?: (own: PictureRows, reference: PictureRows, fitted: Fitted) => Float32Array;
  /** Scores go through a Platt map per class afterwards. */
  readonly platt?: true;
}

const own = ({ logits }: PictureRows): Float32Array => logits;

function toRange(
  rows: Float32Array,
  reference: Float32Array,
  { classCount }: PictureRows,
  shrinkOnly: boolean,
) {
  return rescaled(rows, reference, { classCount, shrinkOnly });
}

export const WAYS: readonly Way[] = [
  { name: 'reference', text: 'the head before adaptation', head: 'reference', logits: own },
  { name: 'none', text: 'adapted, nothing held', head: 'none', logits: own },
  {
    name: 'zs-norm',
    text: 'adapted with logit_range=zs-norm; the file takes the softmax of the plain logits',
    head: 'zs-norm',
    logits: own,
  },
  {
    name: 'zs-norm + formula',
    text: 'the same, its rows set to the range of the reference in use, too, as they were in training',
    head: 'zs-norm',
    logits: (rows, reference) => toRange(rows.logits, reference.logits, rows, false),
  },
  { name: 'penalty', text: 'adapted with logit_range=penalty', head: 'penalty', logits: own },
  {
    name: 'sals',
    text: "nothing held in training; in use, rows shrink to the range of the reference and never widen (the product's)",
    head: 'none',
    logits: (rows, reference) => toRange(rows.logits, reference.logits, rows, true),
  },
  {
    name: 'sals as published',
    text: 'the same with the published formula: rows are set to the range of the reference',
    head: 'none',
    logits: (rows, reference) => toRange(rows.logits, reference.logits, rows, false),
  },
  {
    name: 'LogitNorm',
    text: `control: adapted with a loss of z / (${LOGIT_NORM_TEMPERATURE} ‖z‖); the file takes the softmax of z`,
    head: 'logitnorm',
    logits: own,
  },
  {
    name: 'LogitNorm kept',
    text: 'the same, with z / (τ ‖z‖) in use, too',
    head: 'logitnorm',
    logits: ({ logits, classCount }) => normalised(logits, classCount, LOGIT_NORM_TEMPERATURE),
  },
  {
    name: 'temperature',
    text: 'nothing held; one temperature for the class softmax, fitted to calibration pictures',
    head: 'none',
    logits: (rows, _, { temperature }) => tempered(rows.logits, temperature),
  },
  {
    name: 'Platt',
    text: 'nothing held; a Platt map per class on the scores of boxes, fitted to calibration pictures',
    head: 'none',
    platt: true,
  },
  {
    name: 'formula on scores',
    text: 'nothing held; the published formula on the logits of the scores of all classes, as if they were logits of a sigmoid head',
    head: 'none',
    scores: (rows, reference) =>
      sigmoidsOf(toRange(logitsOfScores(rows), logitsOfScores(reference), rows, false)),
  },
  {
    name: 'ceiling on scores',
    text: 'nothing held; positive logits of scores are scaled below a ceiling that the reference sets',
    head: 'none',
    scores: (rows, _, { scoreCeiling }) =>
      sigmoidsOf(heldBelow(logitsOfScores(rows), rows.classCount, scoreCeiling)),
  },
];

/** Expected quality and class factors that the decoder turns into scores. */
export function scoredRows(way: Way, rows: PictureRows, reference: PictureRows, fitted: Fitted): ScoredRows {
  if (way.scores === undefined) {
    const logits = way.logits?.(rows, reference, fitted) ?? rows.logits;
    return { rows, quality: rows.quality, factors: probabilitiesOf(logits, rows.classCount) };
  }
  const quality = new Float32Array(rows.quality.length);
  for (let at = 0; at < quality.length; at += 2) quality[at] = 1;
  return { rows, quality, factors: way.scores(rows, reference, fitted) };
}
