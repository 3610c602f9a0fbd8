// What can be done to rows of logits, N rows of C: all maps give fresh memory.
import { logitRangeInto, rescaleLogits, softmaxInto } from 'edge-detect/core';

/** Each row to the range of the same row of `reference`, by the product's code. */
export function rescaled(
  logits: Float32Array,
  reference: Float32Array,
  { classCount, shrinkOnly }: { readonly classCount: number; readonly shrinkOnly: boolean },
): Float32Array {
  const out = new Float32Array(logits.length);
  const row = new Float64Array(classCount);
  const range = { least: 0, greatest: 0 };
  for (let offset = 0; offset < logits.length; offset += classCount) {
    logitRangeInto(range, { logits: reference, offset, stride: 1, classes: classCount });
    rescaleLogits(row, { logits, offset, stride: 1, classes: classCount }, range, { shrinkOnly });
    out.set(row, offset);
  }
  return out;
}

/** z / T. */
export function tempered(logits: Float32Array, temperature: number): Float32Array {
  return logits.map((logit) => logit / temperature);
}

/** z / (τ ‖z‖), row by row. */
export function normalised(logits: Float32Array, classCount: number, temperature: number): Float32Array {
  const out = new Float32Array(logits.length);
  for (let offset = 0; offset < logits.length; offset += classCount) {
    const norm = normOf(logits, offset, classCount);
    for (let at = offset; at < offset + classCount; at++) {
      out[at] = norm > 0 ? logits[at]! / (temperature * norm) : 0;
    }
  }
  return out;
}

/** Euclidean length of a row. */
export function normOf(logits: Float32Array, offset: number, classCount: number): number {
  let squares = 0;
  for (let at = offset; at < offset + classCount; at++) squares += logits[at]! ** 2;
  return Math.sqrt(squares);
}

export function probabilitiesOf(logits: Float32Array, classCount: number): Float32Array {
  const out = new Float32Array(logits.length);
  for (let offset = 0; offset < logits.length; offset += classCount) {
    softmaxInto(out.subarray(offset, offset + classCount), logits, offset, 1, classCount);
  }
  return out;
}

/** Scores closer to 0 or 1 have no logit that float32 could tell apart. */
const SCORE_MARGIN = 1e-7;

/** ln(s / (1 − s)) of the score s = E[quality] · p of every class. */
export function logitsOfScores(rows: {
  readonly logits: Float32Array;
  readonly quality: Float32Array;
  readonly classCount: number;
}): Float32Array {
  const { classCount, quality } = rows;
  return probabilitiesOf(rows.logits, classCount).map((probability, at) => {
    const score = probability * quality[2 * Math.floor(at / classCount)]!;
    const inside = Math.min(1 - SCORE_MARGIN, Math.max(SCORE_MARGIN, score));
    return Math.log(inside / (1 - inside));
  });
}

export function sigmoidsOf(logits: Float32Array): Float32Array {
  return logits.map((logit) => 1 / (1 + Math.exp(-logit)));
}

/**
 * Positive logits of a row times min(1, ceiling / greatest): what lies above .5 stays above, and the order within the row
 * stays.
 * @param ceiling 0 or more; below 0 it counts as 0
 */
export function heldBelow(logits: Float32Array, classCount: number, ceiling: number): Float32Array {
  const out = Float32Array.from(logits);
  for (let offset = 0; offset < logits.length; offset += classCount) {
    let top = 0;
    for (let at = offset; at < offset + classCount; at++) top = Math.max(top, logits[at]!);
    if (top === 0) continue;
    const scale = Math.min(1, Math.max(0, ceiling) / top);
    for (let at = offset; at < offset + classCount; at++) if (out[at]! > 0) out[at]! *= scale;
  }
  return out;
}
