// Flicker: how often a tracked object appears and disappears at a threshold, and how much its score jumps.
import { bootstrapFigures, type Figure, noVerdict, type Resampling } from './bootstrap.ts';

/** Scores of one object frame by frame, from its first to its last; null where it was not found. */
export type ScoreTrack = readonly (number | null)[];

/** Switches on at `on` and off below `off`; equal for a plain threshold. */
export interface FlickerThreshold {
  readonly on: number;
  readonly off: number;
}

export interface FlickerStatistics {
  /** Changes between seen and unseen. */
  readonly transitions: number;
  readonly framePairs: number;
  /** Transitions per pair of frames over all tracks; undefined without pairs. */
  readonly micro: number | undefined;
  /** Per track; null for a track of one frame. */
  readonly perTrack: readonly (number | null)[];
  /** Mean over tracks. */
  readonly macro: number | undefined;
  /** Mean |step| of the score per track, an unseen frame counting 0; null for a track of one frame. */
  readonly jitter: readonly (number | null)[];
}

export function flickerStatistics(
  tracks: readonly ScoreTrack[],
  threshold: FlickerThreshold,
): FlickerStatistics {
  const rows = tracks.map((track) => ({
    pairs: track.length - 1,
    transitions: transitionsOf(track, threshold),
    jitter: stepsOf(track),
  }));
  const perTrack = rows.map(({ pairs, transitions }) => (pairs < 1 ? null : transitions / pairs));
  const known = perTrack.filter((rate) => rate !== null);
  const transitions = rows.reduce((sum, row) => sum + row.transitions, 0);
  const framePairs = rows.reduce((sum, { pairs }) => sum + Math.max(0, pairs), 0);
  return {
    transitions,
    framePairs,
    micro: framePairs === 0 ? undefined : transitions / framePairs,
    perTrack,
    macro: known.length === 0 ? undefined : known.reduce((sum, rate) => sum + rate, 0) / known.length,
    jitter: rows.map(({ pairs, jitter }) => (pairs < 1 ? null : jitter / pairs)),
  };
}

export interface Flicker {
  readonly tracks: number;
  readonly framePairs: number;
  readonly rate: Figure;
  readonly jitter: Figure;
}

/** Fewest tracks of two frames or more that are judged. */
const LEAST_TRACKS = 10;

/** Rates per pair of frames, with intervals over resampled tracks; no verdict below 10 tracks. */
export function flicker(
  tracks: readonly ScoreTrack[],
  threshold: FlickerThreshold,
  resampling: Resampling = {},
): Flicker {
  const long = tracks.filter(({ length }) => length > 1);
  const { framePairs } = flickerStatistics(long, threshold);
  if (long.length < LEAST_TRACKS) {
    const reason = noVerdict(
      `${long.length} tracks of two frames or more; flicker needs ${LEAST_TRACKS} or more`,
    );
    return { tracks: long.length, framePairs, rate: reason, jitter: reason };
  }
  const transitions = long.map((track) => transitionsOf(track, threshold));
  const steps = long.map(stepsOf);
  const figures = bootstrapFigures<'rate' | 'jitter'>(
    long.length,
    [{ key: 'tracks', groups: [...long.keys()] }],
    (counts) => {
      let [changed, jumped, pairs] = [0, 0, 0];
      for (const [track, copies] of counts.entries()) {
        changed += copies * transitions[track]!;
        jumped += copies * steps[track]!;
        pairs += copies * (long[track]!.length - 1);
      }
      return { rate: changed / pairs, jitter: jumped / pairs };
    },
    resampling,
  );
  return { tracks: long.length, framePairs, ...figures };
}

function transitionsOf(track: ScoreTrack, { on, off }: FlickerThreshold): number {
  let transitions = 0;
  let seen = false;
  for (const [frame, score] of track.entries()) {
    const now: boolean = score !== null && score >= (seen ? off : on);
    if (frame > 0 && now !== seen) transitions++;
    seen = now;
  }
  return transitions;
}

function stepsOf(track: ScoreTrack): number {
  let sum = 0;
  for (let frame = 1; frame < track.length; frame++)
    sum += Math.abs((track[frame] ?? 0) - (track[frame - 1] ?? 0));
  return sum;
}
