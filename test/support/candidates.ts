// Candidates written out by hand.
import type { Candidates } from '#core';

export interface CandidateRow {
  readonly box: readonly number[];
  readonly score: number;
  readonly classId?: number;
  readonly scoreVariance?: number;
  readonly epistemic?: number;
  readonly boxVariance?: readonly number[];
}

export function candidatesOf(rows: readonly CandidateRow[]): Candidates {
  const scoreVariances = rows.some((row) => row.scoreVariance !== undefined)
    ? Float32Array.from(rows, (row) => row.scoreVariance ?? 0)
    : undefined;
  const scoreVariancesEpistemic = rows.some((row) => row.epistemic !== undefined)
    ? Float32Array.from(rows, (row) => row.epistemic ?? 0)
    : undefined;
  const boxVariances = rows.some((row) => row.boxVariance !== undefined)
    ? Float32Array.from(rows.flatMap((row) => row.boxVariance ?? [0, 0, 0, 0]))
    : undefined;
  return {
    count: rows.length,
    boxes: Float32Array.from(rows.flatMap((row) => row.box)),
    scores: Float32Array.from(rows, (row) => row.score),
    classIds: Int32Array.from(rows, (row) => row.classId ?? 0),
    anchors: Int32Array.from(rows, (_, index) => index),
    ...(scoreVariances && { scoreVariances }),
    ...(scoreVariancesEpistemic && { scoreVariancesEpistemic }),
    ...(boxVariances && { boxVariances }),
  };
}

export function allPlaces(candidates: Candidates): Int32Array {
  return Int32Array.from({ length: candidates.count }, (_, index) => index);
}
