// Boxes of the objects that are there, one a second at most: frames of one track say the same again and again.
import { toDecimals } from '../../decimals.ts';
import type { SeenObject } from '../sinks/object-pictures.ts';
import { EvenSample } from './even-sample.ts';
import type { TrackLaw } from './laws.ts';

/** Boxes kept of a track, spread over its life: a car that is parked must not outweigh the others. */
const MOST_BOXES = 8;
const SAMPLE_MS = 1000;

interface OpenTrack {
  lastMs: number;
  readonly boxes: EvenSample<{ readonly score: number; readonly std: number | undefined }>;
}

export class OpenTracks {
  readonly #open = new Map<string, OpenTrack>();

  /** @returns tracks of objects that have gone */
  see(seen: readonly SeenObject[], present: ReadonlySet<string>, atMs: number): readonly TrackLaw[] {
    for (const { object, found } of seen) {
      const track = this.#open.get(object.id) ?? {
        lastMs: Number.NEGATIVE_INFINITY,
        boxes: new EvenSample(MOST_BOXES),
      };
      this.#open.set(object.id, track);
      if (atMs - track.lastMs < SAMPLE_MS) continue;
      track.lastMs = atMs;
      const { score, scoreVariance } = found;
      track.boxes.add({ score, std: scoreVariance === undefined ? undefined : Math.sqrt(scoreVariance) });
    }
    const gone = [...this.#open.keys()].filter((id) => !present.has(id));
    return gone.flatMap((id) => this.#take(id));
  }

  /** What is there so far; its objects go on as tracks of what follows. */
  takeAll(): readonly TrackLaw[] {
    return [...this.#open.keys()].flatMap((id) => this.#take(id));
  }

  #take(id: string): readonly TrackLaw[] {
    const kept = this.#open.get(id)?.boxes.kept ?? [];
    this.#open.delete(id);
    if (kept.length === 0) return [];
    return [
      {
        score: kept.map(({ score }) => toDecimals(score, 3)),
        std: kept.flatMap(({ std }) => (std === undefined ? [] : toDecimals(Math.min(0.5, std), 3))),
      },
    ];
  }
}
