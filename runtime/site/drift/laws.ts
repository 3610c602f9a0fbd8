// Whether the scores of a window follow the law of the reference. Boxes of one track are not independent, so tracks are
// what is exchanged between the two for the law of PSI and W1 without any change.
import { distributionShift, type NoVerdict, noVerdict } from '#core';
import { toDecimals } from '../../decimals.ts';

export type DriftMeasure = 'score' | 'std';

/** Scores of one track and their standard deviations, evenly spread over its life; equal weight a box. */
export interface TrackLaw {
  /** In [0, 1]. */
  readonly score: readonly number[];
  /** In [0, 0.5]; empty where the model cannot say. */
  readonly std: readonly number[];
}

/** What a window shows beside the reference; distances in the unit of the score. */
export interface DriftFigures {
  readonly psi: number;
  /** Mean over exchanges of tracks: what chance alone gives at these numbers of tracks. */
  readonly psiExpected: number;
  readonly w1: number;
  readonly w1Expected: number;
  /** Mean of the window − mean of the reference. */
  readonly change: number;
  /** Tracks of the window that were compared. */
  readonly tracks: number;
}

export interface LawVerdict extends DriftFigures {
  readonly kind: 'verdict';
  /** `outside`: chance gives that in 1 of 100 windows a distance, and it is large enough to matter; `inside`: in 1 of 20. */
  readonly place: 'outside' | 'between' | 'inside';
}

/** Fewer tracks say nothing about a law, whatever the settings ask for. */
const LEAST_TRACKS = 20;
const EXCHANGES = 400;
const OUTSIDE = 0.01;
const INSIDE = 0.05;
/** Busy windows make the least change significant: W1 beyond what chance gives that is worth a person's time. */
const LEAST_EXCESS: Readonly<Record<DriftMeasure, number>> = { score: 0.02, std: 0.01 };
/** PSI counts over ten bins of [0, 1]; a standard deviation of a score is at most 0.5. */
const SCALE: Readonly<Record<DriftMeasure, number>> = { score: 1, std: 2 };

/** @returns no verdict below 20 tracks with values a side */
export function compareLaws(
  reference: readonly TrackLaw[],
  window: readonly TrackLaw[],
  measure: DriftMeasure,
): LawVerdict | NoVerdict {
  const [learned, now] = [groupsOf(reference, measure), groupsOf(window, measure)];
  const fewest = Math.min(learned.length, now.length);
  if (fewest < LEAST_TRACKS)
    return noVerdict(`${fewest} tracks with a ${measure}; a verdict needs ${LEAST_TRACKS} or more`);
  const shift = distributionShift(learned, now, { resamples: EXCHANGES });
  if (shift.kind === 'none') return shift;
  const { psi, w1, meanChange } = shift;
  const scale = SCALE[measure];
  const matters = (w1.value - w1.nullExpectation) / scale >= LEAST_EXCESS[measure];
  const chance = Math.min(psi.pValue, w1.pValue);
  return {
    kind: 'verdict',
    place: chance > INSIDE || !matters ? 'inside' : chance <= OUTSIDE ? 'outside' : 'between',
    psi: toDecimals(psi.value, 4),
    psiExpected: toDecimals(psi.nullExpectation, 4),
    w1: toDecimals(w1.value / scale, 4),
    w1Expected: toDecimals(w1.nullExpectation / scale, 4),
    change: meanChange.kind === 'estimate' ? toDecimals(meanChange.value / scale, 4) : 0,
    tracks: now.length,
  };
}

function groupsOf(tracks: readonly TrackLaw[], measure: DriftMeasure) {
  const scale = SCALE[measure];
  return tracks.flatMap((track) => {
    const values = track[measure];
    return values.length === 0 ? [] : { values: values.map((value) => value * scale), stratum: '' };
  });
}
