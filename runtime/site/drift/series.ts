// One camera in one light: learns how its scores are spread, then compares window after window with that.
import type { SiteDrift } from '../site.ts';
import { EvenSample } from './even-sample.ts';
import { compareLaws, type DriftFigures, type DriftMeasure, type TrackLaw } from './laws.ts';

export type DriftSettings = Omit<SiteDrift, 'path'>;

/** A measure left the reference, or came back to it. */
export interface DriftChange extends DriftFigures {
  readonly measure: DriftMeasure;
  readonly state: 'begins' | 'ends';
}

/** What is known of a reference, finished or not: what is stored. */
export interface LearnedLaw {
  readonly isLearned: boolean;
  /** Hours in that light so far. */
  readonly hours: number;
  readonly tracks: readonly TrackLaw[];
}

/** Tracks that a reference and a window keep at most, of at most 8 boxes each: some 130 kB, judged in some 0.2 s. */
const MOST_TRACKS = 256;
/** Windows in a row that begin an alarm, or end it: one alone is chance once in a hundred. */
const IN_A_ROW = 2;
const MEASURES: readonly DriftMeasure[] = ['score', 'std'];

interface Standing {
  isDrifting: boolean;
  /** Windows in a row that say otherwise. */
  against: number;
  last?: DriftFigures;
}

export class DriftSeries {
  readonly #settings: DriftSettings;
  #reference: readonly TrackLaw[] | undefined;
  #tracks: EvenSample<TrackLaw>;
  #hours: number;
  readonly #standing = new Map<DriftMeasure, Standing>();

  constructor(settings: DriftSettings, known?: LearnedLaw) {
    this.#settings = settings;
    this.#tracks = new EvenSample(MOST_TRACKS);
    this.#hours = known?.isLearned === false ? known.hours : 0;
    if (known?.isLearned) this.#reference = known.tracks;
    else for (const track of known?.tracks ?? []) this.#tracks.add(track);
  }

  get learned(): LearnedLaw {
    return this.#reference === undefined
      ? { isLearned: false, hours: this.#hours, tracks: this.#tracks.kept }
      : { isLearned: true, hours: this.#settings.learnHours, tracks: this.#reference };
  }

  /** Whether the reference or the window has all that it waits for; then `turn` is due. */
  get isFull(): boolean {
    const { learnHours, learnTracks, windowHours, windowTracks } = this.#settings;
    const [hours, tracks] =
      this.#reference === undefined ? [learnHours, learnTracks] : [windowHours, windowTracks];
    return this.#hours >= hours && this.#tracks.seen >= tracks;
  }

  /** Time passes in this light. */
  pass(seconds: number): void {
    this.#hours += seconds / 3600;
  }

  /** A track has ended, or the window. */
  add(track: TrackLaw): void {
    this.#tracks.add(track);
  }

  /** Freezes the reference, or judges the window; then the next window begins. */
  turn(): readonly DriftChange[] {
    const tracks = [...this.#tracks.kept];
    this.#tracks.clear();
    this.#hours = 0;
    if (this.#reference === undefined) {
      this.#reference = tracks;
      return [];
    }
    const reference = this.#reference;
    return MEASURES.flatMap((measure) => this.#judge(measure, reference, tracks));
  }

  /** The rules have changed: nothing of before can be compared any more. */
  end(): readonly DriftChange[] {
    return [...this.#standing].flatMap(([measure, { isDrifting, last }]) =>
      isDrifting && last ? { ...last, measure, state: 'ends' as const } : [],
    );
  }

  #judge(
    measure: DriftMeasure,
    reference: readonly TrackLaw[],
    window: readonly TrackLaw[],
  ): readonly DriftChange[] {
    const verdict = compareLaws(reference, window, measure);
    if (verdict.kind === 'none') return [];
    const { kind: _, place, ...figures } = verdict;
    const standing = this.#standing.get(measure) ?? { isDrifting: false, against: 0 };
    this.#standing.set(measure, standing);
    standing.last = figures;
    const isAgainst = place === (standing.isDrifting ? 'inside' : 'outside');
    standing.against = isAgainst ? standing.against + 1 : 0;
    if (standing.against < IN_A_ROW) return [];
    standing.against = 0;
    standing.isDrifting = !standing.isDrifting;
    return [{ ...figures, measure, state: standing.isDrifting ? 'begins' : 'ends' }];
  }
}
