// What in the published text of the logit range does not stand as written, each line with a number that the product's
// own code computes.
import {
  calibrationError,
  type LogitRange,
  logitRangeInto,
  rescaleLogits,
  softmaxInto,
} from 'edge-detect/core';
import { addRangePenalty, createSoftmaxLoss, withRangeNorm } from 'edge-detect/training';
import { heldBelow, normOf } from './row-maps.ts';

interface Erratum {
  /** `C1` to `C6`. */
  readonly line: string;
  readonly text: string;
  /** Null where there is no number: 0 / 0. */
  readonly value: number | null;
}

/** Two samples of four logits, those of the reference, and the λ of the paper. */
const BATCH = [
  [22, 5, -3, 9],
  [14, 13, 12.5, 12.1],
] as const;
const BATCH_REFERENCE = [
  [18, 15.5, 12, 16.2],
  [16, 13, 12, 11],
] as const;
const LAMBDA = 10;

export function errata(): readonly Erratum[] {
  return [
    ...penaltyLines(),
    ...propositionLines(),
    ...settingLines(),
    ...degenerateLines(),
    ...sigmoidLines(),
    ...binLines(),
  ];
}

/** The formula sums over samples and classes; the λ of 10 belongs to the mean. */
function penaltyLines(): readonly Erratum[] {
  const classes = BATCH[0].length;
  const excess = BATCH.map((row, sample) =>
    addRangePenalty(
      { logits: Float64Array.from(row), offset: 0, stride: 1, gradient: new Float64Array(classes), scale: 0 },
      rangeOf(BATCH_REFERENCE[sample]!),
      classes,
    ),
  ).reduce((sum, one) => sum + one, 0);
  return [
    { line: 'C1', text: 'penalty of two samples, as the formula sums it', value: LAMBDA * excess },
    {
      line: 'C1',
      text: 'the same as the published code and ours take it: mean over samples and classes',
      value: (LAMBDA * excess) / (BATCH.length * classes),
    },
  ];
}

/** A constant lengthens the logits only where their mean is above −a / 2: below that it shortens them. */
function propositionLines(): readonly Erratum[] {
  const negative = Float32Array.of(-5, -4, -3);
  const norm = (logits: Float32Array) => normOf(logits, 0, logits.length);
  const shifted = negative.map((logit) => logit + 1);
  const [before, after] = [negative, shifted].map((logits) => softmax(Float64Array.from(logits)));
  return [
    { line: 'C2', text: 'norm of the logits −5, −4, −3', value: norm(negative) },
    { line: 'C2', text: 'after adding 1 to each: not longer, as proposition 1 has it', value: norm(shifted) },
    {
      line: 'C2',
      text: 'largest change of a probability meanwhile',
      value: largestDifference(before!, after!),
    },
  ];
}

/** The formula sets the range: a row narrower than its reference becomes surer. */
function settingLines(): readonly Erratum[] {
  const [row, reference] = [Float64Array.of(2, 1.5, 1), [4, 0, -6]];
  const set = rescaledTo(row, reference, false);
  const shrunk = rescaledTo(row, reference, true);
  return [
    {
      line: 'C3',
      text: 'temperature that the formula implies for a row of range 1 under a reference of range 10',
      value: 1 / set.scale,
    },
    { line: 'C3', text: 'highest probability of that row before', value: Math.max(...softmax(row)) },
    { line: 'C3', text: 'after the formula', value: Math.max(...softmax(set.logits)) },
    { line: 'C3', text: 'after ours, which only shrinks', value: Math.max(...softmax(shrunk.logits)) },
  ];
}

/** One class has no range, two classes always say the reference, and equal logits are 0 / 0. */
function degenerateLines(): readonly Erratum[] {
  const reference = [0.4, 0.1];
  const rows = [Float64Array.of(1.5, -0.5), Float64Array.of(9, 2), Float64Array.of(0.01, 0)];
  const two = rows.map((row) => rescaledTo(row, reference, false).logits);
  const spread = Math.max(...two.map((row) => largestDifference(row, two[0]!)));
  const flat = rescaledTo(Float64Array.of(1.3, 1.3, 1.3), [4, 0, -6], false).logits;
  const { along, sum } = rangeNormGradient();
  return [
    {
      line: 'C4',
      text: 'two classes: how far three different rows still differ after the formula',
      value: spread,
    },
    { line: 'C4', text: 'equal logits: the formula as written (0 / 0)', value: null },
    {
      line: 'C4',
      text: 'equal logits: ours moves them to the centre of the reference, −6 to 4',
      value: flat[0]!,
    },
    {
      line: 'C4',
      text: 'gradient of ZS-Norm along the logits: training cannot see their scale',
      value: along,
    },
    { line: 'C4', text: 'and along a constant', value: sum },
  ];
}

/** Exact as a temperature under a softmax; under sigmoids the anchor of the scaling decides the score. */
function sigmoidLines(): readonly Erratum[] {
  const row = Float64Array.of(1.2, -4, -9, -6.5);
  const { logits, scale } = rescaledTo(row, [0.3, -3.5, -5, -4.2], false);
  const pure = row.map((logit) => logit * scale);
  const absent = [-6, -12, -20].map((lowest) => {
    const one = rescaledTo(Float64Array.of(1.2, lowest, -4), [5.3, 0], false);
    return { lowest, score: sigmoid(1.2 * one.scale) };
  });
  const held = heldBelow(Float32Array.of(3.5, -2, -6), 3, 2.4);
  return [
    {
      line: 'C5',
      text: 'softmax: formula against the temperature that it implies, largest difference',
      value: largestDifference(softmax(logits), softmax(pure)),
    },
    { line: 'C5', text: 'sigmoid: highest score before', value: sigmoid(row[0]!) },
    { line: 'C5', text: 'after the formula, which anchors at the least logit', value: sigmoid(logits[0]!) },
    { line: 'C5', text: 'after the temperature that it implies', value: sigmoid(pure[0]!) },
    ...absent.map(({ lowest, score }) => ({
      line: 'C5',
      text: `score of logit 1.2 at that temperature, where an absent class has logit ${lowest}`,
      value: score,
    })),
    { line: 'C5', text: 'logit 3.5 below a ceiling of 2.4, scaled about 0', value: held[0]! },
  ];
}

/** Twenty confidences and whether they came true. */
const CONFIDENCES = [
  0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.99, 0.97, 0.2, 0.1, 0.62,
  0.88,
];
const RIGHT = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1];

/** 10 bins in the published summary, 15 elsewhere: not the same figure. */
function binLines(): readonly Erratum[] {
  return [10, 15].map((bins) => ({
    line: 'C6',
    text: `ECE of the same 20 answers over ${bins} bins`,
    value: calibrationError(CONFIDENCES, RIGHT, { bins })?.error ?? null,
  }));
}

function rangeOf(logits: readonly number[]): LogitRange {
  return { least: Math.min(...logits), greatest: Math.max(...logits) };
}

function rescaledTo(logits: Float64Array, reference: readonly number[], shrinkOnly: boolean) {
  const target = new Float64Array(logits.length);
  const range: LogitRange = { least: 0, greatest: 0 };
  const rows = { offset: 0, stride: 1, classes: logits.length };
  logitRangeInto(range, { logits: Float64Array.from(reference), ...rows });
  return { logits: target, scale: rescaleLogits(target, { logits, ...rows }, range, { shrinkOnly }) };
}

/** ⟨gradient, logits⟩ and Σ gradient of cross entropy behind ZS-Norm. */
function rangeNormGradient(): { readonly along: number; readonly sum: number } {
  const logits = Float64Array.from(BATCH[0]);
  const classes = logits.length;
  const gradient = new Float64Array(classes);
  const loss = withRangeNorm(createSoftmaxLoss('ce', classes), classes, rangeOf(BATCH_REFERENCE[0]));
  loss.rowInto({
    logits,
    offset: 0,
    stride: 1,
    target: Float64Array.of(1, 0, 0, 0),
    gradient,
    gradientOffset: 0,
    gradientStride: 1,
    scale: 1,
    frozen: { values: new Float64Array(classes), offset: 0, held: false },
  });
  return {
    along: gradient.reduce((total, slope, at) => total + slope * logits[at]!, 0),
    sum: gradient.reduce((total, slope) => total + slope, 0),
  };
}

function softmax(logits: Float64Array): Float64Array {
  const out = new Float64Array(logits.length);
  softmaxInto(out, logits, 0, 1, logits.length);
  return out;
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

function largestDifference(a: Float64Array, b: Float64Array): number {
  return a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0);
}
